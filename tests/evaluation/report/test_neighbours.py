import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dial2vec.evaluation.report.neighbours import NearestDialogues, kept_neighbours, neighbours_of, rank_nearest
from dial2vec.evaluation.retrieval import retrieval_scores


def nearest(*places):
    found = np.array(places)
    return NearestDialogues(np.full(len(found), 0.5), found, np.full(found.shape, 0.5))


def test_neighbours_with_the_same_label_are_counted_and_compared():
    labels = ["a", "a", "b", "b", "c"]
    found = neighbours_of(nearest([2], [0], [3], [0], [1]), nearest([1], [3], [3], [2], [1]), labels)
    assert found.depth == 1
    # "c" stands alone and cannot be found.
    assert found.counted.tolist() == [True, True, True, True, False]
    assert (found.start.tolist(), found.trained.tolist()) == ([0, 1, 1, 0, 0], [1, 0, 1, 1, 0])
    assert found.changes == (2, 1, 1)
    assert found.means == (0.5, 0.75)
    gain = found.gain(seed=0)
    assert gain.points == 25
    assert gain.low < 0 < gain.high


@pytest.mark.parametrize(("size", "depth"), [(11, 10), (10, 5), (6, 5), (5, 3), (4, 3), (3, 1), (2, 1)])
def test_the_depth_is_one_that_labels_can_fill(size, depth):
    labels = [label for label in "abc" for _ in range(size)]
    ranked = rank_nearest(np.random.default_rng(0).normal(size=(len(labels), 4)), labels)
    assert neighbours_of(ranked, ranked, labels).depth == depth


def test_a_few_small_labels_do_not_lower_the_depth_and_do_not_count():
    labels = ["a"] * 30 + ["b"] * 30 + ["small"] * 3
    ranked = rank_nearest(np.random.default_rng(0).normal(size=(63, 4)), labels)
    found = neighbours_of(ranked, ranked, labels)
    assert found.depth == 10
    assert found.counted.sum() == 60
    assert found.changes == (0, 0, 60)


def test_kept_neighbours_do_not_depend_on_their_order():
    assert kept_neighbours(nearest([1, 2], [0, 2]), nearest([2, 1], [2, 3])).tolist() == [2, 1]


def angles(*degrees):
    return np.array([[np.cos(np.radians(d)), np.sin(np.radians(d))] for d in degrees])


def test_ranking_finds_the_nearest_first_and_never_the_query():
    ranked = rank_nearest(angles(0, 10, 30, 70), ["a", "b", "a", "b"])
    assert ranked.nearest[:, :2].tolist() == [[1, 2], [0, 2], [1, 0], [2, 1]]
    assert ranked.cosines[0, :2] == pytest.approx([np.cos(np.radians(10)), np.cos(np.radians(30))])
    # The other "a" comes second to the first query; the other "b" third to the second.
    assert ranked.precisions == pytest.approx([1 / 2, 1 / 3, 1 / 2, 1 / 2])


def test_a_query_that_cannot_hit_has_no_precision():
    assert np.isnan(rank_nearest(angles(0, 10, 30), ["a", "a", "b"]).precisions).tolist() == [False, False, True]


@settings(deadline=None)
@given(st.integers(0, 1000), st.booleans())
def test_mean_of_the_precisions_is_the_map_of_the_figures(seed, ties):
    rng = np.random.default_rng(seed)
    vectors = rng.integers(-1, 2, size=(12, 2)) if ties else rng.normal(size=(12, 3))
    labels = [f"{label}" for label in rng.integers(0, 4, 12)]
    precisions = rank_nearest(vectors, labels).precisions
    assert np.nanmean(precisions) == pytest.approx(retrieval_scores(vectors, labels).map)


def test_few_dialogues_find_all_others_and_one_alone_finds_none():
    assert rank_nearest(angles(0, 10), ["a", "a"]).nearest.shape == (2, 1)
    assert rank_nearest(angles(0), ["a"]).nearest.shape == (1, 0)
    assert rank_nearest(np.zeros((0, 2)), []).nearest.shape == (0, 0)
