"""Turns that are numbered in dialogues without ids, and speakers at the start of texts."""

from __future__ import annotations

import pytest

from conversations.guessing.restarts import restarting, speakers_in_texts
from conversations.options import Options
from conversations.reading import read_export


def imported(folder, content):
    (folder / "t.csv").write_text(content)
    result = read_export(folder / "t.csv", Options()).result
    return {item.dialogue_id: [f"{turn.speaker}: {turn.text}" for turn in item.turns] for item in result.dialogues}


def test_a_dialogue_begins_where_the_numbers_of_turns_begin_again(tmp_path):
    content = "turn,speaker,text\n1,Kim,Hello you\n2,Ann,My card\n3,Kim,Lost?\n1,Kim,Hi there\n2,Bo,Is it paid\n"
    assert imported(tmp_path, content) == {
        "t-1": ["Kim: Hello you", "Ann: My card", "Kim: Lost?"],
        "t-2": ["Kim: Hi there", "Bo: Is it paid"],
    }


@pytest.mark.parametrize("numbers", ["12345", "11111", "13131", "24242", "1212x"])
def test_other_numbers_begin_no_dialogue(numbers):
    assert restarting([{"turn": number, "speaker": "Kim", "text": "Hi"} for number in numbers]) is None
    assert restarting([{"call_id": "1", "turn": number} for number in "12312"]) is None


def test_speakers_at_the_start_of_the_texts_of_rows_are_read(tmp_path):
    content = "call_id,time,message\n1,10:00,Agent: Hello: you\n1,10:01,Customer: My card\n2,10:00,Agent: Hi there\n"
    assert imported(tmp_path, content) == {"1": ["Agent: Hello: you", "Customer: My card"], "2": ["Agent: Hi there"]}


@pytest.mark.parametrize(
    "texts", [["Note: late", "Price: 5", "Colour: red"], ["Agent: Hi\nUser: Yes", "Agent: So\nUser: No"], ["Hi", "Yes"]]
)
def test_other_texts_name_no_speakers(texts):
    assert speakers_in_texts([{"call_id": "1", "message": text} for text in texts]) is None
