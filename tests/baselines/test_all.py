"""What every baseline promises, on forty dialogues of two topics."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from dial2vec.baselines import BASELINES
from dial2vec.evaluation.clustering import cluster_scores

TOLD_APART = ("lda", "tfidf_svd", "doc2vec", "word_vectors", "word2vec")


@pytest.fixture(scope="module")
def options(tiny_folder, glove):
    """What each is given beside dialogues and seed: small enough for seconds."""
    return {
        "word_vectors": {"table": glove},
        # So few words need more passes than thousands of dialogues do.
        "doc2vec": {"dimensions": 16, "passes": 200},
        "word2vec": {"dimensions": 16, "passes": 100},
        "encoder_mean": {"start": tiny_folder},
        "simcse": {"start": tiny_folder, "max_steps": 2, "batch_size": 16},
        "whitening": {"start": tiny_folder, "dimensions": 8},
    }


@pytest.fixture(scope="module", params=BASELINES)
def baseline(request, options, corpus):
    """Name, the function of the judged dialogues alone, and what it gives for all of them."""
    train, judged = corpus

    def vectors(dialogues):
        # LDA counts the labels of the judged unless it is told.
        given = options.get(request.param, {"topics": 2} if request.param == "lda" else {})
        return BASELINES[request.param].vectors(train, dialogues, seed=1, **given)

    return request.param, vectors, vectors(judged)


def test_one_finite_float32_row_per_judged_dialogue(baseline, corpus):
    found = baseline[2]
    assert found.shape[0] == len(corpus[1])
    assert found.ndim == 2
    assert found.dtype == np.float32
    assert np.isfinite(found).all()
    assert len(np.unique(found.round(6), axis=0)) > 1


def test_the_same_seed_gives_the_same_vectors_in_any_order_of_the_judged(baseline, corpus):
    order = np.random.default_rng(3).permutation(len(corpus[1]))
    again = baseline[1]([corpus[1][place] for place in order])
    # Batches of another make-up round differently.
    np.testing.assert_allclose(again, baseline[2][order], rtol=1e-4, atol=1e-5)


def test_a_row_does_not_depend_on_the_other_judged(baseline, corpus):
    np.testing.assert_allclose(baseline[1](corpus[1][:1]), baseline[2][:1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("baseline", TOLD_APART, indirect=True)
def test_two_topics_without_a_common_word_are_told_apart(baseline, corpus):
    assert cluster_scores(baseline[2], [one.label for one in corpus[1]], runs=3, seed=0).purity == 1


def test_the_registry_imports_nothing_heavy():
    script = (
        "import sys, dial2vec.baselines;"
        "print([m for m in ('torch', 'gensim', 'sklearn', 'sentence_transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
