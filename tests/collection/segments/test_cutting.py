from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from dial2vec.collection.segments.cutting import (
    DEFAULT,
    Cuts,
    boundary_f1,
    fit_cutter,
    fit_space,
    join_courtesies,
    join_pieces,
    weights_of,
)
from dial2vec.collection.segments.cutting import cut as cut_weighted
from dial2vec.encoder.nearest import unit_rows


def turns_of(*topics: int, spread: float = 0.0, seed: int = 0, d: int = 6) -> np.ndarray:
    """A vector per turn, along the axis of its topic; `spread` adds noise."""
    rng = np.random.default_rng(seed)
    return unit_rows(np.eye(d)[list(topics)] + spread * rng.normal(size=(len(topics), d))).astype(np.float32)


def cut(turns: np.ndarray, penalty: float) -> list[int]:
    return cut_weighted(turns, np.ones(len(turns)), penalty)


def test_a_dialogue_is_cut_where_its_topic_changes():
    # Whole: |3 a + 3 b|^2 / 6 = 3; cut into two: 3 + 3 less the penalty.
    assert cut(turns_of(0, 0, 0, 1, 1, 1), 2.9) == [3]
    assert cut(turns_of(0, 0, 0, 1, 1, 1), 3.1) == []
    assert cut(turns_of(0, 0, 0, 1, 1, 1, 0, 0, 0), 1.0) == [3, 6]


def test_short_turns_count_less():
    assert weights_of(np.array([0, 3, 6, 40])).tolist() == [0.1, 0.5, 1, 1]
    # The last two turns weigh 0.5 each: whole (16 + 1) / 5 = 3.4, cut 4 + 1.
    turns = turns_of(0, 0, 0, 0, 1, 1)
    assert cut_weighted(turns, np.array([1, 1, 1, 1, 0.5, 0.5]), 1.5) == [4]
    assert cut_weighted(turns, np.array([1, 1, 1, 1, 0.5, 0.5]), 1.7) == []
    assert cut_weighted(turns, np.ones(6), 1.7) == [4]


def test_a_segment_has_at_least_two_turns():
    # Five in three segments would be 5 - 2 * 0.5, more than the 17 / 5 of all.
    assert cut(turns_of(0, 0, 1, 0, 0), 0.5) == []
    for turns in (turns_of(0), turns_of(0, 1), turns_of(0, 1, 2)):
        assert cut(turns, 0.0) == []


@pytest.mark.parametrize("seed", range(5))
def test_the_cuts_are_the_best_of_all(seed):
    turns = turns_of(*np.random.default_rng(seed).integers(0, 3, 9), spread=0.3, seed=seed)

    def value(cuts):
        bounds = [0, *cuts, 9]
        parts = [turns[a:b].astype(float) for a, b in pairwise(bounds)]
        if min(map(len, parts)) < 2:
            return -np.inf
        return sum((part.sum(axis=0) ** 2).sum() / len(part) for part in parts) - 0.5 * len(cuts)

    every = (list(cuts) for count in range(5) for cuts in combinations(range(1, 9), count))
    assert value(cut(turns, 0.5)) == pytest.approx(max(map(value, every)))


def corpus(n: int, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Dialogues of one topic each; half of every vector is noise that has nothing to do with the topic."""
    rng = np.random.default_rng(seed)
    topics = np.repeat(rng.integers(0, 4, n), 8)
    noise = np.eye(8)[rng.integers(4, 8, len(topics))]
    return unit_rows(np.eye(8)[topics] + noise).astype(np.float32), np.arange(0, 8 * n + 1, 8)


def test_the_space_keeps_what_turns_of_a_dialogue_share():
    turns, starts = corpus(200)
    space = fit_space(turns, starts)
    # The first four axes are topics, the others noise.
    strength = np.abs(space.directions).sum(axis=1)
    assert strength[:4].min() > 5 * strength[4:].max()
    assert np.allclose(np.linalg.norm(space.project(turns), axis=1), 1, atol=1e-5)


def test_the_seams_of_joined_dialogues_are_found_with_the_penalty_that_they_choose():
    turns, starts = corpus(200)
    cutter = fit_cutter(turns, np.full(len(turns), 8), starts, seed=1)
    assert cutter.f1 > 0.8
    other, other_starts = corpus(60, seed=7)
    joined = join_pieces(other_starts, 50, seed=3)
    found = [cutter.cut(other[places], np.full(len(places), 8)) for places, _ in joined]
    assert boundary_f1(found, [seams for _, seams in joined], tolerance=1) > 0.8


def test_pieces_are_consecutive_turns_of_different_dialogues():
    starts = np.array([0, 6, 9, 30, 50])
    for places, seams in join_pieces(starts, 30, seed=1):
        parts = np.split(places, seams)
        owners = [np.searchsorted(starts, part, side="right") - 1 for part in parts]
        assert all(
            len(set(owner)) == 1 and (np.diff(part) == 1).all() for owner, part in zip(owners, parts, strict=True)
        )
        assert len({owner[0] for owner in owners}) == len(parts)
        assert 1 not in {owner[0] for owner in owners}


def test_too_few_dialogues_take_the_default():
    cutter = fit_cutter(turns_of(0, 0, 1, 1), np.full(4, 8), np.array([0, 2, 4]), seed=1)
    assert cutter.penalty == DEFAULT
    assert np.isnan(cutter.f1)
    assert cutter.cut(turns_of(0, 0), np.full(2, 8)) == []


def test_a_boundary_one_turn_off_counts_only_with_tolerance():
    assert boundary_f1([[4, 8]], [[4, 9]]) == 0.5
    assert boundary_f1([[4, 8]], [[4, 9]], tolerance=1) == 1


def test_two_boundaries_do_not_match_the_same_true_one():
    # One match of 2 found and 1 true: 2 * 1 / 3.
    assert boundary_f1([[4, 5]], [[4]], tolerance=1) == pytest.approx(2 / 3)


def test_nothing_found_where_nothing_is_true_is_perfect():
    assert boundary_f1([[]], [[]]) == 1
    assert boundary_f1([[3]], [[]]) == 0


def cuts_of(*segments: tuple[int, int, int, int]) -> Cuts:
    rows, first, last, words = np.array(segments).T
    return Cuts(rows, first, last, words, np.eye(len(segments), dtype=np.float32))


def test_thanks_at_the_end_join_the_segment_before_them():
    # Group 1 is short and last in dialogues 0 and 1; dialogue 2 is nothing else and keeps it.
    cuts = cuts_of((0, 0, 7, 60), (0, 8, 9, 4), (1, 0, 5, 50), (1, 6, 11, 50), (1, 12, 13, 4), (2, 0, 2, 4))
    joined, groups = join_courtesies(cuts, np.array([2, 1, 0, 2, 1, 1], dtype=np.int32))
    assert joined.rows.tolist() == [0, 1, 1, 2]
    assert joined.first.tolist() == [0, 0, 6, 0]
    assert joined.last.tolist() == [9, 5, 13, 2]
    assert joined.words.tolist() == [64, 50, 54, 4]
    assert joined.vectors.argmax(axis=1).tolist() == [0, 2, 3, 5]
    # The largest group is number 0.
    assert groups.tolist() == [0, 1, 0, 2]


def test_greetings_join_the_segment_after_them():
    cuts = cuts_of((0, 0, 1, 2), (0, 2, 7, 60), (1, 0, 1, 2), (1, 2, 9, 60))
    joined, groups = join_courtesies(cuts, np.array([0, 1, 0, 1], dtype=np.int32))
    assert (joined.first.tolist(), joined.last.tolist(), groups.tolist()) == ([0, 0], [7, 9], [0, 0])


def test_a_long_last_topic_and_a_short_one_in_the_middle_stay():
    cuts = cuts_of((0, 0, 3, 40), (0, 4, 5, 3), (0, 6, 9, 50), (1, 0, 3, 40), (1, 4, 5, 3), (1, 6, 9, 50))
    groups = np.array([0, 1, 2, 0, 1, 2], dtype=np.int32)
    joined, same = join_courtesies(cuts, groups)
    assert joined.first.tolist() == cuts.first.tolist()
    assert same.tolist() == groups.tolist()
