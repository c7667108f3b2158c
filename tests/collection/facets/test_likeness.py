from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dial2vec.collection.facets import likeness as module
from dial2vec.collection.facets.likeness import likeness, probabilities


def slow(turns, starts, descriptions):
    cosines = turns @ descriptions.T
    spread = np.sqrt(np.maximum(cosines.var(0), 1e-4))
    rows = [cosines[a:b] for a, b in pairwise(starts)]
    values = [((row.max(0) + row.mean(0)) / 2 - cosines.mean(0)) / np.sqrt(spread) for row in rows]
    return np.array(values), np.array([row.argmax(0) for row in rows])


@pytest.mark.parametrize("block", [1, 7, 10_000])
def test_likeness_is_that_of_a_slow_reading_in_blocks_of_any_size(monkeypatch, block):
    monkeypatch.setattr(module, "BLOCK", block)
    rng = np.random.default_rng(1)
    turns, descriptions = rng.normal(size=(30, 5)).astype(np.float32), rng.normal(size=(3, 5)).astype(np.float32)
    starts, seen = np.array([0, 1, 9, 12, 30]), []
    found = likeness(turns, starts, descriptions, done=seen.append)
    values, numbers = slow(turns.astype(float), starts, descriptions.astype(float))
    np.testing.assert_allclose(found.values, values, atol=1e-5)
    np.testing.assert_array_equal(found.turns, numbers)
    assert sum(seen) == 4


def test_turns_that_are_all_the_same_are_like_nothing():
    found = likeness(np.ones((4, 1)), np.array([0, 2, 4]), np.ones((1, 1), dtype=np.float32))
    np.testing.assert_allclose(found.values, 0, atol=1e-6)


def test_probabilities_sum_to_one_and_the_nearest_is_most_probable():
    chances = probabilities(np.array([[2.0, 0.0], [0.0, 2.0], [-1.0, -1.0]]))
    np.testing.assert_allclose(chances.sum(1), 1)
    assert chances.argmax(1).tolist() == [0, 1, 2]
    assert (chances[[0, 1], [0, 1]] > 0.99).all()


def test_at_the_likeness_of_none_one_description_is_as_probable_as_none():
    # Half above and half below by the same amount, so the collection's own share stays one half.
    chances = probabilities(np.array([[module.NONE], [module.NONE + 0.1], [module.NONE - 0.1]]))
    assert chances[0].tolist() == pytest.approx([0.5, 0.5])
    assert chances[1, 0] == pytest.approx(1 / (1 + np.exp(-0.1 / module.SCALE)))


def test_where_none_is_frequent_a_doubtful_dialogue_goes_to_none():
    doubtful = [module.NONE + 0.02]
    alone = probabilities(np.array([doubtful, [3.0]]))[0, 0]
    among = probabilities(np.array([doubtful, *([-3.0],) * 20]))[0, 0]
    assert among < 0.5 < alone


def test_no_dialogues_have_no_probabilities():
    assert probabilities(np.empty((0, 2))).shape == (0, 3)
