from __future__ import annotations

import math

import pytest
import torch

from dial2vec.objectives.dial2vec import dial2vec_loss


def test_one_dialogue_of_two_samples_gives_the_loss_by_hand():
    # One token per turn and speaker: own vector a, cross vector a (a . b), so each cosine is the sign of a . b.
    real = [[1.0, 0.0], [1.0, 0.0]]
    fake = [[1.0, 0.0], [-1.0, 0.0]]
    hidden = torch.tensor([real, fake])
    turns, roles = torch.tensor([[0, 1], [0, 1]]), torch.tensor([[0, 1], [0, 1]])
    loss = dial2vec_loss(hidden, turns, roles, n_samples=2, temperature=0.5)
    per_role = math.log(1 + math.exp(-2 / 0.5))
    assert loss.item() == pytest.approx(2 * per_role, rel=1e-5)


def test_equal_samples_give_the_logarithm_of_their_number_per_role():
    hidden = torch.randn(1, 6, 4, generator=torch.Generator().manual_seed(0)).expand(10, -1, -1)
    turns = torch.arange(6).expand(10, -1)
    roles = torch.tensor([0, 1, 0, 1, 0, 1]).expand(10, -1)
    assert dial2vec_loss(hidden, turns, roles, n_samples=10).item() == pytest.approx(2 * math.log(10), rel=1e-5)


def test_window_hides_tokens_of_distant_turns():
    hidden = torch.randn(2, 4, 4, generator=torch.Generator().manual_seed(1))
    turns, roles = torch.tensor([[0, 1, 2, 30]] * 2), torch.tensor([[0, 1, 0, 1]] * 2)
    moved = hidden.clone()
    moved[:, 3] += torch.randn(4)
    losses = [
        dial2vec_loss(h, turns[:, :3], roles[:, :3], n_samples=2, window=10) for h in (hidden[:, :3], moved[:, :3])
    ]
    assert losses[0] == losses[1]
    near = dial2vec_loss(hidden, turns, roles, n_samples=2, window=10)
    far = dial2vec_loss(hidden, turns, roles, n_samples=2, window=None)
    assert near != far


def test_a_role_that_the_real_dialogue_lacks_adds_no_term_and_no_nan_gradient():
    hidden = torch.randn(4, 3, 4, generator=torch.Generator().manual_seed(2)).requires_grad_()
    turns = torch.tensor([[0, 1, 2]] * 4)
    roles = torch.tensor([[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 0]])
    loss = dial2vec_loss(hidden, turns, roles, n_samples=2)
    loss.backward()
    assert torch.isfinite(hidden.grad).all()
    assert hidden.grad[:2].abs().sum() == 0
    both = dial2vec_loss(hidden[2:], turns[2:], roles[2:], n_samples=2)
    assert loss.item() == pytest.approx(both.item() / 2, rel=1e-5)


def test_a_negative_that_lost_a_role_is_left_out_of_the_sum():
    hidden = torch.randn(3, 3, 4, generator=torch.Generator().manual_seed(4))
    turns = torch.tensor([[0, 1, 2]] * 3)
    roles = torch.tensor([[0, 1, 0], [0, 1, 0], [0, 0, 0]])
    assert dial2vec_loss(hidden, turns, roles, n_samples=3).item() == pytest.approx(
        dial2vec_loss(hidden[:2], turns[:2], roles[:2], n_samples=2).item(), rel=1e-5
    )


def test_padding_changes_nothing():
    generator = torch.Generator().manual_seed(5)
    hidden = torch.randn(2, 3, 4, generator=generator)
    turns, roles = torch.tensor([[0, 1, 2]] * 2), torch.tensor([[0, 1, 0]] * 2)
    padded = torch.cat([hidden, torch.full((2, 2, 4), 7.0)], dim=1)
    padded_turns, padded_roles = torch.tensor([[0, 1, 2, 0, 0]] * 2), torch.tensor([[0, 1, 0, -1, -1]] * 2)
    assert dial2vec_loss(padded, padded_turns, padded_roles, n_samples=2).item() == pytest.approx(
        dial2vec_loss(hidden, turns, roles, n_samples=2).item(), rel=1e-5
    )
