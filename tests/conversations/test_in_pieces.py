"""A large table read in pieces gives what reading it at once gives."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from conversations import in_pieces
from conversations.dialogue import read_dialogues, write_dialogues
from conversations.in_pieces import read_in_pieces
from conversations.options import Options
from conversations.reading import read_export
from conversations.summary import import_summary


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Pieces of a few dialogues."""
    for name, size in (("LARGE", 100), ("PIECE", 3_000), ("SMALL_PIECE", 1_000), ("HEAD_LINES", 60)):
        monkeypatch.setattr(in_pieces, name, size)


def table(path: Path, rows: list[tuple[str, ...]]) -> Path:
    with path.open("w", newline="") as handle:
        csv.writer(handle).writerows([("call_id", "time", "speaker", "text"), *rows])
    return path


def calls(n: int, *, damaged: int = -1) -> list[tuple[str, ...]]:
    rows = []
    for at in range(n):
        for turn, who in enumerate(("caller", "agent", "caller")):
            text = f'Hello "{at}",\nI said w{at % 7}, twice' if turn == 1 else f"words {at} w{turn}"
            rows.append((f"c{at}", f"2026-01-{1 + at % 28:02d} 10:00:{turn:02d}", who, text))
        if at == damaged:
            rows.append((f"c{at}", "2026-01-01", "agent"))
    return rows


def pieces(path: Path, **options):
    return read_in_pieces(path, path.with_suffix(".jsonl"), Options(), merge_turns=False, spread=map, **options)


@pytest.mark.parametrize("damaged", [-1, 150])
def test_pieces_hold_what_the_whole_table_holds(tmp_path, damaged):
    path = table(tmp_path / "calls.csv", calls(200, damaged=damaged))
    export, whole = pieces(path), read_export(path, Options())
    write_dialogues(tmp_path / "whole.jsonl", whole.result.dialogues)
    assert (tmp_path / "calls.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert export.result.quarantine == whole.result.quarantine
    assert len(export.result.quarantine) == (damaged >= 0)
    assert import_summary(export, None) == import_summary(whole, None)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["calls.csv", "calls.jsonl", "whole.jsonl"]


def test_a_table_with_mixed_dialogues_is_left_to_be_read_at_once(tmp_path):
    rows = calls(200)
    assert pieces(table(tmp_path / "calls.csv", rows[::3] + rows[1::3] + rows[2::3])) is None
    assert [file.name for file in tmp_path.iterdir()] == ["calls.csv"]


def test_pieces_whose_dates_are_read_in_another_way_do_not_fit(tmp_path):
    rows = [
        (name, f"{1 + at // 300:02d}/{1 + at // 60:02d}/2026 10:00", *more)
        for at, (name, _, *more) in enumerate(calls(200))
    ]
    assert pieces(table(tmp_path / "calls.csv", rows)) is None


def test_a_small_file_and_one_of_another_kind_are_left_alone(tmp_path, monkeypatch):
    path = table(tmp_path / "calls.txt", calls(20))
    assert pieces(path) is None
    monkeypatch.setattr(in_pieces, "LARGE", 10**6)
    assert pieces(path.rename(tmp_path / "calls.csv")) is None


def test_a_sample_comes_from_all_over_the_table_and_is_the_same_each_time(tmp_path):
    path = table(tmp_path / "calls.csv", calls(400))
    export, drawn = pieces(path, sample=20), []
    for _ in range(2):
        drawn.append([int(dialogue.dialogue_id[1:]) for dialogue in read_dialogues(tmp_path / "calls.jsonl")])
        pieces(path, sample=20)
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 20
    assert min(drawn[0]) < 100
    assert max(drawn[0]) > 300
    assert export.tally.usable < 200
