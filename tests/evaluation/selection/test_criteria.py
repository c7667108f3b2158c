import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dial2vec.evaluation.selection.criteria import (
    CHOOSING,
    Views,
    cross_side,
    measure_criteria,
    n_clusters,
    n_neighbours,
)
from tests.evaluation.references import BAD, SIDES, islands, slow_area, slow_near, views


@given(SIDES, st.integers(1, 2))
@settings(max_examples=60, deadline=None)
def test_cross_side_equals_its_slow_definition(sides, neighbours):
    first, second = sides
    forth = slow_area(first, lambda i: slow_near(second, i, neighbours))
    back = slow_area(second, lambda i: slow_near(first, i, neighbours))
    assert cross_side(first, second, neighbours=neighbours) == pytest.approx((forth + back) / 2)


def test_sides_that_agree_are_told_from_sides_that_do_not():
    topics, same_topics, other_topics = islands(clusters=3), islands(clusters=3, seed=1), islands(clusters=3, seed=2)
    shuffled = np.random.default_rng(0).permutation(other_topics)
    assert cross_side(topics, same_topics, neighbours=5) > 0.8
    assert cross_side(topics, shuffled, neighbours=5) == pytest.approx(0.5, abs=0.05)
    assert cross_side(topics, topics, neighbours=5) == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("bad", BAD)
def test_collapsed_vectors_have_the_defined_low_criteria(bad):
    vectors = BAD[bad].astype(np.float32)
    figures = measure_criteria(Views(vectors, vectors, vectors), seed=0)
    assert figures == pytest.approx({"stability": 0, "silhouette": 0, "cross_side": 0.5})


@given(SIDES, st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_the_order_of_dialogues_does_not_change_cross_side(sides, random):
    order = np.array(random.sample(range(len(sides[0])), len(sides[0])))
    first, second = sides
    moved = cross_side(first[order], second[order], neighbours=2)
    assert moved == pytest.approx(cross_side(first, second, neighbours=2))


def test_only_the_criteria_that_choose_are_measured():
    assert tuple(measure_criteria(views(), seed=3)) == CHOOSING


def test_figures_repeat_for_a_seed_and_move_with_it():
    one = views()
    assert measure_criteria(one, seed=1) == measure_criteria(one, seed=1)
    assert measure_criteria(one, seed=1)["stability"] != measure_criteria(one, seed=50)["stability"]


def test_clusters_and_neighbours_grow_with_the_dialogues_up_to_a_limit():
    assert [n_clusters(n) for n in (3, 44, 45, 300, 5000)] == [2, 2, 3, 20, 20]
    assert [n_neighbours(n) for n in (3, 19, 20, 150, 5000)] == [1, 1, 2, 15, 15]


def test_taking_rows_takes_them_from_all_views():
    one, rows = views(), np.array([4, 1])
    taken = one.take(rows)
    assert len(taken) == 2
    for name in ("whole", "first", "second"):
        assert (getattr(taken, name) == getattr(one, name)[rows]).all()
