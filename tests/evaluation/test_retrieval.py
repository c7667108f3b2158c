import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from dial2vec.evaluation.retrieval import retrieval_scores
from tests.evaluation.references import SMALL, labels_for, rescaled, slow_cosine


def slow_scores(vectors, labels):
    precisions, reciprocals = [], []
    for i, label in enumerate(labels):
        others = [j for j in range(len(labels)) if j != i]
        others.sort(key=lambda j: (-slow_cosine(vectors[i], vectors[j]), labels[j] == label))
        ranks = [rank for rank, j in enumerate(others, start=1) if labels[j] == label]
        if ranks:
            precisions.append(np.mean([hits / rank for hits, rank in enumerate(ranks, start=1)]))
            reciprocals.append(1 / ranks[0])
    return precisions, reciprocals


@given(SMALL, st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_map_and_mrr_equal_brute_force_with_ties_and_zero_vectors(vectors, seed):
    labels = labels_for(vectors, seed)
    precisions, reciprocals = slow_scores(vectors, labels)
    found = retrieval_scores(vectors, labels, block=4)
    assert (found.queries, found.left_out) == (len(precisions), len(labels) - len(precisions))
    if precisions:
        assert found.map == pytest.approx(np.mean(precisions))
        assert found.mrr == pytest.approx(np.mean(reciprocals))


def test_without_ties_map_is_scikit_learns():
    rng = np.random.default_rng(0)
    vectors, labels = rng.normal(size=(60, 16)).astype(np.float32), rng.integers(0, 5, 60)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = [
        average_precision_score(np.delete(labels == labels[i], i), np.delete(units @ units[i], i)) for i in range(60)
    ]
    assert retrieval_scores(vectors, labels.tolist()).map == pytest.approx(np.mean(expected))


def test_a_label_that_occurs_once_is_left_out_and_counted_but_still_distracts():
    vectors = np.array([[1, 0], [0.9, 0.1], [0.95, 0.05]], dtype=np.float32)
    scores = retrieval_scores(vectors, ["a", "a", "alone"])
    assert (scores.queries, scores.left_out) == (2, 1)
    assert scores.map == pytest.approx(1 / 2)


def test_no_label_twice_means_no_query_and_no_figure():
    scores = retrieval_scores(np.eye(3, dtype=np.float32), ["a", "b", "c"])
    assert (scores.queries, scores.left_out) == (0, 3)
    assert np.isnan(scores.map)
    assert np.isnan(scores.mrr)


def test_collapsed_vectors_gain_nothing_from_an_input_sorted_by_label():
    labels = ["a"] * 5 + ["b"] * 5
    vectors = np.tile(np.random.default_rng(0).normal(size=(1, 33)), (10, 1)).astype(np.float32)
    # Five of the other label come first, then four hits: (1/6 + 2/7 + 3/8 + 4/9) / 4.
    scores = retrieval_scores(vectors, labels)
    assert scores.map == pytest.approx((1 / 6 + 2 / 7 + 3 / 8 + 4 / 9) / 4)
    assert scores.mrr == pytest.approx(1 / 6)


@given(SMALL, st.integers(0, 99), st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_scale_order_and_label_names_do_not_matter_to_retrieval(vectors, seed, random):
    labels = labels_for(vectors, seed)
    before = retrieval_scores(vectors, labels)
    after = retrieval_scores(*rescaled(vectors, labels, random), block=3)
    assert after.queries == before.queries
    assert after.map == pytest.approx(before.map, nan_ok=True)
    assert after.mrr == pytest.approx(before.mrr, nan_ok=True)
