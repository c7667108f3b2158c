from __future__ import annotations

import math

import pytest
import torch

from dial2vec.objectives.dialoguecse import ContextAttention, dialoguecse_loss, refined_by_context


def loss_by_definition(contexts, context_mask, responses, response_mask, *, temperature, attention=None):
    """Liu et al. 2021 without padding: whole matrices of tokens against tokens, one of them at a time."""
    total = 0.0
    for b in range(len(responses)):
        logits = []
        for s in range(responses.shape[1]):
            response = responses[b, s][response_mask[b, s].bool()]
            seen = []
            for c in range(contexts.shape[1]):
                turn = contexts[b, c][context_mask[b, c].bool()]
                if len(turn):
                    matching = turn @ response.T / math.sqrt(response.shape[1])
                    seen.append((matching @ response).mean(0))
            refined = torch.stack(seen)
            weights = torch.full((len(seen),), 1 / len(seen), dtype=refined.dtype)
            if attention is not None:
                weights = torch.softmax(torch.stack([attention(row) for row in refined]), 0)
            guided = (weights[:, None] * refined).sum(0)
            own = response.mean(0)
            logits.append(own @ guided / (own.norm() * guided.norm()) / temperature)
        total = total - torch.stack(logits).log_softmax(0)[0]
    return total / len(responses)


def random_batch(*, b=3, c=3, s=4, k=5, n=6, d=4, seed=0):
    """Token vectors with garbage in the padding; the second context turn of the first row is missing."""
    generator = torch.Generator().manual_seed(seed)

    def some(turns, width):
        lengths = torch.randint(1, width + 1, (b, turns), generator=generator)
        mask = (torch.arange(width) < lengths[..., None]).long()
        return torch.randn(b, turns, width, d, generator=generator, dtype=torch.float64), mask

    contexts, context_mask = some(c, k)
    context_mask[0, 1] = 0
    return contexts, context_mask, *some(s, n)


@pytest.mark.parametrize("temperature", [0.05, 0.1, 0.5])
@pytest.mark.parametrize("aggregation", ["mean", "attention"])
def test_it_equals_the_definition_with_padding_in_double_precision(temperature, aggregation):
    attention = ContextAttention(4).double() if aggregation == "attention" else None
    batch = random_batch()
    found = dialoguecse_loss(*batch, temperature=temperature, attention=attention)
    expected = loss_by_definition(*batch, temperature=temperature, attention=attention)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)


def test_one_true_and_one_foreign_response_give_the_loss_by_hand():
    # The context looks along the first axis: of the true response it keeps all, of the foreign one half.
    contexts = torch.tensor([[[[1.0, 0.0]]]])
    responses = torch.tensor([[[[1.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]]])
    ones = torch.ones(1, 2, 2)
    loss = dialoguecse_loss(contexts, torch.ones(1, 1, 1), responses, ones, temperature=1.0)
    assert loss.item() == pytest.approx(math.log(1 + math.exp(math.sqrt(0.5) - 1)), rel=1e-5)


@pytest.mark.parametrize("aggregation", ["mean", "attention"])
def test_its_gradient_is_that_of_the_definition(aggregation):
    attention = ContextAttention(4).double() if aggregation == "attention" else None
    contexts, context_mask, responses, response_mask = random_batch(b=2, c=2, s=2, k=2, n=2)

    def loss(contexts, responses):
        return dialoguecse_loss(contexts, context_mask, responses, response_mask, attention=attention)

    assert torch.autograd.gradcheck(loss, (contexts.requires_grad_(), responses.requires_grad_()))


def test_padding_enters_neither_utterance_nor_pool():
    contexts, context_mask, responses, response_mask = random_batch()
    own, refined = refined_by_context(contexts, context_mask, responses, response_mask)
    contexts[~context_mask.bool()] = 1e3
    responses[~response_mask.bool()] = -1e3
    again = refined_by_context(contexts, context_mask, responses, response_mask)
    torch.testing.assert_close((own, refined), again)
    assert not refined[0, :, 1].any()


def test_it_is_finite_in_bf16_and_counts_in_fp32():
    contexts, context_mask, responses, response_mask = random_batch()
    half = [contexts.bfloat16().requires_grad_(), responses.bfloat16().requires_grad_()]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = dialoguecse_loss(half[0], context_mask, half[1], response_mask, attention=ContextAttention(4))
    loss.backward()
    assert loss.dtype == torch.float32
    assert all(torch.isfinite(one.grad).all() for one in half)
