"""Averaged word vectors, given and trained, and Doc2Vec."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from dial2vec.errors import ModelError
from dial2vec_papers.baselines import doc2vec, word2vec, word_vectors


@pytest.fixture
def judged(dialogue):
    return [
        dialogue("half", "a: Cat cat?", "b: dog, sun!"),
        dialogue("with an unknown word", "a: dog xyz"),
        dialogue("unknown", "a: xyz"),
    ]


def test_the_mean_over_a_table_of_three_words_by_hand(monkeypatch, judged):
    from gensim import downloader
    from gensim.models import KeyedVectors

    table = KeyedVectors(2)
    table.add_vectors(["cat", "dog", "sun"], np.array([[1, 0], [0, 1], [4, 4]], dtype=np.float32))
    monkeypatch.setattr(downloader, "load", {word_vectors.TABLE: table}.get)
    found = word_vectors.fit([], seed=1)(judged)
    assert found.tolist() == [[1.5, 1.25], [0, 1], [0, 0]]
    assert found.dtype == np.float32


def test_without_a_network_one_sentence_names_the_ways_out(monkeypatch):
    from gensim import downloader

    def unreachable(name):
        raise OSError("no route to host")

    monkeypatch.setattr(downloader, "load", unreachable)
    with pytest.raises(ModelError, match=r"gensim could not fetch.*gensim.downloader.*word2vec"):
        word_vectors.fit([], seed=1)


def test_word2vec_averages_the_vectors_of_its_own_corpus(corpus, dialogue):
    encode = word2vec.fit(corpus[0], seed=1)
    found = encode([dialogue("one", "a: w1"), dialogue("other", "a: w2"), dialogue("both", "a: w1", "b: w2 unknown")])
    np.testing.assert_allclose(found[2], found[:2].mean(axis=0), rtol=1e-5)


@pytest.mark.parametrize("name", ["doc2vec", "word2vec"])
def test_the_vectors_are_the_same_in_every_process(name):
    # Python's own hash, which gensim begins an inference with, is another one in each.
    script = (
        f"from dial2vec import Dialogue, Turn; from dial2vec_papers.baselines import {name}\n"
        "lot = [Dialogue(str(n), (Turn('a', 'red green blue'), Turn('b', f'red n{n % 3}'))) for n in range(9)]\n"
        f"print({name}.fit(lot, seed=1)(lot[:2]).tobytes().hex())"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        )
        for seed in ("1", "2")
    ]
    assert runs[0].stdout == runs[1].stdout != ""


def test_doc2vec_infers_the_same_text_alike_and_another_seed_differently(corpus):
    train, judged = corpus
    once, again = doc2vec.fit(train, seed=1)([judged[0], judged[0]])
    assert once.tolist() == again.tolist()
    assert not np.allclose(once, doc2vec.fit(train, seed=2)(judged[:1])[0])


def test_doc2vec_of_unknown_words_is_finite(corpus, dialogue):
    encode = doc2vec.fit(corpus[0], seed=1)
    assert np.isfinite(encode([dialogue("d", "a: xyz", "b: ...")])).all()
