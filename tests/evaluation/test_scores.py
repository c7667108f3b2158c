import json

import numpy as np
import pytest

from dial2vec.errors import Dial2vecError
from dial2vec.evaluation.clustering import cluster_scores
from dial2vec.evaluation.distribution import uniformity
from dial2vec.evaluation.retrieval import retrieval_scores
from dial2vec.evaluation.scores import score

KEYS = "purity purity_sd spearman spearman_ceiling map mrr ari nmi accuracy alignment adjusted_alignment uniformity"


@pytest.fixture
def some():
    rng = np.random.default_rng(0)
    labels = [f"label {i % 3}" for i in range(30)]
    return (rng.normal(size=(30, 8)) + 2 * np.eye(3, 8)[[i % 3 for i in range(30)]]).astype(np.float32), labels


def test_score_gives_exactly_the_agreed_figures_as_plain_json(some):
    figures = score(*some, runs=2, seed=0)
    assert list(figures) == KEYS.split()
    assert all(type(figure) is float for figure in figures.values())
    assert json.loads(json.dumps(figures, allow_nan=False)) == figures


def test_shares_are_in_points_and_distances_are_raw_all_with_four_decimals(some):
    figures = score(*some, runs=2, seed=5)
    assert figures["purity"] == round(100 * cluster_scores(*some, runs=2, seed=5).purity, 4)
    assert figures["map"] == round(100 * retrieval_scores(*some).map, 4)
    assert figures["uniformity"] == round(uniformity(some[0]), 4)


def test_the_same_seed_gives_the_same_figures(some):
    assert score(*some, runs=3, seed=1) == score(*some, runs=3, seed=1)


def test_zero_vectors_are_scored(some):
    vectors, labels = some
    vectors[:5] = 0
    assert all(np.isfinite(list(score(vectors, labels, runs=1, seed=0).values())))


def test_vectors_that_are_not_finite_are_refused_in_one_sentence():
    vectors = np.array([[1, 2], [1, np.nan], [np.inf, 1]])
    with pytest.raises(Dial2vecError, match=r"2 of 3 vectors hold NaN or infinity.* row 1"):
        score(vectors, ["a", "b", "a"], runs=1, seed=0)
