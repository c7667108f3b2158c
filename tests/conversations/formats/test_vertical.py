"""Rows with a line per column."""

from __future__ import annotations

from conversations.options import Options
from conversations.reading import read_export

STARS = "*" * 27


def test_rows_of_databases_with_a_line_per_column_are_read(tmp_path):
    rows = [("17", "Kim", "Hello you\nNote: it is late"), ("17", "Ann", "My card: lost"), ("18", "Bo", "Is it paid?")]
    mysql = "".join(
        f"{STARS} {at}. row {STARS}\ncall_id: {call}\n sender: {name}\nmessage: {text}\n"
        for at, (call, name, text) in enumerate(rows, start=1)
    )
    psql = "".join(
        f"-[ RECORD {at} ]-----\ncall_id | {call}\nsender  | {name}\nmessage | {text}\n"
        for at, (call, name, text) in enumerate(rows, start=1)
    )
    for content in (mysql + "3 rows in set (0.01 sec)\n", psql + "\n"):
        (tmp_path / "t.txt").write_text(content)
        result = read_export(tmp_path / "t.txt", Options()).result
        assert {item.dialogue_id: [(turn.speaker, turn.text) for turn in item.turns] for item in result.dialogues} == {
            "17": [("Kim", "Hello you\nNote: it is late"), ("Ann", "My card: lost")],
            "18": [("Bo", "Is it paid?")],
        }
