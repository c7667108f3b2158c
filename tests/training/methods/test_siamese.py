from __future__ import annotations

import math

import pytest
import torch

from dial2vec.objectives.siamese import siamese_loss
from training.methods.test_dialoguecse import random_batch


def loss_by_definition(contexts, context_mask, responses, response_mask, *, temperature):
    """Without padding: the mean of the turns' means beside the mean of each response, one at a time."""
    total = 0.0
    for b in range(len(responses)):
        turns = [contexts[b, c][context_mask[b, c].bool()] for c in range(contexts.shape[1])]
        pooled = [turn.mean(0) for turn in turns if len(turn)]
        context = sum(pooled) / len(pooled)
        logits = []
        for s in range(responses.shape[1]):
            own = responses[b, s][response_mask[b, s].bool()].mean(0)
            logits.append(own @ context / (own.norm() * context.norm()) / temperature)
        total = total - torch.stack(logits).log_softmax(0)[0]
    return total / len(responses)


@pytest.mark.parametrize("temperature", [0.05, 0.1, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_it_equals_the_definition_with_padding_and_a_missing_turn_in_double_precision(temperature, seed):
    batch = random_batch(seed=seed)
    expected = loss_by_definition(*batch, temperature=temperature)
    torch.testing.assert_close(siamese_loss(*batch, temperature=temperature), expected, rtol=1e-10, atol=1e-12)


def test_with_one_context_turn_that_turn_is_the_context():
    contexts, context_mask, responses, response_mask = (part[1:2] for part in random_batch(seed=4))
    contexts, context_mask = contexts[:, :1], context_mask[:, :1]
    own = [responses[0, s][response_mask[0, s].bool()].mean(0) for s in range(responses.shape[1])]
    turn = contexts[0, 0][context_mask[0, 0].bool()].mean(0)
    cosines = torch.stack([torch.cosine_similarity(turn, one, dim=0) for one in own])
    loss = siamese_loss(contexts, context_mask, responses, response_mask, temperature=0.2)
    torch.testing.assert_close(loss, -(cosines / 0.2).log_softmax(0)[0])


def test_one_true_and_one_foreign_response_give_the_loss_by_hand():
    # The true response points where the context does, the foreign one across.
    contexts = torch.tensor([[[[2.0, 0.0]], [[4.0, 0.0]]]])
    responses = torch.tensor([[[[3.0, 1.0], [1.0, -1.0]], [[0.0, 1.0], [0.0, 5.0]]]])
    loss = siamese_loss(contexts, torch.ones(1, 2, 1), responses, torch.ones(1, 2, 2), temperature=0.5)
    assert loss.item() == pytest.approx(math.log(1 + math.exp(-2)), rel=1e-6)


def test_its_gradient_is_that_of_the_definition():
    contexts, context_mask, responses, response_mask = random_batch(b=2, c=2, s=2, k=2, n=2)

    def loss(contexts, responses):
        return siamese_loss(contexts, context_mask, responses, response_mask)

    assert torch.autograd.gradcheck(loss, (contexts.requires_grad_(), responses.requires_grad_()))


def test_padding_enters_no_pool():
    contexts, context_mask, responses, response_mask = random_batch()
    expected = siamese_loss(contexts, context_mask, responses, response_mask)
    contexts[~context_mask.bool()] = 1e3
    responses[~response_mask.bool()] = -1e3
    torch.testing.assert_close(siamese_loss(contexts, context_mask, responses, response_mask), expected)


def test_it_is_finite_in_bf16_and_counts_in_fp32():
    contexts, context_mask, responses, response_mask = random_batch()
    half = [contexts.bfloat16().requires_grad_(), responses.bfloat16().requires_grad_()]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = siamese_loss(half[0], context_mask, half[1], response_mask)
    loss.backward()
    assert loss.dtype == torch.float32
    assert all(torch.isfinite(one.grad).all() for one in half)
