"""The baselines that count words: their vocabulary, LDA, TF-IDF with SVD."""

from __future__ import annotations

import numpy as np
import pytest

from dial2vec.errors import CorpusError
from dial2vec_papers.baselines import lda, tfidf_svd
from dial2vec_papers.baselines.text import lower_words, vocabulary


def test_words_are_lower_case_without_punctuation_and_one_by_one_where_no_blank_parts_them(dialogue):
    assert lower_words(dialogue("d", "a: See you 明天!", "b: SEE you, 2 p.m.")) == [
        *("see", "you", "明", "天"),
        *("see", "you", "2", "p", "m"),
    ]


def test_the_vocabulary_is_what_two_dialogues_share_and_not_more_than_the_share_asked_for(dialogue):
    train = [dialogue(str(n), f"a: the {word} {n}") for n, word in enumerate(["cat", "dog", "cat", "dog"])]
    assert vocabulary(train) == ["cat", "dog", "the"]
    assert vocabulary(train, at_most=0.5) == ["cat", "dog"]


@pytest.mark.parametrize("train", [[], ["a: one"], ["a: one", "a: two"], ["a: ?", "a: ?"]])
def test_dialogues_that_share_no_word_are_refused(dialogue, train):
    with pytest.raises(CorpusError, match=f"the {len(train)} training dialogues share no word"):
        vocabulary([dialogue(str(n), line) for n, line in enumerate(train)])


def test_the_largest_topic_is_the_label_of_the_toy_corpus(corpus):
    train, judged = corpus
    shares = lda.fit(train, seed=1, topics=2)(judged)
    assert shares.shape == (len(judged), 2)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
    topics, labels = shares.argmax(axis=1), [one.label for one in judged]
    assert len(set(zip(topics.tolist(), labels, strict=True))) == 2
    assert topics.dtype == np.int64


def test_lda_has_as_many_topics_as_it_is_given_else_fifty(corpus):
    assert lda.fit(corpus[0], seed=1, topics=3)(corpus[1]).shape == (10, 3)
    assert lda.fit(corpus[0], seed=1)(corpus[1]).shape == (10, 50)


def test_tfidf_and_its_svd_are_numpys(monkeypatch, dialogue):
    train = [dialogue(str(n), f"a: {text}") for n, text in enumerate(["cat cat dog", "dog sun", "cat sun sun", "cat"])]
    # Words: cat in three of four dialogues, dog and sun in two; smoothed idf, 1 + ln of the count.
    idf = 1 + np.log(5 / (1 + np.array([3, 2, 2])))
    counts = np.array([[2, 1, 0], [0, 1, 1], [1, 0, 2], [1, 0, 0]])
    weights = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0) * idf
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    left, sizes, _ = np.linalg.svd(weights, full_matrices=False)
    monkeypatch.setattr(tfidf_svd, "DIMENSIONS", 2)
    found = tfidf_svd.fit(train, seed=1)(train)
    assert found.shape == (4, 2)
    np.testing.assert_allclose(np.abs(found), np.abs(left * sizes)[:, :2], atol=1e-5)


def test_the_svd_takes_no_more_dimensions_than_there_are(corpus):
    assert tfidf_svd.fit(corpus[0], seed=1)(corpus[1]).shape == (10, 30)


def test_a_dialogue_of_unknown_words_gets_zeros(corpus, dialogue):
    assert not tfidf_svd.fit(corpus[0], seed=1)([dialogue("d", "a: nothing known")]).any()
