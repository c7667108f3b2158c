from __future__ import annotations

import itertools
import random

import numpy as np

from dial2vec.data.duplicates import nearest_among, shingles, signatures
from tests.conftest import make_dialogue


def jaccard(first, second):
    a, b = set(shingles(first)), set(shingles(second))
    return len(a & b) / len(a | b)


def family(n, *, seed=0):
    """One dialogue of 60 words and n versions of it, each with more words changed than the one before."""
    draw = random.Random(seed)
    words = [f"w{draw.randrange(10_000)}" for _ in range(60)]
    versions = []
    for changed in range(n):
        own = list(words)
        for place in draw.sample(range(60), changed):
            own[place] = f"x{seed}-{changed}-{place}"
        versions.append(make_dialogue(f"{seed}/{changed}", "a: " + " ".join(own[:30]), "b: " + " ".join(own[30:])))
    return versions


def test_shingles_are_word_triples_without_capitals_and_blanks():
    assert shingles(make_dialogue("d", "a: One  two", "b: three FOUR")) == ["one two three", "two three four"]
    assert shingles(make_dialogue("d", "a: Hi", "b: you")) == ["hi you"]


def test_equal_entries_estimate_the_jaccard_similarity():
    dialogues = [one for seed in range(20) for one in family(6, seed=seed)]
    signed = signatures(dialogues)
    errors = []
    for first, second in itertools.combinations(range(6), 2):
        for base in range(0, 120, 6):
            estimate = (signed[base + first] == signed[base + second]).mean()
            errors.append(estimate - jaccard(dialogues[base + first], dialogues[base + second]))
    assert abs(np.mean(errors)) < 0.01
    assert np.std(errors) < 0.05


def test_signatures_do_not_depend_on_the_blocks(monkeypatch):
    dialogues = family(20)
    whole = signatures(dialogues)
    monkeypatch.setattr("dial2vec.data.duplicates.BLOCK", 3)
    np.testing.assert_array_equal(signatures(dialogues), whole)
    assert signatures([]).shape == (0, 126)


def test_nearest_is_found_as_by_comparing_all():
    dialogues = [one for seed in range(30) for one in family(4, seed=seed)]
    signed = signatures(dialogues)
    queries, among = np.arange(0, 120, 4), np.flatnonzero(np.arange(120) % 4)
    found, similar = nearest_among(signed, queries, among, similarity=0.7)
    for row, query in enumerate(queries):
        equal = (signed[query] == signed[among]).mean(axis=1)
        assert (found[row] >= 0) == (equal.max() >= 0.7)
        if found[row] >= 0:
            assert similar[row] == equal.max()
            assert dialogues[found[row]].dialogue_id.split("/")[0] == dialogues[query].dialogue_id.split("/")[0]


def test_nothing_near_is_nothing_found():
    signed = signatures([*family(1, seed=1), *family(1, seed=2)])
    found, similar = nearest_among(signed, np.array([0]), np.array([1]), similarity=0.8)
    assert (found.tolist(), similar.tolist()) == ([-1], [0.0])
    assert nearest_among(signed, np.array([0]), np.zeros(0, np.int64), similarity=0.8)[0].tolist() == [-1]


def test_one_changed_character_of_a_chinese_dialogue_is_a_copy():
    said = "您好我的银行卡昨天在超市丢了请问现在应该怎么办才能尽快补办一张新的卡谢谢您的帮助"
    one, other = make_dialogue("1", f"a: {said}"), make_dialogue("2", f"a: {said[:-1]}忙")
    assert jaccard(one, other) > 0.9
    assert nearest_among(signatures([one, other]), np.array([0]), np.array([1]), similarity=0.8)[0].tolist() == [1]


def test_equal_dialogues_are_found_in_a_crowd_that_shares_most_of_their_words():
    shared = " ".join(f"w{n}" for n in range(200))
    crowd = [make_dialogue(f"d{i}", f"a: {shared}", f"b: own {i} words {i * 7}") for i in range(400)]
    signed = signatures([*crowd, *crowd[:20]])
    found, similar = nearest_among(signed, np.arange(400, 420), np.arange(400), similarity=1.0)
    assert found.tolist() == list(range(20))
    assert (similar == 1.0).all()
