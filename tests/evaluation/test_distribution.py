import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dial2vec.evaluation.distribution import (
    adjusted_alignment,
    alignment,
    normalised,
    uniformity,
    uniformity_of,
)
from dial2vec.evaluation.ranking import rank_others

VECTORS = hnp.arrays(np.float32, st.tuples(st.integers(2, 12), st.just(4)), elements=st.integers(-3, 3).map(float))


def slow_pairs(vectors, labels):
    same, different = [], []
    units = normalised(vectors)
    for i, j in itertools.combinations(range(len(labels)), 2):
        (same if labels[i] == labels[j] else different).append(float(((units[i] - units[j]) ** 2).sum()))
    return same, different


@given(VECTORS, st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_closed_forms_equal_the_mean_over_all_pairs(vectors, seed):
    labels = np.random.default_rng(seed).integers(0, 3, len(vectors)).tolist()
    same, different = slow_pairs(vectors, labels)
    expected = np.mean(same) if same else np.nan
    adjusted = expected - np.mean(different) if same and different else np.nan
    assert alignment(vectors, labels) == pytest.approx(expected, abs=1e-9, nan_ok=True)
    assert adjusted_alignment(vectors, labels) == pytest.approx(adjusted, abs=1e-9, nan_ok=True)
    expected = np.log(np.mean(np.exp(-2 * np.array(same + different))))
    assert uniformity(vectors, block=5) == pytest.approx(expected, abs=1e-9)
    assert uniformity_of(rank_others(vectors, labels, block=5).closeness) == pytest.approx(expected, abs=1e-9)


def test_rows_have_length_one_and_a_zero_row_stays_zero():
    units = normalised(np.array([[3, 4], [0, 0], [1e-30, 0]], dtype=np.float32))
    assert units.tolist() == [pytest.approx([0.6, 0.8]), [0, 0], [1, 0]]


def test_coinciding_vectors_are_aligned_and_not_uniform():
    vectors, labels = np.tile(np.float32([[0.1, 0.7, -0.3]]), (9, 1)), list("aaabbbccc")
    assert alignment(vectors, labels) == pytest.approx(0, abs=1e-12)
    assert alignment(vectors, labels) >= 0
    assert uniformity(vectors) == pytest.approx(0, abs=1e-12)


def test_alignment_of_identical_vectors_is_never_below_zero_by_rounding():
    for row in np.random.default_rng(0).normal(size=(30, 1, 7)):
        assert alignment(np.tile(row, (9, 1)), list("aaabbbccc")) >= 0


def test_opposite_vectors_reach_the_ends_of_the_ranges():
    vectors = np.float32([[1, 0], [-1, 0]])
    assert alignment(vectors, ["a", "a"]) == pytest.approx(4)
    assert uniformity(vectors) == pytest.approx(-8)


def test_drawing_everything_together_lowers_alignment_but_not_its_adjusted_form():
    rng = np.random.default_rng(0)
    labels = [i % 3 for i in range(60)]
    spread = rng.normal(size=(60, 8)) + 3 * np.eye(3, 8)[labels]
    together = spread + 20
    assert alignment(together, labels) < alignment(spread, labels)
    assert adjusted_alignment(together, labels) > adjusted_alignment(spread, labels)
