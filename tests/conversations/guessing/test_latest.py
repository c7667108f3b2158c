from __future__ import annotations

import json

import pytest

from conversations.guessing.latest import latest
from conversations.options import Options
from conversations.reading import read_export

HISTORIES = {
    "openai": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}],
    "cohere": [{"role": "USER", "message": "Hi"}, {"role": "CHATBOT", "message": "Yes?"}],
    "langchain": [{"type": "human", "content": "Hi"}, {"type": "ai", "content": "Yes?"}],
    "stored": [{"type": "human", "data": {"content": "Hi"}}, {"type": "ai", "data": {"content": "Yes?"}}],
}
ENDS = [("query", "response"), ("input", "output"), ("question", "answer"), ("message", "text")]


def turns(tmp_path, *records, name="log.jsonl"):
    (tmp_path / name).write_text("".join(json.dumps(record) + "\n" for record in records))
    dialogues = read_export(tmp_path / name, Options()).result.dialogues
    return [[turn.text for turn in item.turns] for item in dialogues], [item.turns for item in dialogues]


@pytest.mark.parametrize("form", HISTORIES)
@pytest.mark.parametrize("ends", ENDS)
def test_the_newest_exchange_beside_the_history_is_read(tmp_path, form, ends):
    record = {"chat_history": HISTORIES[form]} | dict(zip(ends, ("Lost", "Blocked"), strict=True))
    texts, [said] = turns(tmp_path, record)
    assert texts == [["Hi", "Yes?", "Lost", "Blocked"]]
    assert [turn.speaker for turn in said[2:]] == [turn.speaker for turn in said[:2]]
    (tmp_path / "one.json").write_text(json.dumps(record, indent=1))
    [dialogue] = read_export(tmp_path / "one.json", Options()).result.dialogues
    assert dialogue.turns == said


def test_an_empty_history_is_followed_by_its_first_exchange(tmp_path):
    first = {"history": [], "query": "Hi", "response": "Yes?"}
    second = {"history": HISTORIES["openai"], "query": "Lost", "response": "Blocked"}
    assert turns(tmp_path, first, second)[0] == [["Hi", "Yes?"], ["Hi", "Yes?", "Lost", "Blocked"]]


def test_a_question_at_the_end_of_the_list_gets_its_answer(tmp_path):
    record = {"messages": [*HISTORIES["openai"], {"role": "user", "content": "Lost"}], "response": "Blocked"}
    assert turns(tmp_path, record)[0] == [["Hi", "Yes?", "Lost", "Blocked"]]
    assert turns(tmp_path, record | {"question": "Lost"})[0] == [["Hi", "Yes?", "Lost", "Blocked"]]


@pytest.mark.parametrize(
    "beside",
    [
        {"prompt": "Hi"},
        {"prompt": "You are kind"},
        {"question": "Hi", "answer": "Yes?"},
        {"response": "Yes?"},
        {"topic": "cards"},
    ],
)
def test_what_the_list_holds_already_or_is_no_exchange_is_not_added(beside):
    assert latest([{"messages": HISTORIES["openai"]} | beside]) is None


def test_a_history_of_pairs_is_one_too():
    row = {"history": [["Hi", "Yes?"], ["My card", "Lost?"]], "input": "yes", "output": "blocked"}
    change = latest([row, {"history": [], "input": "Bye", "output": "So long"}])
    assert change is not None
    assert [turn["content"] for turn in change(row)["history"]] == ["Hi", "Yes?", "My card", "Lost?", "yes", "blocked"]
