from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np

from conversations.dialogue import write_dialogues
from dial2vec.encoder.nearest import unit_rows
from dial2vec.files import find_root

sys.path.insert(0, str(find_root() / "benchmarks"))

import groups


def test_the_table_compares_the_same_vectors_and_the_levels_nest(tmp_path, monkeypatch, capsys, dialogue):
    dialogues = [replace(dialogue(f"d{at}", "a: hi", "b: ho"), labels=("abc"[at % 3],)) for at in range(90)]
    (tmp_path / "calls" / "splits").mkdir(parents=True)
    for split in ("test", "dev"):
        write_dialogues(
            tmp_path / "calls" / "splits" / f"{split}.jsonl", dialogues if split == "test" else [dialogue("u", "a: hi")]
        )
    vectors = unit_rows(np.eye(6)[[at % 3 for at in range(90)]] + 0.1 * np.random.default_rng(1).normal(size=(90, 6)))

    class Fake:
        def encode(self, given):
            assert [one.dialogue_id for one in given] == [one.dialogue_id for one in dialogues]
            return vectors

    monkeypatch.setattr(groups, "load_encoder", lambda name: Fake())
    monkeypatch.setattr(sys, "argv", ["groups.py", "calls", "--artifacts", str(tmp_path)])
    groups.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("| calls | start | communities | 3 | 100.0 | 100.0 | 1.000 | 0.0% |")
    assert lines[3].startswith("| calls | start | k-means, true k | 3 | 100.0 | 100.0 |")
    assert lines[-2] == "calls, start: 3 areas, 3 topics, 3 fine topics; nested: True"


def test_outliers_are_counted_and_are_no_group():
    def way(units, texts, seed):
        return np.array([0, 0, 1, -1])

    cells = groups.row("c", "start", "x", way, np.eye(4, dtype=np.float32), [], ["a", "a", "b", "b"]).split(" | ")
    assert (cells[3], cells[7]) == ("2", "25.0%")
