from __future__ import annotations

import json
import sys
import zipfile
from dataclasses import replace

import numpy as np

from conversations.dialogue import write_dialogues
from dial2vec.files import find_root
from tests.students import save_student

sys.path.insert(0, str(find_root() / "benchmarks"))

import segments


def test_text_tiling_finds_where_the_words_change():
    texts = ["apple pear plum fig"] * 6 + ["car bus tram train"] * 6
    assert segments.text_tiling(texts, np.zeros((12, 2)), sequence=4, block=2) == [6]
    assert segments.turn_tiling(texts, np.zeros((12, 2))) == [6]
    assert segments.vector_tiling(texts, np.repeat(np.eye(2), 6, axis=0)) == [6]
    assert segments.valleys(np.ones(5)) == segments.text_tiling(["a"], np.zeros((1, 2))) == []


def test_a_service_changes_with_the_turn_that_is_answered_by_the_next_service():
    assert segments.changes([["A"], ["A"], ["A", "B"], ["B"], ["B"], ["A"]]) == [2, 5]
    # The user ends B, and the answer is about A again.
    assert segments.changes([["B"], ["B"], ["B", "A"], ["A"]]) == [2]


def test_the_table_has_a_row_per_way_of_cutting(tmp_path, monkeypatch, capsys, dialogue):
    lines = [
        [f"{'ab'[turn % 2]}: w{at % 4 * 10 + turn % 3} w{at % 4 * 10 + 5}" for turn in range(12)] for at in range(60)
    ]
    (tmp_path / "sgd" / "splits").mkdir(parents=True)
    for split in ("test", "dev"):
        made = [dialogue(f"{split}{at}", *own) for at, own in enumerate(lines)]
        write_dialogues(tmp_path / "sgd" / "splits" / f"{split}.jsonl", [replace(one, labels=("x",)) for one in made])
    turns = [{"utterance": f"w{at // 4} w{at // 4 + 20}", "frames": [{"service": str(at // 4)}]} for at in range(8)]
    with zipfile.ZipFile(tmp_path / "sgd.zip", "w") as archive:
        for split in ("dev", "test"):
            archive.writestr(f"x/{split}/dialogues_001.json", json.dumps([{"turns": turns}] * 3))
    options = ["--artifacts", str(tmp_path), "--archive", str(tmp_path / "sgd.zip")]
    options += ["--encoder", save_student(tmp_path / "student")]
    monkeypatch.setattr(sys, "argv", ["segments.py", "sgd", *options])
    segments.main()
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[1] for row in rows[:2]] == ["ours", "TextTiling"]
    assert len(rows) == 11
    assert float(rows[0][2]) > 40
    assert rows[4][1:3] == ["no cuts", "0.0"]
