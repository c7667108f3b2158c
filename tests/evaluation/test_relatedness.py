import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from dial2vec.evaluation.relatedness import spearman, spearman_ceiling, spearman_of_partners
from tests.evaluation.references import SMALL, labels_for, rescaled, slow_cosine


def slow_mean(similarity, labels):
    """Scipy's Spearman per query; `similarity(i, j)` may be anything."""
    found, n = [], len(labels)
    for i in range(n):
        others = [j for j in range(n) if j != i]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = spearmanr([similarity(i, j) for j in others], [labels[i] == labels[j] for j in others]).statistic
        found.append(0.0 if np.isnan(value) else float(value))
    return float(np.mean(found))


def slow_spearman(vectors, labels):
    return slow_mean(lambda i, j: slow_cosine(vectors[i], vectors[j]), labels)


@given(SMALL, st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_spearman_is_scipys_per_query_with_ties_and_zero_vectors(vectors, seed):
    labels = labels_for(vectors, seed)
    assert spearman(vectors, labels, block=4) == pytest.approx(slow_spearman(vectors, labels), abs=1e-9)


def test_spearman_is_scipys_on_real_valued_vectors_with_a_label_that_occurs_once():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(60, 16)).astype(np.float32)
    labels = ["alone", *rng.integers(0, 5, 59).astype(str).tolist()]
    assert spearman(vectors, labels) == pytest.approx(slow_spearman(vectors, labels), abs=1e-9)


def test_partners_are_scipys_spearman_over_one_other_dialogue_for_each():
    rng = np.random.default_rng(0)
    vectors, labels = rng.normal(size=(60, 16)).astype(np.float32), rng.integers(0, 3, 60).tolist()
    partners = [(place + step) % 60 for place, step in enumerate(np.random.default_rng(4).integers(1, 60, size=60))]
    assert all(partner != place for place, partner in enumerate(partners))
    cosines = [slow_cosine(vectors[place], vectors[partner]) for place, partner in enumerate(partners)]
    same = [labels[place] == labels[partner] for place, partner in enumerate(partners)]
    expected = spearmanr(cosines, same).statistic
    assert spearman_of_partners(vectors, labels, seed=4) == pytest.approx(expected, abs=1e-9)
    many = spearman_of_partners(vectors, labels, seed=4, draws=3)
    assert many != pytest.approx(expected)
    assert many == spearman_of_partners(vectors, labels, seed=4, draws=3)


def test_partners_of_identical_vectors_or_of_one_label_count_as_no_correlation():
    assert spearman_of_partners(np.ones((5, 3), np.float32), list("aabbc"), seed=0) == 0
    assert spearman_of_partners(np.eye(5, dtype=np.float32), list("aaaaa"), seed=0) == 0


def test_block_size_does_not_matter():
    rng = np.random.default_rng(0)
    vectors, labels = rng.normal(size=(50, 8)).astype(np.float32), rng.integers(0, 4, 50).tolist()
    assert spearman(vectors, labels, block=7) == pytest.approx(spearman(vectors, labels, block=50), abs=1e-12)


def test_identical_vectors_count_as_no_correlation():
    vectors = np.tile(np.random.default_rng(0).normal(size=(1, 33)), (20, 1)).astype(np.float32)
    assert spearman(vectors, ["a", "b"] * 10) == 0


@given(SMALL, st.integers(0, 99), st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_scale_order_and_label_names_do_not_matter(vectors, seed, random):
    labels = labels_for(vectors, seed)
    assert spearman(*rescaled(vectors, labels, random)) == pytest.approx(spearman(vectors, labels), abs=1e-9)


@given(st.lists(st.integers(0, 4), min_size=3, max_size=25))
@settings(max_examples=40, deadline=None)
def test_ceiling_is_scipys_spearman_of_a_perfect_strict_ranking(labels):
    perfect = slow_mean(lambda i, j: 1000 * (labels[i] == labels[j]) - j, labels)
    assert spearman_ceiling(labels) == pytest.approx(perfect, abs=1e-9)


def test_ceiling_is_reached_by_separated_labels_and_by_no_mixed_ones():
    rng = np.random.default_rng(0)
    labels = ["a"] * 10 + ["b"] * 20 + ["c"] * 5
    centres = {"a": [9, 0, 0], "b": [0, 9, 0], "c": [0, 0, 9]}
    vectors = np.array([centres[label] for label in labels]) + rng.normal(size=(35, 3)) * 0.1
    assert spearman(vectors.astype(np.float32), labels) == pytest.approx(spearman_ceiling(labels))
    mixed = rng.normal(size=(35, 3)).astype(np.float32)
    assert spearman(mixed, labels) < spearman_ceiling(labels)


def test_ceiling_of_many_labels_is_far_below_one():
    assert spearman_ceiling([i % 20 for i in range(1331)]) == pytest.approx(0.374, abs=0.002)
