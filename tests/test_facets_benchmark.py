from __future__ import annotations

import argparse
import json
import sys
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from conversations.dialogue import write_dialogues
from dial2vec.collection.facets.likeness import Likeness
from dial2vec.files import find_root

sys.path.insert(0, str(find_root() / "benchmarks"))

import facets


@pytest.fixture
def labelled():
    """Six labels, each in a direction of its own; two dialogues of two turns per label, the second turn is of none."""
    units = np.eye(7, dtype=np.float32)
    turns = np.concatenate([units[[label, 6]] for label in (*range(6), *range(6), 6)])
    return facets.Labelled("tiny", turns, np.arange(0, 27, 2), units[:6], np.array([*range(6), *range(6), -1]))


def test_a_question_about_some_labels_leaves_the_others_to_none(labelled):
    some = labelled.asked(np.array([4, 1]))
    np.testing.assert_array_equal(some.descriptions, labelled.descriptions[[4, 1]])
    assert some.gold.tolist() == [-1, 1, -1, -1, 0, -1, -1, 1, -1, -1, 0, -1, -1]
    rest = some.where(np.flatnonzero(some.gold >= 0))
    assert (rest.gold.tolist(), rest.starts.tolist()) == ([1, 0, 1, 0], [0, 2, 4, 6, 8])
    np.testing.assert_array_equal(rest.units[:2], labelled.units[2:4])


def test_figures_count_false_nones_and_false_claims_apart():
    chances = np.array([[0.7, 0.2, 0.1], [0.3, 0.2, 0.5], [0.1, 0.6, 0.3], [0.1, 0.1, 0.8]])
    with_label, right, false_none, false_claims, auroc, _ = facets.figures(chances, np.array([0, 0, -1, -1]))
    assert (with_label, right, false_none, false_claims) == (100, 50, 50, 50)
    # Of the pairs with and without a label (0.1, 0.5 against 0.3, 0.8), three of four are in order.
    assert auroc == 75


def test_calibration_error_is_the_mean_gap_over_bins():
    confidence, right = np.repeat([0.6, 0.9], 50), np.repeat([True, False], 50)
    assert facets.calibration_error(confidence, right) == pytest.approx(100 * (0.4 + 0.9) / 2)


def test_sets_are_read_once_and_bookings_are_asked_how_they_ended(tmp_path, monkeypatch, dialogue):
    """Words are directions; each of sgd's dialogues says its topic, and "booked" or "failed" if a booking ended so."""
    words = {}

    class Fake:
        def encode_utterances(self, texts, *, batch_size):
            rows = np.zeros((len(texts), 400), dtype=np.float32)
            for row, text in enumerate(texts):
                for word in text.split():
                    rows[row, words.setdefault(word, len(words))] = 1
            return rows

    monkeypatch.setattr(facets, "load_encoder", lambda name: Fake())
    monkeypatch.setattr(facets, "EXAMPLES", (1,))
    acts, dialogues = [], []
    for topic, (label, *_) in facets.TOPICS["sgd"].items():
        for number, (end, act) in enumerate(zip(facets.ENDS, ("NOTIFY_SUCCESS", "NOTIFY_FAILURE"), strict=True)):
            name = f"{label}-{number}"
            dialogues.append(replace(dialogue(f"test/{name}", f"a: {topic}", f"b: {end}"), labels=(label,)))
            acts.append({"dialogue_id": name, "turns": [{"frames": [{"actions": [{"act": act}]}]}, {"frames": [{}]}]})
    (tmp_path / "sgd" / "splits").mkdir(parents=True)
    write_dialogues(tmp_path / "sgd" / "splits" / "test.jsonl", dialogues)
    write_dialogues(tmp_path / "sgd" / "splits" / "dev.jsonl", dialogues[:1])
    with zipfile.ZipFile(tmp_path / "sgd.zip", "w") as archive:
        archive.writestr("sgd/test/dialogues_001.json", json.dumps(acts))
        archive.writestr("sgd/dev/dialogues_001.json", "[]")
    options = argparse.Namespace(artifacts=tmp_path, vectors=tmp_path / "vectors", sgd=tmp_path / "sgd.zip")
    labelled = facets.read("sgd", options)
    assert np.bincount(labelled.gold)[1:].tolist() == [2] * 18
    with monkeypatch.context() as patch:
        patch.setattr(facets, "load_encoder", None)
        np.testing.assert_array_equal(facets.read("sgd", options).units, labelled.units)
    assert [cells for _, cells in facets.ends(labelled, options)] == ["100.0 | 0.0 | 100.0"] * 2


def test_a_mean_leaves_out_what_cannot_be_counted():
    assert facets.shown([[1.0, np.nan, np.nan], [2.0, 3.0, np.nan]]) == "1.5 | 3.0 | -"


def test_the_limit_of_the_nearest_turn_balances_both_errors():
    cosines = np.array([[0.8], [0.6], [0.4], [0.2], [0.55], [0.1]])
    alike = Likeness(cosines, cosines, np.zeros(cosines.shape, dtype=np.int32))
    case = facets.Case("tiny", "part", alike, np.array([0, 0, 0, -1, -1, -1]))
    # Above 0.4 and up to 0.55, one of three is lost on either side.
    assert 0.4 < facets.limit_of([case]) <= 0.55


def test_the_fit_separates_labels_from_none_and_examples_are_not_judged(labelled, monkeypatch):
    cases = [facets.case_of("part", labelled.asked(np.array([0, 1]))), facets.absent(labelled, labelled)]
    level = facets.fitted(cases[:1])
    chances = facets.probabilities(cases[0].alike, level)
    assert facets.figures(chances, cases[0].gold)[1] == 100
    monkeypatch.setattr(facets, "EXAMPLES", (1,))
    assert facets.with_examples(labelled.where(np.arange(12)), 1, seed=0) == [100, 0]
