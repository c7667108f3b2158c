from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dial2vec.encoder.pooling import pool, role_means
from dial2vec.matching import self_and_cross


def matched_by_definition(hidden, turns, roles, window):
    """The paper's n x n matching (equations 1 to 4), one dialogue and one role at a time, in loops."""
    n_roles = max(int(roles.max()), 0) + 1
    own = torch.zeros(len(hidden), n_roles, hidden.shape[2], dtype=hidden.dtype)
    cross = torch.zeros_like(own)
    for d in range(len(hidden)):
        for role in range(n_roles):
            mine = (roles[d] == role)[:, None] * hidden[d]
            rest = ((roles[d] != role) & (roles[d] >= 0))[:, None] * hidden[d]
            matching = mine @ rest.T
            if window is not None:
                far = (turns[d][:, None] - turns[d][None, :]).abs() > window
                matching = matching.masked_fill(far, 0)
            own[d, role] = mine.sum(0)
            cross[d, role] = (matching.T @ mine).sum(0)
    return own, cross


@st.composite
def batches(draw):
    """Padded batches with uneven turns, up to four speakers and possibly a single one."""
    n_dialogues, width = draw(st.integers(1, 3)), draw(st.integers(1, 12))
    turns = torch.zeros(n_dialogues, width, dtype=torch.long)
    roles = torch.full((n_dialogues, width), -1)
    for d in range(n_dialogues):
        length = draw(st.integers(1, width))
        starts = draw(st.lists(st.booleans(), min_size=length, max_size=length))
        turn = torch.tensor(starts).cumsum(0)
        turn_roles = draw(st.lists(st.integers(0, 3), min_size=length + 1, max_size=length + 1))
        turns[d, :length] = turn
        roles[d, :length] = torch.tensor([turn_roles[t] for t in turn])
    seed = draw(st.integers(0, 10**6))
    hidden = torch.randn(n_dialogues, width, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return hidden, turns, roles


@settings(max_examples=80, deadline=None)
@given(batches(), st.one_of(st.none(), st.integers(0, 12)))
def test_linear_matching_equals_the_definition(batch, window):
    hidden, turns, roles = batch
    own, cross, present = self_and_cross(hidden, turns, roles, window=window)
    expected_own, expected_cross = matched_by_definition(hidden, turns, roles, window)
    torch.testing.assert_close(own, expected_own, atol=1e-10, rtol=1e-10)
    torch.testing.assert_close(cross, expected_cross, atol=1e-10, rtol=1e-10)
    in_fp32 = self_and_cross(hidden.float(), turns, roles, window=window)[1]
    torch.testing.assert_close(in_fp32.double(), expected_cross, atol=1e-4, rtol=1e-4)
    for d in range(len(hidden)):
        speakers = set(roles[d].tolist()) - {-1}
        for role in range(own.shape[1]):
            assert bool(present[d, role]) == (role in speakers and len(speakers) > 1)


def test_gradients_equal_those_of_the_definition():
    generator = torch.Generator().manual_seed(3)
    hidden = torch.randn(2, 9, 4, generator=generator, dtype=torch.float32, requires_grad=True)
    turns = torch.tensor([[0, 0, 1, 1, 2, 2, 3, 3, 3], [0, 1, 2, 3, 4, 0, 0, 0, 0]])
    roles = torch.tensor([[0, 0, 1, 1, 0, 0, 1, 1, 1], [0, 1, 2, 1, 0, -1, -1, -1, -1]])
    weights = torch.randn(2, 3, 4, generator=generator)
    (self_and_cross(hidden, turns, roles, window=1)[1] * weights).sum().backward()
    fast = hidden.grad.clone()
    hidden.grad = None
    (matched_by_definition(hidden, turns, roles, 1)[1] * weights).sum().backward()
    torch.testing.assert_close(fast, hidden.grad, atol=1e-4, rtol=1e-4)


def test_matching_stays_in_fp32_under_autocast():
    hidden = torch.randn(1, 4, 8)
    turns, roles = torch.tensor([[0, 1, 2, 3]]), torch.tensor([[0, 1, 0, 1]])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        own, cross, _ = self_and_cross(hidden, turns, roles, window=10)
    expected_own, expected_cross = matched_by_definition(hidden, turns, roles, 10)
    assert own.dtype == cross.dtype == torch.float32
    torch.testing.assert_close(own, expected_own)
    torch.testing.assert_close(cross, expected_cross)


def test_role_pooling_sums_the_means_of_the_speakers_and_leaves_out_an_absent_one():
    hidden = torch.tensor([[[2.0], [4.0], [10.0], [99.0]], [[1.0], [3.0], [99.0], [99.0]]])
    roles = torch.tensor([[0, 0, 1, -1], [0, 0, -1, -1]])
    assert pool(hidden, roles, torch.zeros_like(roles), how="role").tolist() == [[13.0], [2.0]]
    assert role_means(hidden, roles).tolist() == [[[3.0], [10.0]], [[2.0], [0.0]]]


def test_mean_pooling_ignores_padding():
    hidden = torch.tensor([[[2.0], [4.0], [99.0]]])
    assert pool(hidden, torch.tensor([[0, 1, -1]]), torch.zeros(1, 3), how="mean").tolist() == [[3.0]]


def test_pooling_by_turns_gives_a_long_turn_no_more_weight_than_a_short_one():
    hidden = torch.tensor([[[2.0], [4.0], [9.0], [99.0]], [[1.0], [3.0], [8.0], [0.0]]])
    roles, turns = torch.tensor([[0, 0, 1, -1], [0, 1, 0, 0]]), torch.tensor([[0, 0, 1, 0], [3, 2, 1, 1]])
    # (3 + 9) / 2, and (1 + 3 + 4) / 3 for turns that are counted down.
    assert pool(hidden, roles, turns, how="turns").flatten().tolist() == pytest.approx([6.0, 8 / 3])


def test_who_meets_nobody_within_the_window_sees_exactly_nothing():
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(1, 40, 8, generator=generator).requires_grad_()
    turns = torch.arange(40)[None]
    # Two speakers, the second long after the first.
    roles = (turns >= 20).long()
    apart = torch.where(turns >= 20, turns + 10, turns)
    for window, where in ((0, turns), (5, apart)):
        cross = self_and_cross(hidden, where, roles, window=window)[1]
        assert (cross == 0).all()
        assert (torch.autograd.grad(cross.sum(), hidden)[0] == 0).all()
