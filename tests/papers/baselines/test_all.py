"""What every baseline promises, on forty dialogues of two topics."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from dial2vec.errors import Dial2vecError, ModelError
from dial2vec.evaluation.clustering import cluster_scores
from dial2vec_papers.baselines import (
    BASELINES,
    doc2vec,
    fit_baseline,
    simcse_trained,
    whitening,
    word2vec,
    word_vectors,
)

TOLD_APART = ("lda", "tfidf_svd", "doc2vec", "word_vectors", "word2vec")
SMALL = {
    doc2vec: {"DIMENSIONS": 16, "PASSES": 200},
    word2vec: {"DIMENSIONS": 16, "PASSES": 100},
    simcse_trained: {"MAX_STEPS": 2, "BATCH": 16},
    whitening: {"DIMENSIONS": 8},
}


@pytest.fixture(scope="module")
def options(tiny_folder):
    """What each is given beside dialogues and seed."""
    return {"lda": {"topics": 2}} | {name: {"start": tiny_folder} for name in BASELINES if name not in TOLD_APART}


@pytest.fixture(scope="module", autouse=True)
def small(words):
    """Everything small enough for seconds, though so few words need more passes than thousands of dialogues do."""
    with pytest.MonkeyPatch.context() as patch:
        for module, values in SMALL.items():
            for name, value in values.items():
                patch.setattr(module, name, value)
        patch.setattr(word_vectors, "load_table", lambda: words)
        yield


@pytest.fixture(scope="module", params=BASELINES)
def baseline(request, options, corpus):
    """What fits it, what it gives when it is fitted, and the vectors of the judged by that."""
    train, judged = corpus

    def fit():
        return BASELINES[request.param].fit(train, seed=1, **options.get(request.param, {}))

    encode = fit()
    return fit, encode, encode(judged)


def test_one_finite_float32_row_per_judged_dialogue(baseline, corpus):
    found = baseline[2]
    assert found.shape[0] == len(corpus[1])
    assert found.ndim == 2
    assert found.dtype == np.float32
    assert np.isfinite(found).all()
    assert len(np.unique(found.round(6), axis=0)) > 1


def test_the_same_seed_gives_the_same_vectors_in_any_order_of_the_judged(baseline, corpus):
    order = np.random.default_rng(3).permutation(len(corpus[1]))
    again = baseline[0]()([corpus[1][place] for place in order])
    # Batches of another make-up round differently.
    np.testing.assert_allclose(again, baseline[2][order], rtol=1e-4, atol=1e-5)


def test_a_row_does_not_depend_on_the_other_judged(baseline, corpus):
    np.testing.assert_allclose(baseline[1](corpus[1][:1]), baseline[2][:1], rtol=1e-4, atol=1e-5)


def test_a_fitted_baseline_encodes_again_and_again_and_learns_nothing_from_it(baseline, corpus):
    train, judged = corpus
    baseline[1](train[:3])
    assert baseline[1](judged).tobytes() == baseline[2].tobytes()


@pytest.mark.parametrize("baseline", TOLD_APART, indirect=True)
def test_two_topics_without_a_common_word_are_told_apart(baseline, corpus):
    assert cluster_scores(baseline[2], [one.label for one in corpus[1]], runs=3, seed=0).purity == 1


def test_a_baseline_is_fitted_by_its_name_with_its_own_defaults(corpus):
    train, judged = corpus
    expected = BASELINES["tfidf_svd"].fit(train, seed=1)(judged)
    assert fit_baseline("tfidf_svd", iter(train), seed=1, start="not asked for")(judged).tolist() == expected.tolist()
    assert fit_baseline("lda", train, seed=1, start="not asked for", topics=3)(judged).shape == (10, 3)


def test_an_unknown_name_is_refused_before_a_dialogue_is_read():
    unread = (pytest.fail("was read") for _ in range(1))
    with pytest.raises(
        Dial2vecError, match=r"no baseline 'tfidf'\. Did you mean 'tfidf_svd'\? Valid: lda, tfidf_svd, "
    ):
        fit_baseline("tfidf", unread, seed=1, start="")


def test_a_library_that_is_not_installed_is_named(monkeypatch, corpus):
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(ModelError, match=r"the baseline 'word2vec' needs .+ Install `dial2vec\[baselines\]`"):
        fit_baseline("word2vec", corpus[0], seed=1, start="")


def test_the_registry_imports_nothing_heavy():
    script = (
        "import sys, dial2vec_papers.baselines;"
        "print([m for m in ('torch', 'gensim', 'sklearn', 'sentence_transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
