from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dial2vec.encoder.nearest import nearest_others, unit_rows
from dial2vec.errors import Dial2vecError


def slow_nearest(units, k):
    """All others of each row, sorted by cosine and then by index."""
    found = []
    for row, unit in enumerate(units):
        others = [other for other in range(len(units)) if other != row]
        found.append(sorted(others, key=lambda other: (-float(unit @ units[other]), other))[:k])
    return found


def on_the_axes(choices):
    """Unit vectors along the axes, whose cosines are exactly -1, 0 and 1."""
    return np.array([np.eye(3)[abs(axis) - 1] * np.sign(axis) for axis in choices], dtype=np.float32)


AXES = st.lists(st.sampled_from([-3, -2, -1, 1, 2, 3]), min_size=2, max_size=12).map(on_the_axes)


def test_three_on_a_circle_by_hand():
    angles = np.radians([0, 10, 30])
    units = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    found = nearest_others(units, k=2)
    assert found.tolist() == [[1, 2], [0, 2], [1, 0]]
    assert found.dtype == np.int32


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 30), st.integers(1, 8), st.integers(1, 40), st.integers(0, 5), st.data())
def test_it_finds_what_sorting_all_others_finds_whatever_the_block(n, d, block, seed, data):
    # Small whole numbers: their products are exact, so both ways see the same ties.
    vectors = np.random.default_rng(seed).integers(-2, 3, (n, d)).astype(np.float32)
    k = data.draw(st.integers(1, n - 1))
    assert nearest_others(vectors, k=k, block=block).tolist() == slow_nearest(vectors, k)


@settings(max_examples=60, deadline=None)
@given(AXES, st.integers(1, 12), st.data())
def test_of_equally_near_ones_the_first_are_taken(units, block, data):
    k = data.draw(st.integers(1, len(units) - 1))
    assert nearest_others(units, k=k, block=block).tolist() == slow_nearest(units, k)


def test_more_ties_than_neighbours_leave_the_first():
    units = np.tile(np.float32([1, 0]), (50, 1))
    found = nearest_others(units, k=3, block=7)
    assert found[0].tolist() == [1, 2, 3]
    assert found[2].tolist() == [0, 1, 3]
    assert found[49].tolist() == [0, 1, 2]


def test_a_zero_row_is_as_near_to_all_and_no_row_is_its_own_neighbour():
    units = np.float32([[0, 0], [1, 0], [-1, 0], [1, 0]])
    assert nearest_others(units, k=3).tolist() == [[1, 2, 3], [3, 0, 2], [0, 1, 3], [1, 0, 2]]


@pytest.mark.parametrize("k", [0, -1, 4, 5])
def test_more_neighbours_than_others_are_refused(k):
    with pytest.raises(Dial2vecError, match=rf"found k = {k} for 4 vectors; expected 1 to 3: a vector is no neighbour"):
        nearest_others(np.eye(4, dtype=np.float32), k=k)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rows_get_length_one_whatever_their_type_and_zeros_stay_zeros(kind):
    units = unit_rows(np.array([[3, 4], [0, 0], [-2, 0]], dtype=kind))
    assert units.dtype == kind
    assert units == pytest.approx(np.array([[0.6, 0.8], [0, 0], [-1, 0]]))


def test_a_row_that_is_no_number_does_not_become_zeros():
    assert np.isnan(unit_rows(np.array([[np.nan, 1]], dtype=np.float32))).all()
