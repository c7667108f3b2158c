from __future__ import annotations

import math

import pytest
import torch

from dial2vec.objectives.dse import ContrastHead, dse_loss


def loss_by_definition(first, second, temperature):
    """Zhou et al. 2022 with the weights of the authors' code, one view and one exponential at a time."""
    views = [vector / vector.norm() for vector in [*first, *second]]
    pairs, terms = len(first), []
    for i, anchor in enumerate(views):
        partner = (i + pairs) % (2 * pairs)
        others = [torch.exp(anchor @ views[j] / temperature) for j in range(2 * pairs) if j not in (i, partner)]
        mean = sum(others) / len(others)
        negatives = sum(other / mean * other for other in others)
        positive = torch.exp(anchor @ views[partner] / temperature)
        terms.append(-torch.log(positive / (positive + negatives)))
    return sum(terms) / len(terms)


def pairs_of(m, d=5, *, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(m, d, generator=generator, dtype=dtype) for _ in range(2)]


def test_two_pairs_at_right_angles_give_the_loss_by_hand():
    first = torch.eye(2, dtype=torch.float64)
    # Each view has its partner at cosine 1 and the two others at 0, whose weights are 1: e / (e + 2).
    assert dse_loss(first, first, temperature=1.0).item() == pytest.approx(-math.log(math.e / (math.e + 2)))


@pytest.mark.parametrize("temperature", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("m", [2, 3, 7])
def test_it_equals_the_formula_in_double_precision(m, temperature):
    first, second = pairs_of(m)
    expected = loss_by_definition(first, second, temperature)
    torch.testing.assert_close(dse_loss(first, second, temperature=temperature), expected, rtol=1e-10, atol=1e-12)


def test_its_gradient_is_that_of_the_formula():
    first, second = (vectors.requires_grad_() for vectors in pairs_of(3))
    assert torch.autograd.gradcheck(lambda a, b: dse_loss(a, b, temperature=0.3), (first, second))


def test_either_of_a_pair_may_come_first_and_pairs_in_any_order():
    first, second = pairs_of(5)
    loss = dse_loss(first, second)
    torch.testing.assert_close(dse_loss(second, first), loss)
    order = torch.tensor([3, 1, 4, 0, 2])
    torch.testing.assert_close(dse_loss(first[order], second[order]), loss)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_a_low_temperature_is_finite_in_every_precision(dtype):
    vectors = torch.ones(4, 8, dtype=dtype, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = dse_loss(vectors, vectors, temperature=0.001)
    loss.backward()
    assert loss.dtype == torch.float32
    # All alike: the positive is one of 2m - 1 equal terms.
    assert loss.item() == pytest.approx(math.log(7), rel=1e-5)
    assert torch.isfinite(vectors.grad).all()


def test_one_pair_alone_is_refused():
    with pytest.raises(ValueError, match=r"pairs of shape \[1, 5\] and \[1, 5\]; expected two or more"):
        dse_loss(*pairs_of(1))


def test_the_head_has_no_bias_and_128_dimensions():
    head = ContrastHead(16)
    assert head(torch.zeros(2, 3, 16)).shape == (2, 3, 128)
    assert not head(torch.zeros(1, 16)).any()
