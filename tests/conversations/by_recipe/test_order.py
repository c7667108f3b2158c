"""Rows and messages are put into the order that a column tells, whatever its name and whichever recipe reads them."""

from __future__ import annotations

import json

import pytest

from conversations.options import Options
from conversations.reading import read_export

SAID = [("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d")]
SHUFFLED = (3, 1, 2, 4)
TIMES = ["time", "timestamp", "ts", "created", "created_at", "createdAt", "date", "sent_at", "start"]
COUNTS = ["turn", "turn_index", "message_index", "seq", "order", "position", "index", "step", "id", "msg_id", "no", "#"]


def turns(path):
    return [
        [(turn.speaker, turn.text) for turn in item.turns] for item in read_export(path, Options()).result.dialogues
    ]


@pytest.mark.parametrize("sides", [("role", "content"), ("speaker", "text"), ("from", "value"), ("author", "body")])
@pytest.mark.parametrize("name", [*TIMES, *COUNTS])
def test_turns_are_sorted_by_any_column_of_times_or_numbers(tmp_path, name, sides):
    cells = [f"2024-03-01T10:0{at}:00Z" if name in TIMES else str(at) for at in SHUFFLED]
    messages = [
        {name: cell} | dict(zip(sides, SAID[at - 1], strict=True)) for at, cell in zip(SHUFFLED, cells, strict=True)
    ]
    rows = [{"conversation_id": "7"} | message for message in messages]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert turns(path) == [SAID]
    path = tmp_path / "rows.csv"
    path.write_text("".join(",".join(row) + "\n" for row in (rows[0], *(row.values() for row in rows))))
    assert turns(path) == [SAID]


@pytest.mark.parametrize("name", [*TIMES, "turn_index", "seq"])
def test_a_list_of_messages_is_sorted_too(tmp_path, name):
    cells = [f"2024-03-01T10:0{at}:00Z" if name in TIMES else at for at in SHUFFLED]
    messages = [
        {name: cell, "role": SAID[at - 1][0], "content": SAID[at - 1][1]}
        for at, cell in zip(SHUFFLED, cells, strict=True)
    ]
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"id": "7", "messages": messages}) + "\n")
    assert turns(path) == [SAID]


def test_a_phone_number_is_no_order(tmp_path):
    path = tmp_path / "rows.csv"
    rows = ["7,555020,user,a", "7,555010,assistant,b", "7,555020,user,c", "7,555010,assistant,d"]
    path.write_text("conversation_id,number,role,content\n" + "\n".join(rows) + "\n")
    assert turns(path) == [SAID]


def test_numbers_as_keys_are_the_places_of_turns(tmp_path):
    numbered = {str(at): {"speaker": SAID[at][0], "text": SAID[at][1]} for at in (0, 2, 1, 3)}
    path = tmp_path / "log.json"
    path.write_text(json.dumps([{"id": "7", "turns": numbered}]))
    assert turns(path) == [SAID]
    path.write_text(json.dumps({"a": numbered, "b": numbered}))
    assert turns(path) == [SAID, SAID]
