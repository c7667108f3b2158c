from __future__ import annotations

import math

import pytest
import torch

from dial2vec.objectives.intent_augmentation import intent_augmentation_loss


def loss_by_definition(dialogues, preserved, corrupted, temperature):
    def cosine(a, b):
        return torch.exp(a @ b / (a.norm() * b.norm()) / temperature)

    terms = []
    for i, dialogue in enumerate(dialogues):
        rest = sum(cosine(dialogue, other) for other in [*preserved, *corrupted])
        terms.append(-torch.log(cosine(dialogue, preserved[i]) / rest))
    return sum(terms) / len(terms)


def some(b=4, h=3, d=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(n, d, generator=generator, dtype=torch.float64) for n in (b, b, h)]


@pytest.mark.parametrize("temperature", [0.05, 1.0])
@pytest.mark.parametrize("hard", [0, 1, 6])
def test_it_equals_the_formula_in_double_precision(hard, temperature):
    given = some(h=hard)
    found = intent_augmentation_loss(*given, temperature=temperature)
    torch.testing.assert_close(found, loss_by_definition(*given, temperature), rtol=1e-10, atol=1e-12)


def test_a_hard_negative_like_the_dialogue_itself_costs_as_much_as_a_coin_toss():
    dialogue = torch.eye(1, 3, dtype=torch.float64)
    assert intent_augmentation_loss(dialogue, dialogue, dialogue).item() == pytest.approx(math.log(2))
    assert intent_augmentation_loss(dialogue, dialogue, dialogue[:0]).item() == pytest.approx(0.0)


def test_its_gradient_is_that_of_the_formula():
    given = [vectors.requires_grad_() for vectors in some(3, 2)]
    assert torch.autograd.gradcheck(lambda *v: intent_augmentation_loss(*v, temperature=0.3), given)


def test_it_is_finite_in_bf16_and_counts_in_fp32():
    given = [vectors.bfloat16().requires_grad_() for vectors in some()]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = intent_augmentation_loss(*given)
    loss.backward()
    assert loss.dtype == torch.float32
    assert all(torch.isfinite(one.grad).all() for one in given)
