from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dial2vec.training.augmentation.token_ways import conmix


def contexts(b, n, seed):
    """Ids that tell row and place, and which of them may be replaced."""
    ids = torch.arange(b)[:, None] * 1000 + torch.arange(n)
    return ids, torch.rand(b, n, generator=torch.Generator().manual_seed(seed)) < 0.8


def mixed_slowly(ids, replaceable, *, seed, keep):
    generator = torch.Generator().manual_seed(seed)
    b, n = ids.shape
    steps = torch.randint(1, b, (b,), generator=generator)
    draws = torch.rand((b, n), generator=generator)
    found = ids.clone()
    for row in range(b):
        other = (row + int(steps[row])) % b
        words = [int(word) for word, usable in zip(ids[other], replaceable[other], strict=True) if usable]
        for place in range(n):
            if draws[row, place] >= keep and replaceable[row, place] and words:
                same_place = replaceable[other, place]
                found[row, place] = ids[other, place] if same_place else words[place % len(words)]
    return found


@given(st.integers(2, 6), st.integers(1, 12), st.integers(0, 100), st.sampled_from([0.0, 0.3, 0.7, 1.0]))
@settings(max_examples=20, deadline=None)
def test_it_equals_token_by_token_mixing(b, n, seed, keep):
    ids, replaceable = contexts(b, n, seed)
    found = conmix(ids, replaceable, generator=torch.Generator().manual_seed(seed), keep=keep)
    torch.testing.assert_close(found, mixed_slowly(ids, replaceable, seed=seed, keep=keep), rtol=0, atol=0)


@given(st.integers(1, 6), st.integers(1, 12), st.integers(0, 100))
@settings(max_examples=20, deadline=None)
def test_special_tokens_stay_and_none_is_taken_and_each_row_has_one_other(b, n, seed):
    ids, replaceable = contexts(b, n, seed)
    found = conmix(ids, replaceable, generator=torch.Generator().manual_seed(seed), keep=0.2)
    changed = found != ids
    assert not changed[~replaceable].any()
    for row in range(b):
        others = set((found[row][changed[row]] // 1000).tolist())
        assert len(others) <= 1
        assert row not in others
        assert all(replaceable[other][found[row][changed[row]] % 1000].all() for other in others)


def test_seven_of_ten_tokens_are_kept():
    ids = torch.arange(8)[:, None].expand(8, 5000)
    everywhere = torch.ones(8, 5000, dtype=torch.bool)
    found = conmix(ids, everywhere, generator=torch.Generator().manual_seed(0))
    assert (found == ids).double().mean() == pytest.approx(0.7, abs=0.01)


def test_a_short_context_replaces_as_many_tokens_of_a_long_one():
    ids = torch.tensor([[1] * 5000, [2] * 10 + [0] * 4990])
    found = conmix(ids, ids > 0, generator=torch.Generator().manual_seed(0))
    assert (found[0] == 2).double().mean() == pytest.approx(0.3, abs=0.02)
    assert (found[1, 10:] == 0).all()


def test_one_context_alone_is_not_changed():
    ids, replaceable = contexts(1, 5, 0)
    assert torch.equal(conmix(ids, replaceable, generator=torch.Generator(), keep=0.0), ids)


def test_the_batch_itself_is_left_as_it_was():
    ids, replaceable = contexts(3, 9, 0)
    before = ids.clone()
    conmix(ids, replaceable, generator=torch.Generator().manual_seed(1), keep=0.0)
    assert torch.equal(ids, before)
