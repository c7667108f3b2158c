from __future__ import annotations

import pytest

from dial2vec.collection.segments.scoring import boundary_f1


def test_a_boundary_one_turn_off_counts_only_with_tolerance():
    assert boundary_f1([[4, 8]], [[4, 9]]) == 0.5
    assert boundary_f1([[4, 8]], [[4, 9]], tolerance=1) == 1


def test_two_boundaries_do_not_match_the_same_true_one():
    # One match of 2 found and 1 true: 2 * 1 / 3.
    assert boundary_f1([[4, 5]], [[4]], tolerance=1) == pytest.approx(2 / 3)


def test_nothing_found_where_nothing_is_true_is_perfect():
    assert boundary_f1([[]], [[]]) == 1
    assert boundary_f1([[3]], [[]]) == 0
