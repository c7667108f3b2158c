"""The flow: its map, its likelihood, and what it does to vectors that crowd."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from dial2vec.errors import CorpusError
from dial2vec_papers.baselines import flow
from dial2vec_papers.baselines.glow import DEPTH, Glow, Step


def moved(dimension, *, seed=0):
    """A flow in double precision whose networks do something."""
    torch.manual_seed(seed)
    made = Glow(dimension).double()
    for weights in made.parameters():
        torch.nn.init.normal_(weights, std=0.3)
    return made


@pytest.mark.parametrize("dimension", [2, 5, 6])
def test_the_loss_is_the_likelihood_by_the_whole_derivative_in_double_precision(dimension):
    made, vectors = moved(dimension), torch.randn(4, dimension, dtype=torch.float64)
    terms = []
    for vector in vectors:
        derivative = torch.autograd.functional.jacobian(lambda one: made(one[None])[0][0], vector)
        normal = torch.distributions.Normal(torch.zeros(dimension, dtype=torch.float64), 1.0)
        likelihood = normal.log_prob(made(vector[None])[0][0]).sum() + derivative.det().abs().log()
        terms.append(-likelihood / dimension)
    torch.testing.assert_close(made.loss(vectors), sum(terms) / len(terms), rtol=1e-9, atol=1e-10)


def test_a_step_by_hand():
    step = Step(3)
    step.order = torch.tensor([2, 0, 1])
    with torch.no_grad():
        step.log_scale.copy_(torch.tensor([0.0, math.log(2), 0.0]))
        step.shift.copy_(torch.tensor([1.0, 0.0, 0.0]))
        step.move[-1].bias.copy_(torch.tensor([10.0, 20.0]))
    # (3, 4, 5) -> (2, 8, 5) -> (5, 2, 8); the half of one moves the other two.
    assert step(torch.tensor([[3.0, 4.0, 5.0]])).tolist() == [[5.0, 12.0, 28.0]]


def test_before_training_every_dimension_has_mean_0_and_variance_1():
    vectors = torch.randn(50, 4) * torch.tensor([1.0, 5.0, 0.1, 0.0]) + 3
    made = Glow(4)
    made.scale_to(vectors)
    assert len(made.each()) == DEPTH
    found = made(vectors)[0]
    torch.testing.assert_close(found.mean(0), torch.zeros(4), rtol=0, atol=1e-4)
    assert sorted(found.std(0, correction=0).round(decimals=3).tolist()) == [0.0, 1.0, 1.0, 1.0]


def crowded(n, *, seed):
    """Points on a parabola in a far corner, which no linear map spreads."""
    draws = np.random.default_rng(seed).normal(size=(n, 2))
    bent = np.stack([draws[:, 0], draws[:, 0] ** 2 + 0.1 * draws[:, 1]], axis=1)
    return (bent + 9).astype(np.float32)


def test_training_makes_new_vectors_likelier_than_scaling_alone():
    vectors, others = crowded(1000, seed=0), crowded(500, seed=1)
    alone, fitted = (flow.fit_flow(vectors, seed=1, epochs=epochs)(others) for epochs in (0, 40))
    # Scaled, the second number is known from the first; in a normal distribution it is not.
    explained = [np.corrcoef(found[:, 0] ** 2, found[:, 1])[0, 1] ** 2 for found in (alone[:, [0, 1]], fitted)]
    bent = max(explained[0], np.corrcoef(alone[:, 1] ** 2, alone[:, 0])[0, 1] ** 2)
    straight = max(explained[1], np.corrcoef(fitted[:, 1] ** 2, fitted[:, 0])[0, 1] ** 2)
    assert bent > 0.9
    assert straight < 0.5


def test_the_seed_alone_decides_and_the_callers_draws_are_left_alone():
    vectors = crowded(100, seed=0)
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    first, again, other = (flow.fit_flow(vectors, seed=seed, epochs=2)(vectors) for seed in (1, 1, 2))
    assert torch.equal(torch.rand(1), expected)
    assert first.tolist() == again.tolist()
    assert not np.allclose(first, other, atol=1e-3)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_it_needs_two_different_dialogues(n):
    with pytest.raises(CorpusError, match=f"the flow found {n} training dialogues"):
        flow.fit_flow(np.ones((n, 4), dtype=np.float32), seed=1)
