from __future__ import annotations

import math

import pytest
import torch

from dial2vec.objectives.dialaug import ViewProjection, dialaug_loss, nt_xent


def nt_xent_by_definition(views, temperature):
    """Chen et al. 2020, equation 1, over more than two views: one pair and one exponential at a time."""
    n_views, n_examples, _ = views.shape
    units = views / views.norm(dim=2, keepdim=True)
    terms = []
    for b in range(n_examples):
        for v in range(n_views):
            foreign = sum(
                torch.exp(units[v, b] @ units[w, other] / temperature)
                for w in range(n_views)
                for other in range(n_examples)
                if other != b
            )
            for w in range(n_views):
                if w != v:
                    positive = torch.exp(units[v, b] @ units[w, b] / temperature)
                    terms.append(-torch.log(positive / (positive + foreign)))
    return sum(terms) / len(terms)


def loss_by_definition(contexts, augmented, responses, *, project, contrast, temperature):
    terms = []
    for queries in (contexts, augmented):
        for i, query in enumerate(queries):
            scores = torch.stack([query @ response for response in responses])
            terms.append(-scores.log_softmax(0)[i])
    views = torch.stack([project(vectors) for vectors in (contexts, augmented, responses)])
    return sum(terms) / len(terms) + contrast * nt_xent_by_definition(views, temperature)


def three(b=4, d=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(b, d, generator=generator, dtype=torch.float64) for _ in range(3)]


@pytest.mark.parametrize("contrast", [0.0, 0.5, 2.0])
def test_it_equals_the_formula_in_double_precision(contrast):
    project, views = ViewProjection(5).double(), three()
    found = dialaug_loss(*views, project=project, contrast=contrast, temperature=0.2)
    expected = loss_by_definition(*views, project=project, contrast=contrast, temperature=0.2)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n_views", [2, 3])
def test_nt_xent_equals_its_definition(n_views):
    views = torch.stack(three()[:n_views])
    torch.testing.assert_close(nt_xent(views, temperature=0.1), nt_xent_by_definition(views, 0.1), rtol=1e-10, atol=0)


def test_two_exchanges_at_right_angles_give_the_loss_by_hand():
    same = torch.eye(2, dtype=torch.float64)
    # Selection: e against 1. Contrast at τ = 1: e against three foreign views at cosine 0.
    expected = math.log(1 + math.exp(-1)) + 0.5 * math.log(1 + 3 * math.exp(-1))
    found = dialaug_loss(same, same, same, project=torch.nn.Identity(), temperature=1.0)
    assert found.item() == pytest.approx(expected)


def test_its_gradient_is_that_of_the_formula():
    project = ViewProjection(5).double()
    views = [vectors.requires_grad_() for vectors in three(3)]
    assert torch.autograd.gradcheck(lambda *v: dialaug_loss(*v, project=project, temperature=0.3), views)


def test_it_is_finite_in_bf16_and_counts_in_fp32():
    views = [vectors.bfloat16().requires_grad_() for vectors in three()]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = dialaug_loss(*views, project=ViewProjection(5))
    loss.backward()
    assert loss.dtype == torch.float32
    assert all(torch.isfinite(one.grad).all() for one in views)
