import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dial2vec.evaluation.report.neighbours import rank_nearest
from dial2vec.evaluation.retrieval import retrieval_scores


def angles(*degrees):
    return np.array([[np.cos(np.radians(d)), np.sin(np.radians(d))] for d in degrees])


def test_ranking_finds_the_nearest_first_and_never_the_query():
    ranked = rank_nearest(angles(0, 10, 30, 70), ["a", "b", "a", "b"], depth=2)
    assert ranked.nearest.tolist() == [[1, 2], [0, 2], [1, 0], [2, 1]]
    assert ranked.cosines[0] == pytest.approx([np.cos(np.radians(10)), np.cos(np.radians(30))])
    # The other "a" comes second to the first query; the other "b" third to the second.
    assert ranked.precisions == pytest.approx([1 / 2, 1 / 3, 1 / 2, 1 / 2])


def test_a_query_that_cannot_hit_has_no_precision():
    assert np.isnan(rank_nearest(angles(0, 10, 30), ["a", "a", "b"]).precisions).tolist() == [False, False, True]


@settings(deadline=None)
@given(st.integers(0, 1000), st.integers(1, 9), st.booleans())
def test_mean_of_the_precisions_is_the_map_of_the_figures(seed, block, ties):
    rng = np.random.default_rng(seed)
    vectors = rng.integers(-1, 2, size=(12, 2)) if ties else rng.normal(size=(12, 3))
    labels = [f"{label}" for label in rng.integers(0, 4, 12)]
    precisions = rank_nearest(vectors, labels, block=block).precisions
    assert np.nanmean(precisions) == pytest.approx(retrieval_scores(vectors, labels).map)


def test_more_depth_than_dialogues_finds_all_others_and_one_alone_finds_none():
    assert rank_nearest(angles(0, 10), ["a", "a"], depth=3).nearest.shape == (2, 1)
    assert rank_nearest(angles(0), ["a"], depth=3).nearest.shape == (1, 0)
    assert rank_nearest(np.zeros((0, 2)), [], depth=3).nearest.shape == (0, 0)
