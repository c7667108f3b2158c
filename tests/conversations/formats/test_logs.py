"""Logs of programs, with named values or with levels before the speakers."""

from __future__ import annotations

import pytest

from tests.conversations.exports import imported

SAID = [("User", "Hello you"), ("Bot", "Yes: what?"), ("User", "My card")]


def test_named_values_are_rows_and_other_lines_are_quarantined(tmp_path):
    lines = [
        f'2024-03-01T10:00:0{at}Z level=info chat_id=17 role={who} msg="{text}"' for at, (who, text) in enumerate(SAID)
    ]
    result = imported(
        tmp_path, "t.log", "\n".join(["starting up", *reversed(lines)]).replace("Hello you", 'Say \\"hello\\"')
    )
    [dialogue] = result.dialogues
    assert [turn.speaker for turn in dialogue.turns] == ["User", "Bot", "User"]
    assert (dialogue.dialogue_id, dialogue.turns[0].text) == ("17", 'Say "hello"')
    assert dialogue.date == "2024-03-01T10:00:00+00:00"
    assert [item.origin.line for item in result.quarantine] == [1]


@pytest.mark.parametrize(
    "before",
    [
        "2024-03-01 10:00:0{},123 - chat.app - INFO - ",
        "[2024-03-01 10:00:0{}] [INFO] ",
        "2024-03-01T10:00:0{}.123Z INFO ",
        "2024-03-01 10:00:0{}.123 | INFO     | app.chat:run:12 - ",
    ],
)
def test_levels_of_a_log_are_no_part_of_names(tmp_path, before):
    lines = [f"{before.format(at)}{who}: {text}" for at, (who, text) in enumerate(SAID)]
    lines.insert(1, f"{before.format(0)}tokens used".replace("INFO", "DEBUG"))
    [dialogue] = imported(tmp_path, "t.log", "\n".join(lines)).dialogues
    assert [(turn.speaker, turn.text) for turn in dialogue.turns] == SAID


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
        result = imported(tmp_path, "t.txt", content)
        assert {item.dialogue_id: [(turn.speaker, turn.text) for turn in item.turns] for item in result.dialogues} == {
            "17": [("Kim", "Hello you\nNote: it is late"), ("Ann", "My card: lost")],
            "18": [("Bo", "Is it paid?")],
        }
