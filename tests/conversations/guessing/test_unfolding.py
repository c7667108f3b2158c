from __future__ import annotations

import json

import pytest

from conversations.guessing.exchanges import latest
from conversations.guessing.unfolding import nesting, turns_by_side, turns_of_columns, unfolding
from tests.conversations.exports import imported, turns_of


def test_objects_that_hold_a_text_by_its_side_become_turns():
    listed = turns_by_side([{"id": "1", "turns": [{"agent": "Hello", "time": "10:01"}, {"customer": "Hi"}]}])
    assert listed is not None
    turns = listed({"turns": [{"agent": "Hello", "time": "10:01"}, {"note": "rude"}]})["turns"]
    assert [(turn.get("speaker"), turn.get("text"), turn.get("time")) for turn in turns] == [
        ("agent", "Hello", "10:01"),
        (None, None, None),
    ]


def test_an_exchange_in_a_list_becomes_two_turns_and_the_question_goes_first():
    listed = turns_by_side([{"history": [{"answer": "Yes.", "question": "Rain?"}]}])
    assert listed is not None
    turns = listed({"history": [{"answer": "Yes.", "question": "Rain?"}]})["history"]
    assert [(turn["speaker"], turn["text"]) for turn in turns] == [("user", "Rain?"), ("bot", "Yes.")]


def test_lists_of_people_and_lists_beside_turns_stay():
    turns = [{"speaker": "Ann", "text": "Hi"}, {"speaker": "Bo", "text": "Yes"}]
    assert turns_by_side([{"participants": [{"agent": "Ann"}, {"customer": "Bo"}]}]) is None
    assert turns_by_side([{"history": [{"agent": "Ann"}, {"customer": "Bo"}], "turns": turns}]) is None


def test_a_question_and_an_answer_that_are_objects_are_two_turns():
    row = {"id": 1, "question": {"author": "Ana", "text": "How?"}, "answer": {"author": "Bo", "text": "So."}}
    spread = unfolding([row])
    assert spread is not None
    assert spread(row) == {"id": 1, "turns": [row["question"], row["answer"]]}


HI, YES = {"role": "user", "content": "Hi there"}, {"role": "assistant", "content": "Yes?"}


@pytest.mark.parametrize(
    "form", ["messages[{}].{}", "messages/{}/{}", "messages.{}.{}", "turn_{}_{}", "input.messages.{}.message.{}"]
)
def test_numbered_columns_are_turns_in_the_order_of_their_numbers(form):
    row = {form.format(number, key): value for number, turn in ((10, YES), (9, HI)) for key, value in turn.items()}
    change = nesting([row])
    assert change is not None
    assert change({"id": 1} | row | {form.format(11, "content"): ""}) == {"id": 1, "messages": [HI, YES]}


def test_a_number_at_the_end_of_a_name_counts_if_speakers_and_texts_have_one():
    row = {"id": 1, "speaker1": "Ann", "text1": "Hi there", "speaker2": "Bo", "text2": "Yes?"}
    change = nesting([row])
    assert change is not None
    assert change(row)["messages"] == [{"speaker": "Ann", "text": "Hi there"}, {"speaker": "Bo", "text": "Yes?"}]
    assert nesting([{"speaker": "Ann", "text": "Hi", "tag_1": "a", "note_2": "b"}]) is None


def test_answers_come_after_prompts():
    answer = {"a.completion.0.role": "assistant", "a.completion.0.content": "Yes?", "tokens": 3}
    row = answer | {"a.prompt.0.role": "user", "a.prompt.0.content": "Hi there"}
    change = nesting([row])
    assert change is not None
    assert change(row) == {"tokens": 3, "messages": [HI, YES]}


@pytest.mark.parametrize(
    "names",
    [
        ("User Turn {}", "Agent Turn {}"),
        ("turn_{}_user", "turn_{}_agent"),
        ("prompt_{}", "response_{}"),
        ("round{}_question", "round{}_answer"),
    ],
)
def test_columns_that_name_a_side_and_a_number_are_turns(names):
    row = {name.format(number): f"{name[:3]} {number}" for number in (1, 2) for name in names}
    listed = turns_of_columns(list(row))
    assert listed is not None
    assert [turn["text"] for turn in listed(row)["turns"]] == list(row.values())
    assert len({turn["speaker"] for turn in listed(row)["turns"]}) == 2


def test_answers_to_choose_from_and_surveys_are_no_turns():
    assert turns_of_columns(["prompt", "response_1", "response_2", "response_3"]) is None
    assert turns_of_columns(["Q1", "Q2", "Q3"]) is None


HISTORIES = {
    "openai": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}],
    "cohere": [{"role": "USER", "message": "Hi"}, {"role": "CHATBOT", "message": "Yes?"}],
    "langchain": [{"type": "human", "content": "Hi"}, {"type": "ai", "content": "Yes?"}],
    "stored": [{"type": "human", "data": {"content": "Hi"}}, {"type": "ai", "data": {"content": "Yes?"}}],
}
ENDS = [("query", "response"), ("input", "output"), ("question", "answer"), ("message", "text")]


def turns(tmp_path, *records, name="log.jsonl"):
    dialogues = imported(tmp_path, name, "".join(json.dumps(record) + "\n" for record in records)).dialogues
    return [[turn.text for turn in item.turns] for item in dialogues], [item.turns for item in dialogues]


@pytest.mark.parametrize("form", HISTORIES)
@pytest.mark.parametrize("ends", ENDS)
def test_the_newest_exchange_beside_the_history_is_read(tmp_path, form, ends):
    record = {"chat_history": HISTORIES[form]} | dict(zip(ends, ("Lost", "Blocked"), strict=True))
    texts, [said] = turns(tmp_path, record)
    assert texts == [["Hi", "Yes?", "Lost", "Blocked"]]
    assert [turn.speaker for turn in said[2:]] == [turn.speaker for turn in said[:2]]
    [dialogue] = imported(tmp_path, "one.json", json.dumps(record, indent=1)).dialogues
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


def test_comments_of_an_issue_stand_in_columns_of_one_name(tmp_path):
    rows = (
        "Issue key,Reporter,Reporter Id,Created,Description,Comment,Comment\n"
        "IT-5,Maria,5d:a,05/Mar/24 10:00 AM,My mail is down,05/Mar/24 10:05 AM;5d:b;Is it on?,"
        '"05/Mar/24 10:06 AM;5d:a;Yes; it is.\nStill down."\n'
        "IT-6,Bo,5d:c,05/Mar/24 11:00 AM,The door squeaks,05/Mar/24 11:05 AM;5d:b;I come.,\n"
    )
    assert turns_of(imported(tmp_path, "jira.csv", rows)) == {
        "IT-5": ["Maria: My mail is down", "5d:b: Is it on?", "Maria: Yes; it is.\nStill down."],
        "IT-6": ["Bo: The door squeaks", "5d:b: I come."],
    }
    german = "Vorgangsschlüssel,Autor,Beschreibung,Kommentar\nA-1,Bo,Die Tür klemmt,05.03.2024 10:05;kim;Ich komme\n"
    assert turns_of(imported(tmp_path, "jira2.csv", german)) == {"A-1": ["Bo: Die Tür klemmt", "kim: Ich komme"]}
