import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dial2vec.evaluation.report.examples import NearestDialogues, choose_examples, rank_nearest
from dial2vec.evaluation.retrieval import retrieval_scores


def angles(*degrees):
    return np.array([[np.cos(np.radians(d)), np.sin(np.radians(d))] for d in degrees])


def rankings(precisions, found=None, cosines=None):
    n = len(precisions)
    return NearestDialogues(
        np.array(precisions, dtype=float),
        np.array(found if found is not None else [[(i + 1) % n] for i in range(n)]),
        np.array(cosines if cosines is not None else [[0.5]] * n),
    )


def chosen(examples, why):
    return [example.query for example in examples if example.why == why]


def test_ranking_finds_the_nearest_first_and_never_the_query():
    ranked = rank_nearest(angles(0, 10, 30, 70), ["a", "b", "a", "b"], depth=2)
    assert ranked.nearest.tolist() == [[1, 2], [0, 2], [1, 0], [2, 1]]
    assert ranked.cosines[0] == pytest.approx([np.cos(np.radians(10)), np.cos(np.radians(30))])
    # The other "a" comes second to the first query; the other "b" third to the second.
    assert ranked.precisions == pytest.approx([1 / 2, 1 / 3, 1 / 2, 1 / 2])


def test_a_query_that_cannot_hit_has_no_precision():
    assert np.isnan(rank_nearest(angles(0, 10, 30), ["a", "a", "b"]).precisions).tolist() == [False, False, True]


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


def test_greatest_gains_and_losses_come_first_and_equals_in_order():
    start, trained = rankings([0.5, 0.5, 0.5, 0.5, 0.5]), rankings([0.6, 0.9, 0.2, 0.6, 0.4])
    examples = choose_examples(start, trained, ["a"] * 5, changed=2)
    assert chosen(examples, "gained") == [1, 0]
    assert chosen(examples, "lost") == [2, 4]


def test_a_query_without_gain_is_neither_gained_nor_lost():
    same = rankings([0.5, float("nan"), 0.5])
    assert choose_examples(same, same, ["a", "b", "a"], wrong=0) == []


def test_confident_errors_are_those_of_the_highest_cosine_and_a_mutual_pair_counts_once():
    found = [[1], [0], [3], [4], [2]]
    trained = rankings([0.5] * 5, found, [[0.9], [0.9], [0.7], [0.8], [0.1]])
    # Queries 0 and 1 find each other; query 3 finds its own label; query 2 does not.
    examples = choose_examples(rankings([0.5] * 5), trained, ["a", "b", "a", "b", "b"])
    assert chosen(examples, "confident and wrong") == [0, 2]


def test_an_error_that_could_not_be_avoided_or_is_shown_already_is_no_example():
    trained = rankings([float("nan"), 0.9, 0.5], [[1], [0], [0]], [[0.9], [0.9], [0.2]])
    examples = choose_examples(rankings([float("nan"), 0.5, 0.5]), trained, ["a", "b", "b"])
    assert [(example.query, example.why) for example in examples] == [(1, "gained"), (2, "confident and wrong")]
