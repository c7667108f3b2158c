"""Turns in columns with numbers, as programs flatten lists into tables."""

from __future__ import annotations

import pytest

from conversations.guessing.unfolding import nesting, turns_of_columns

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


def test_answers_come_after_prompts_and_attributes_of_spans_are_looked_into():
    span = {"a.completion.0.role": "assistant", "a.completion.0.content": "Yes?", "tokens": 3}
    row = {"id": 1, "attributes": span | {"a.prompt.0.role": "user", "a.prompt.0.content": "Hi there"}}
    change = nesting([row])
    assert change is not None
    assert change(row) == {"id": 1, "attributes": {"tokens": 3}, "messages": [HI, YES]}
    assert change({"id": 2, "attributes": None}) == {"id": 2, "attributes": None}


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
