from __future__ import annotations

import csv
import io

from dial2vec.dialogue import read_dialogues
from dial2vec.explorer.export import comma_separated, json_lines

from .conftest import dialogues_of


def test_json_lines_read_back_are_the_same_dialogues(tmp_path):
    dialogues = dialogues_of(range(10))
    (tmp_path / "a.jsonl").write_text("".join(json_lines(dialogues)), encoding="utf-8")
    assert list(read_dialogues(tmp_path / "a.jsonl")) == dialogues


def test_csv_has_a_row_per_turn_with_nothing_lost():
    dialogues = dialogues_of(range(10))
    rows = list(csv.DictReader(io.StringIO("".join(comma_separated(dialogues)), newline="")))
    assert len(rows) == 30
    said = [(one.dialogue_id, turn.speaker, turn.text) for one in dialogues for turn in one.turns]
    assert [(row["dialogue_id"], row["speaker"], row["text"]) for row in rows] == said
    assert (rows[0]["date"], rows[0]["labels"], rows[2]["turn"]) == ("2026-01-01", "cards", "3")
