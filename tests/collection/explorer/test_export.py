from __future__ import annotations

import csv
import io

import pytest

from conversations.dialogue import Dialogue, Turn, read_dialogues
from conversations.options import Options
from conversations.reading import read_export
from dial2vec.collection.formulas import comma_separated, json_lines

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
    assert (rows[0]["date"], rows[0]["labels"]) == ("2026-01-01", "cards")


def test_csv_is_imported_as_the_same_dialogues(tmp_path):
    dialogues = dialogues_of(range(10))
    (tmp_path / "a.csv").write_text("".join(comma_separated(dialogues)), encoding="utf-8", newline="")
    found = read_export(tmp_path / "a.csv", Options()).result.dialogues
    assert [(one.dialogue_id, one.turns, one.labels) for one in found] == [
        (one.dialogue_id, one.turns, one.labels) for one in dialogues
    ]
    assert [one.moment for one in found] == [one.moment for one in dialogues]


@pytest.mark.parametrize("said", ['=HYPERLINK("http://x","y")', "+1", "-yes", "@all", "\tx"])
def test_no_cell_is_a_formula(said):
    rows = list(csv.reader(io.StringIO("".join(comma_separated([Dialogue(said, (Turn(said, said),))])), newline="")))
    assert all(cell.startswith("'") for cell in (rows[1][0], rows[1][-1]))
