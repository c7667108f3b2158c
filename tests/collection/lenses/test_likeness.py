from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dial2vec.collection.lenses import likeness as module
from dial2vec.collection.lenses.likeness import Level, Likeness, likeness, moved_by_examples, probabilities

LEVEL = Level(none=0.5, per_log=0.2, cosine=0.0, scale=0.1)


def alike(values):
    values = np.array(values, dtype=float)
    return Likeness(values, np.zeros_like(values), np.zeros(values.shape, dtype=np.int32))


def slow(turns, starts, descriptions):
    cosines = turns @ descriptions.T
    spread = np.sqrt(np.maximum(cosines.var(0), 1e-4))
    rows = [cosines[a:b] for a, b in pairwise(starts)]
    values = [((row.max(0) + row.mean(0)) / 2 - cosines.mean(0)) / np.sqrt(spread) for row in rows]
    return np.array(values), np.array([row.max(0) for row in rows]), np.array([row.argmax(0) for row in rows])


@pytest.mark.parametrize("block", [1, 7, 10_000])
def test_likeness_is_that_of_a_slow_reading_in_blocks_of_any_size(monkeypatch, block):
    monkeypatch.setattr(module, "BLOCK", block)
    rng = np.random.default_rng(1)
    turns, descriptions = rng.normal(size=(30, 5)).astype(np.float32), rng.normal(size=(3, 5)).astype(np.float32)
    starts = np.array([0, 1, 9, 12, 30])
    result = likeness(turns.__getitem__, starts, descriptions)
    values, cosines, numbers = slow(turns.astype(float), starts, descriptions.astype(float))
    np.testing.assert_allclose(result.values, values, atol=1e-5)
    np.testing.assert_allclose(result.cosines, cosines, atol=1e-5)
    np.testing.assert_array_equal(result.turns, numbers)


def test_of_two_turns_that_are_as_near_the_first_counts():
    turns = np.eye(2, dtype=np.float32)[[0, 1, 1]]
    result = likeness(turns.__getitem__, np.array([0, 3]), np.eye(2, dtype=np.float32)[[1]])
    assert result.turns.tolist() == [[1]]


def test_turns_that_are_all_the_same_are_like_nothing():
    result = likeness(np.ones((4, 1)).__getitem__, np.array([0, 2, 4]), np.ones((1, 1), dtype=np.float32))
    np.testing.assert_allclose(result.values, 0, atol=1e-6)


def test_probabilities_sum_to_one_and_the_nearest_is_most_probable():
    chances = probabilities(alike([[2.0, 0.0], [0.0, 2.0], [-1.0, -1.0]]), LEVEL)
    np.testing.assert_allclose(chances.sum(1), 1)
    assert chances.argmax(1).tolist() == [0, 1, 2]
    assert (chances[[0, 1], [0, 1]] > 0.99).all()


def test_at_the_level_one_description_is_as_probable_as_none():
    # Half above and half below by the same amount, so the collection's own share stays one half.
    chances = probabilities(alike([[0.5], [0.6], [0.4]]), LEVEL)
    assert chances[0].tolist() == pytest.approx([0.5, 0.5])
    assert chances[1, 0] == pytest.approx(1 / (1 + np.exp(-1)))


def test_more_descriptions_raise_the_level():
    # 0.5 + 0.2 log 3; two others are so far away that they have no part.
    at = 0.5 + 0.2 * np.log(3)
    chances = probabilities(alike([[at, -9, -9]]), LEVEL)
    assert chances[0].tolist() == pytest.approx([0.5, 0, 0, 0.5])


def test_the_cosine_of_the_best_turn_counts_by_its_weight():
    seen = Likeness(np.zeros((1, 1)), np.full((1, 1), 0.25), np.zeros((1, 1), dtype=np.int32))
    assert probabilities(seen, Level(0.5, 0.2, 2.0, 0.1))[0].tolist() == pytest.approx([0.5, 0.5])


def test_where_none_is_frequent_a_doubtful_dialogue_goes_to_none():
    doubtful = [0.52]
    alone = probabilities(alike([doubtful, [3.0]]), LEVEL)[0, 0]
    among = probabilities(alike([doubtful, *([-3.0],) * 20]), LEVEL)[0, 0]
    assert among < 0.5 < alone


def test_no_dialogues_have_no_probabilities():
    assert probabilities(alike(np.empty((0, 2)))).shape == (0, 3)


def test_of_an_example_the_turn_near_to_the_description_weighs_most():
    turns, starts = np.eye(3, dtype=np.float32), np.array([0, 2, 3])
    moved = moved_by_examples(turns[[0]], turns.__getitem__, starts, [[0]])[0]
    # Cosines 1 and 0: the second turn has e^-10 of the weight of the first; the other dialogue has no part.
    np.testing.assert_allclose(moved[1] / moved[0], np.exp(-10) * 0.5 / 1.5, rtol=1e-3)
    assert moved[2] == 0
    np.testing.assert_array_equal(moved_by_examples(turns[[0]], turns.__getitem__, starts, [[]]), turns[[0]])
