from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dial2vec.errors import CorpusError
from dial2vec_papers.tasks.inference import Inferences, infer_sentences, read_inferences
from tests.papers.tasks.fakes import Hashed, Known, collapsed, reading, slow_cosine


@given(st.integers(0, 99))
@settings(max_examples=10, deadline=None)
def test_accuracy_equals_brute_force_with_ties(seed):
    rng = np.random.default_rng(seed)
    texts = [[f"text {number}" for number in rng.integers(0, 9, 12)] for _ in range(3)]
    encode, right = Hashed(), 0
    for sentence, follows, contradicts in zip(*texts, strict=True):
        near, far = (slow_cosine(encode.vector(sentence), encode.vector(other)) for other in (follows, contradicts))
        right += near > far
    found = infer_sentences(reading(encode), Inferences(*map(tuple, texts)), data="toy")
    assert (found.task, found.n) == ("inference", 12)
    assert found.figures == {"accuracy": pytest.approx(100 * right / 12, abs=1e-3)}


def test_by_hand_and_equal_vectors_score_nothing():
    encode = Known({"i have a dog": [1, 0], "i own a pet": [1, 0.5], "i have no pets": [1, 1]})
    one = Inferences(("i have a dog",), ("i own a pet",), ("i have no pets",))
    assert infer_sentences(reading(encode), one, data="toy").figures == {"accuracy": 100.0}
    assert infer_sentences(reading(collapsed), one, data="toy").figures == {"accuracy": 0.0}


PAIRS = [
    {"sentence1": "a", "sentence2": "b", "label": "positive"},
    {"sentence1": "a", "sentence2": "c", "label": "neutral"},
    {"sentence1": "a", "sentence2": "d", "label": "negative"},
    {"sentence1": "a", "sentence2": "e", "label": "negative"},
    {"sentence1": "f", "sentence2": "g", "label": "positive"},
]


def test_lines_and_labelled_pairs_of_three_corpora(tmp_path):
    expected = Inferences(("a",), ("b",), ("d",))
    (tmp_path / "all.txt").write_text("a\tb\td\n")
    (tmp_path / "dnli.json").write_text(json.dumps(PAIRS))
    (tmp_path / "dnli.jsonl").write_text("\n".join(map(json.dumps, PAIRS)) + "\n\n")
    labels = {"positive": "entailment", "negative": "contradiction", "neutral": "-"}
    snli = [
        {key: pair[key] for key in ("sentence1", "sentence2")} | {"gold_label": labels[pair["label"]]} for pair in PAIRS
    ]
    (tmp_path / "snli.jsonl").write_text("\n".join(map(json.dumps, snli)))
    for name in ("all.txt", "dnli.json", "dnli.jsonl", "snli.jsonl"):
        assert read_inferences(tmp_path / name) == expected


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "a\tb\n", r"a\.txt:1: found 2 cells parted by tabs, expected 3"),
        ("a.txt", "a\t\tb\n", r"a\.txt:1: found a blank sentence, expected three"),
        ("a.jsonl", "{}\n", r"a\.jsonl: pair 1 is an object with no keys; expected sentence1, sentence2"),
        ("a.jsonl", "\n[", r"a\.jsonl is not JSON"),
        ("a.jsonl", "3\n", r"a\.jsonl: pair 1 is a number \(3\); expected"),
        ("a.json", '[{"sentence1": "a", "sentence2": "b", "label": "maybe"}]', r"pair 1 has the label 'maybe'"),
        ("a.json", "[]", "has no sentence with both a pair that follows and one that contradicts"),
        ("a.jsonl", '{"sentence1"\n', r"a\.jsonl is not JSON"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(CorpusError, match=message):
        read_inferences(tmp_path / name)


def test_a_missing_file_and_one_that_is_not_utf_8_are_said(tmp_path):
    with pytest.raises(CorpusError, match=r"no\.json does not exist; expected labelled pairs"):
        read_inferences(tmp_path / "no.json")
    (tmp_path / "a.json").write_bytes(b"[\xff]")
    with pytest.raises(CorpusError, match="is not UTF-8"):
        read_inferences(tmp_path / "a.json")
