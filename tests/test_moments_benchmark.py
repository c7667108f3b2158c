from __future__ import annotations

import sys

import numpy as np

from dial2vec.collection import add
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.search.turns import open_turns
from dial2vec.dialogue import Dialogue, Turn, write_dialogues
from dial2vec.encoder.loading import load_encoder
from dial2vec.files import find_root

sys.path.insert(0, str(find_root() / "benchmarks"))

import moments


def test_a_multiplied_collection_begins_with_the_real_one_and_finds_in_it(tmp_path, tiny_folder, monkeypatch):
    dialogues = [
        Dialogue(f"d{at}", tuple(Turn("ab"[turn % 2], f"w1 w2 w3 w{at} w5 w6 own{at}x{turn}") for turn in range(4)))
        for at in range(20)
    ]
    write_dialogues(tmp_path / "a.jsonl", dialogues)
    add(tmp_path / "source", tmp_path / "a.jsonl", encoder=load_encoder(str(tiny_folder)))
    source = CollectionFolder(tmp_path / "source")
    monkeypatch.setattr(moments, "PART", 40)
    moments.make(source, tmp_path / "made", 80)
    made = CollectionFolder(tmp_path / "made")
    assert next(made.dialogues([25])).turns == dialogues[5].turns
    assert made.rows["dialogue_id"][25].as_py() == "d5-1"
    real, many = open_turns(source), open_turns(made)
    assert many.record.turns == 4 * real.record.turns
    np.testing.assert_allclose(many.vectors(slice(0, 80)), real.vectors(slice(None)), atol=0.01)
    row = moments.measure(tmp_path / "made", ["own3x1", "own7x2 w1"])
    assert row.startswith("| 80 | 320 |")
    assert "| 1.000 |" in row
