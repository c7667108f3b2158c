from __future__ import annotations

import pytest

from dial2vec.collection.segments.scoring import boundary_f1, pk, window_diff


def test_a_boundary_one_turn_off_counts_only_with_tolerance():
    assert boundary_f1([[4, 8]], [[4, 9]]) == 0.5
    assert boundary_f1([[4, 8]], [[4, 9]], tolerance=1) == 1


def test_two_boundaries_do_not_match_the_same_true_one():
    # One match of 2 found and 1 true: 2 * 1 / 3.
    assert boundary_f1([[4, 5]], [[4]], tolerance=1) == pytest.approx(2 / 3)


def test_nothing_found_where_nothing_is_true_is_perfect():
    assert boundary_f1([[]], [[]]) == 1
    assert boundary_f1([[3]], [[]]) == 0


def test_pk_and_window_diff_by_hand():
    # Segments 0011 and 0111: of the pairs (0,2), (1,3) the first is apart in both, the second only in the first.
    assert pk([2], [1], 4, window=2) == 0.5
    assert window_diff([2], [1], 4, window=2) == 0.5
    # 0123 and 0011: both pairs are apart in both, but with two boundaries against one.
    assert pk([1, 2, 3], [2], 4, window=2) == 0
    assert window_diff([1, 2, 3], [2], 4, window=2) == 1
    assert pk([2], [2], 4, window=1) == window_diff([2], [2], 4, window=1) == 0
