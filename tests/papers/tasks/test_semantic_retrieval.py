import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dial2vec.collection.search.words import K1, B, bm25_words
from dial2vec.errors import CorpusError
from dial2vec_papers.tasks.intents import Sentences
from dial2vec_papers.tasks.semantic_retrieval import (
    CandidateLists,
    bm25_candidates,
    rank_candidate_lists,
    read_candidate_lists,
    retrieve_sentences,
    with_positives,
)
from tests.papers.tasks.fakes import Hashed, Known, collapsed, reading, slow_cosine


def slow_bm25(texts, query):
    """Lucene's BM25 of every text, term by term."""
    said = [bm25_words(text) for text in texts]
    mean_length = sum(map(len, said)) / len(said)
    scores = []
    for words in said:
        score = 0.0
        for word in said[query]:
            n_with = sum(word in others for others in said)
            weight = math.log(1 + (len(said) - n_with + 0.5) / (n_with + 0.5))
            count = words.count(word)
            score += weight * count / (count + K1 * (1 - B + B * len(words) / mean_length)) if count else 0.0
        scores.append(score)
    return scores


@given(st.sets(st.text("abc ", max_size=8), min_size=2, max_size=12), st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_candidates_have_the_highest_bm25_scores_and_share_a_word(texts, n):
    texts = sorted(texts)
    for query, found in enumerate(bm25_candidates(texts, range(len(texts)), n=n, seed=0)):
        scores = slow_bm25(texts, query)
        others = sorted((score for i, score in enumerate(scores) if i != query and score > 0), reverse=True)
        places = found[found >= 0]
        assert query not in places
        assert len(set(places)) == len(places)
        assert [scores[i] for i in places] == pytest.approx(others[:n], rel=1e-4)


def test_equal_scores_are_drawn_by_the_seed():
    texts = ["card", *(f"card {letter}" for letter in "abcdef")]
    chosen = {tuple(bm25_candidates(texts, [0], n=2, seed=seed)[0]) for seed in range(20)}
    assert len(chosen) > 5
    assert np.array_equal(bm25_candidates(texts, [0], n=2, seed=1), bm25_candidates(texts, [0], n=2, seed=1))


def test_texts_without_words_have_no_candidates():
    assert (bm25_candidates(["?", "!"], [0, 1], n=3, seed=0) == -1).all()


def test_words_have_no_case_and_no_punctuation_at_their_ends():
    assert bm25_words('"Where\'s" my CARD?! 明天，') == ["where's", "my", "card", "明", "天"]


def slow_scores(encode, lists):
    precisions, reciprocals = [], []
    for query, candidates, relevant in zip(lists.queries, lists.candidates, lists.relevant, strict=True):
        there = [(c, r) for c, r in zip(candidates, relevant, strict=True) if c >= 0]
        asked = encode.vector(lists.texts[query])
        there.sort(key=lambda pair: (-slow_cosine(asked, encode.vector(lists.texts[pair[0]])), pair[1]))
        ranks = [rank for rank, (_, hit) in enumerate(there, start=1) if hit]
        if ranks:
            precisions.append(np.mean([hits / rank for hits, rank in enumerate(ranks, start=1)]))
            reciprocals.append(1 / ranks[0])
    return precisions, reciprocals


@given(st.integers(0, 9999))
@settings(max_examples=30, deadline=None)
def test_map_and_mrr_equal_brute_force_with_ties_and_gaps(seed):
    rng = np.random.default_rng(seed)
    texts = tuple(f"text {i}" for i in range(8))
    candidates = np.array([rng.permutation(8)[:5] for _ in range(4)])
    candidates[rng.random(candidates.shape) < 0.3] = -1
    lists = CandidateLists(texts, rng.integers(0, 8, 4), candidates, (candidates >= 0) & (rng.random((4, 5)) < 0.4))
    encode = Hashed()
    precisions, reciprocals = slow_scores(encode, lists)
    if not precisions:
        with pytest.raises(CorpusError, match="none of the 4 queries of toy has a relevant candidate"):
            rank_candidate_lists(reading(encode), lists, data="toy")
        return
    found = rank_candidate_lists(reading(encode), lists, data="toy")
    assert (found.n, found.left_out) == (len(precisions), 4 - len(precisions))
    assert found.figures["map"] == pytest.approx(100 * np.mean(precisions), abs=1e-3)
    assert found.figures["mrr"] == pytest.approx(100 * np.mean(reciprocals), abs=1e-3)
    assert len(encode.asked) == len(set(encode.asked))


def test_retrieval_by_hand():
    encode = Known({"my card": [1, 0], "lost card": [0.9, 0.1], "card fee": [0, 1], "no idea": [1, 1]})
    sentences = Sentences(("my card", "lost card", "card fee", "no idea"), ("lost", "lost", "fee", "none"))
    found = retrieve_sentences(reading(encode), sentences, data="toy", seed=0)
    # "my card" and "lost card" find each other before "card fee"; "card fee" has no other of its intent, "no idea" no
    # candidate at all.
    assert (found.figures, found.n, found.left_out) == ({"map": 100.0, "mrr": 100.0}, 2, 2)
    assert (found.task, found.settings) == ("semantic_retrieval", {"candidates": 100, "limit": None, "seed": 0})
    assert set(found.versions) == {"bm25s", "numpy"}
    assert "no idea" not in encode.asked
    json.dumps(found.to_record())


def test_a_copy_of_a_sentence_is_no_candidate():
    sentences = Sentences(("my card", "my card", "my fee"), ("a", "a", "b"))
    with pytest.raises(CorpusError, match="none of the 2 queries of toy has a relevant candidate; expected some"):
        retrieve_sentences(reading(Hashed()), sentences, data="toy", seed=0)


def test_order_does_not_matter_and_the_limit_takes_some_queries():
    rows = [(f"card {i % 3} word{i} x{i % 5}", f"intent {i % 4}") for i in range(20)]
    encode = Hashed()
    first = retrieve_sentences(reading(encode), Sentences.of(rows), data="toy", seed=3)
    second = retrieve_sentences(reading(encode), Sentences.of(rows[::-1]), data="toy", seed=3)
    assert first.figures == second.figures
    some = retrieve_sentences(reading(encode), Sentences.of(rows), data="toy", limit=6, seed=3)
    assert some.n + some.left_out == 6


def test_collapsed_vectors_get_the_least_there_is():
    candidates = np.array([[1, 2, 3, 4]])
    lists = CandidateLists(tuple("abcde"), np.array([0]), candidates, np.array([[True, False, False, True]]))
    found = rank_candidate_lists(reading(collapsed), lists, data="toy").figures
    assert found == {"map": pytest.approx(100 * (1 / 3 + 2 / 4) / 2, abs=1e-3), "mrr": pytest.approx(100 / 3, abs=1e-3)}


def test_select_lines_are_read(tmp_path):
    (tmp_path / "select.txt").write_text("0\t你好\tgreet\t1,1\t2\n1\t您好\tgreet\t\t\n2\t再见\t\t\t0,1\n")
    lists = read_candidate_lists(tmp_path / "select.txt")
    assert lists.texts == ("你好", "您好", "再见")
    assert lists.queries.tolist() == [0, 1, 2]
    assert lists.candidates.tolist() == [[1, 2], [-1, -1], [0, 1]]
    assert lists.relevant.tolist() == [[True, False], [False, False], [False, False]]
    found = rank_candidate_lists(reading(Known({"你好": [1, 0], "您好": [1, 0.1], "再见": [0, 1]})), lists, data="toy")
    assert (found.task, found.figures, found.left_out) == ("candidate_ranking", {"map": 100.0, "mrr": 100.0}, 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0\ta\tx\t1\n", r"select.txt:1: found 4 cells parted by tabs, expected 5 \(row id, sentence, intent"),
        ("0\ta\tx\t1\t\n2\tb\tx\t0\t\n", r"select.txt:2: found the row id '2', expected 1; rows count from 0"),
        ("0\t\tx\t1\t\n", r"select.txt:1: the sentence is blank, expected a text"),
        ("0\ta\tx\t1;2\t\n", r"select.txt:1: found the candidate '1;2', expected row ids parted by commas"),
        ("0\ta\tx\t\t-1\n", r"select.txt:1: found the candidate '-1', expected row ids"),
        ("0\ta\tx\t1\t\n1\tb\tx\t7\t\n", r"select.txt:2: found the candidate 7, expected ids of other rows, up to 1"),
        ("0\ta\tx\t1\t\n1\tb\tx\t1\t\n", r"select.txt:2: found the candidate 1, expected ids of other rows"),
        ("0\ta\tx\t1\t1\n1\tb\tx\t\t\n", r"select.txt:1: found the candidate 1, .* each positive or negative"),
    ],
)
def test_a_bad_line_of_select_is_named_with_file_and_number(tmp_path, content, message):
    (tmp_path / "select.txt").write_text(content)
    with pytest.raises(CorpusError, match=message):
        read_candidate_lists(tmp_path / "select.txt")


def test_the_relevant_after_the_first_few_are_no_candidates():
    candidates = np.array([[1, 2, 3, 4, 5], [0, 2, 3, -1, -1]])
    relevant = np.array([[True, False, True, True, False], [False, True, False, False, False]])
    lists = CandidateLists(tuple("abcdef"), np.array([0, 1]), candidates, relevant)
    kept = with_positives(lists, 2)
    assert kept.candidates.tolist() == [[1, 2, 3, -1, 5], [0, 2, 3, -1, -1]]
    assert kept.relevant.tolist() == [[True, False, True, False, False], [False, True, False, False, False]]
    encode = Hashed()
    found = rank_candidate_lists(reading(encode), lists, data="toy", positives=2)
    precisions, _ = slow_scores(encode, kept)
    assert found.figures["map"] == pytest.approx(100 * np.mean(precisions), abs=1e-3)
    assert found.settings == {"positives": 2}


def test_of_the_found_sentences_at_most_so_many_are_relevant():
    sentences = Sentences(tuple(f"card {letter}" for letter in "abcdef"), ("x",) * 5 + ("y",))
    found = retrieve_sentences(reading(Hashed()), sentences, data="toy", positives=1, seed=0)
    assert (found.n, found.settings["positives"]) == (5, 1)
    assert found.figures["map"] == found.figures["mrr"]
