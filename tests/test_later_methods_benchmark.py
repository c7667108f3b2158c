"""The pairs of benchmarks/studies/later_methods.py and their cosines, by hand, and a study of tiny sizes."""

from __future__ import annotations

import argparse
import json

import numpy as np
import torch

import later_methods
from conversations.dialogue import write_dialogues
from dial2vec.config import EncoderSettings, Settings
from dial2vec.encoder import DialogueEncoder
from dial2vec.pipeline.artifacts import Artifacts
from tests.conftest import make_dialogue


def test_cosines_fall_with_the_distance_and_are_0_the_other_way_round():
    dialogues = [make_dialogue("a", "a: w1", "b: w2", "a: w3"), make_dialogue("b", "a: w4", "b: w5")]
    rows, targets = later_methods.distances(dialogues, seed=1)
    assert rows[:4].tolist() == [[0, 3], [0, 5], [2, 5], [6, 9]]
    np.testing.assert_allclose(targets[:4], [0.8, 0.6, 0.8, 0.8])
    assert rows[4:8].tolist() == [[2, 1], [4, 1], [4, 3], [8, 7]]
    assert rows[8:, 0].tolist() == [0, 0, 2, 6]
    assert set(rows[8:, 1] % 2) == {1}
    assert not targets[4:].any()
    assert [turn.text for turn in later_methods.marks(dialogues[1].turns)] == [
        *("[before] w4", "[after] w4", "[before] w5", "[after] w5")
    ]


def test_each_row_is_computed_once_and_the_encoders_are_kept(tiny_folder, tmp_path):
    calls = [
        make_dialogue(f"d{i}", *(f"{'ab'[t % 2]}: w{(3 * i + t) % 9} w{i % 9} w1 w2" for t in range(6)), labels=("x",))
        for i in range(30)
    ]
    for split in ("train", "test"):
        path = Artifacts(tmp_path, "calls").split(split)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_dialogues(path, calls)
    results = tmp_path / "rows.jsonl"
    arguments = argparse.Namespace(corpora=["calls"], seeds=[1], results=results)
    settings = Settings(encoder=EncoderSettings(name=tiny_folder))
    later_methods.measure_all(arguments, tmp_path, settings)
    later_methods.measure_all(arguments, tmp_path, settings)
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    assert [row["way"] for row in rows] == [
        f"{way}, {reading}" for way in later_methods.METHODS for reading in later_methods.READINGS
    ]
    assert [len(row["losses"]) for row in rows] == [0, 0, 2, 2, 2, 2]
    before = next(DialogueEncoder.from_pretrained(tiny_folder).parameters())
    for way, is_base in (("base_encoder", True), ("distance", False), ("no_negatives", False)):
        saved = DialogueEncoder.from_pretrained(tmp_path / "artifacts" / "later_methods" / f"calls-{way}-1" / "encoder")
        assert torch.equal(next(saved.parameters()), before) == is_base
