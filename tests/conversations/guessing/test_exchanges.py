from __future__ import annotations

import json

import pytest

from conversations.guessing.reshaping import restarting, speakers_in_texts
from tests.conversations.exports import imported, turns_of

SAID = [("Hello, how can I help?", "My card is lost."), ("I block it.", "Thank you.")]


def texts(tmp_path, content, name="calls.csv"):
    return [[turn.text for turn in item.turns] for item in imported(tmp_path, name, content).dialogues]


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


def test_a_dialogue_begins_where_the_numbers_of_turns_begin_again(tmp_path):
    content = "turn,speaker,text\n1,Kim,Hello you\n2,Ann,My card\n3,Kim,Lost?\n1,Kim,Hi there\n2,Bo,Is it paid\n"
    assert turns_of(imported(tmp_path, "t.csv", content)) == {
        "t-1": ["Kim: Hello you", "Ann: My card", "Kim: Lost?"],
        "t-2": ["Kim: Hi there", "Bo: Is it paid"],
    }


@pytest.mark.parametrize("numbers", ["12345", "11111", "13131", "24242", "1212x"])
def test_other_numbers_begin_no_dialogue(numbers):
    assert restarting([{"turn": number, "speaker": "Kim", "text": "Hi"} for number in numbers]) is None
    assert restarting([{"call_id": "1", "turn": number} for number in "12312"]) is None


def test_speakers_at_the_start_of_the_texts_of_rows_are_read(tmp_path):
    content = "call_id,time,message\n1,10:00,Agent: Hello: you\n1,10:01,Customer: My card\n2,10:00,Agent: Hi there\n"
    assert turns_of(imported(tmp_path, "t.csv", content)) == {
        "1": ["Agent: Hello: you", "Customer: My card"],
        "2": ["Agent: Hi there"],
    }


@pytest.mark.parametrize(
    "texts", [["Note: late", "Price: 5", "Colour: red"], ["Agent: Hi\nUser: Yes", "Agent: So\nUser: No"], ["Hi", "Yes"]]
)
def test_other_texts_name_no_speakers(texts):
    assert speakers_in_texts([{"call_id": "1", "message": text} for text in texts]) is None
