from __future__ import annotations

import json

import pytest

from conversations.options import Options
from conversations.reading import read_export

SAID = [("Hello, how can I help?", "My card is lost."), ("I block it.", "Thank you.")]


def texts(tmp_path, content, name="calls.csv"):
    (tmp_path / name).write_text(content)
    return [[turn.text for turn in item.turns] for item in read_export(tmp_path / name, Options()).result.dialogues]


@pytest.mark.parametrize(
    ("names", "first"),
    [
        ("agent_utterance customer_utterance", 0),
        ("customer_utterance agent_utterance", 0),
        ("bot_message user_message", 0),
        ("system_utterance user_utterance", 0),
        ("answer question", 1),
        ("bot_response user_message", 1),
        ("assistant user", 1),
        ("agent customer", 0),
    ],
)
def test_sides_speak_in_the_order_of_their_columns_and_answers_after_questions(tmp_path, names, first):
    one, two = names.split()
    rows = [f'7,"{left}","{right}"\n' for left, right in SAID]
    wanted = [pair[at] for pair in SAID for at in (first, 1 - first)]
    assert texts(tmp_path, f"call_id,{one},{two}\n" + "".join(rows)) == [wanted]
    turns = [{one: left, two: right} for left, right in SAID]
    assert texts(tmp_path, json.dumps([{"id": "7", "turns": turns}]), "calls.json") == [wanted]


def test_rows_with_one_side_each_are_one_dialogue(tmp_path):
    rows = ["10:01,Hello how can I help?,", "10:02,,My card is lost since today", "10:03,I block it for you now,"]
    assert texts(tmp_path, "\n".join(["time,Agent,Customer", *rows]) + "\n") == [
        ["Hello how can I help?", "My card is lost since today", "I block it for you now"]
    ]
