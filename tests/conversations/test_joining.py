"""Parts of a dialogue, joined: nothing that was said is lost, nothing is doubled."""

from __future__ import annotations

import json

import pytest

from conversations.options import Options
from conversations.reading import read_export
from tests.conversations.exports import turns_of

RECIPE = """
title: x
source: y
has: [log]
id: id
turns: log
speaker: by
text: text
date: at
parts: true
"""


def part(at, *texts, request=None, name="c", who="AB"):
    turns = [{"by": who[number % len(who)], "text": text} for number, text in enumerate(texts)]
    return {"id": name, "at": f"2024-03-05T10:00:{at:02}Z" if at is not None else None, "log": turns, "of": request}


def read(folder, *files, request=True):
    recipe = folder / "mine.yaml"
    recipe.write_text(RECIPE + ("request: of\n" if request else ""))
    source = folder / "in"
    source.mkdir()
    for number, parts in enumerate(files):
        (source / f"{number}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in parts))
    return read_export(source, Options(recipe=str(recipe))).result


def said(result):
    return {name: [turn.split(": ")[1] for turn in turns] for name, turns in turns_of(result).items()}


HISTORY = [
    part(1, "Hi", "Hello"),
    part(2, "Hi", "Hello", "Open?", "Yes"),
    part(3, *["Hi", "Hello", "Open?", "Yes", "Bye", "Ciao"]),
]
WINDOWS = [part(1, "Hi", "Hello"), part(2, "Hi", "Hello", "Open?", "Yes"), part(3, "Open?", "Yes", "Bye", "Ciao")]
ONE_EACH = [part(1, "Hi", "Hello"), part(2, "Open?", "Yes"), part(3, "Bye", "Ciao")]
LAST_ANSWER = [
    part(1, "Hi", "Hello"),
    part(2, "Hello", "Open?", "Yes", who="BAB"),
    part(3, "Yes", "Bye", "Ciao", who="BAB"),
]
UNANSWERED = [part(1, "Hi"), part(2, "Hi", "Hello", "Open?"), part(3, *["Hi", "Hello", "Open?", "Yes", "Bye", "Ciao"])]
STREAMED = [*HISTORY[:2], part(3, *["Hi", "Hello", "Open?", "Yes", "Bye", "Ci"]), HISTORY[2]]
RETRIED = [HISTORY[0], *HISTORY]


@pytest.mark.parametrize("parts", [HISTORY, WINDOWS, ONE_EACH, LAST_ANSWER, UNANSWERED, STREAMED, RETRIED])
@pytest.mark.parametrize("turn", [lambda parts: parts, lambda parts: parts[::-1], lambda parts: parts[1:] + parts[:1]])
@pytest.mark.parametrize("request_named", [True, False])
def test_parts_in_any_order_are_one_dialogue(tmp_path, parts, turn, request_named):
    other = [record | {"id": "d"} for record in parts]
    mixed = [record for pair in zip(turn(parts), turn(other), strict=True) for record in pair]
    result = read(tmp_path, mixed, request=request_named)
    said_once = ["Hi", "Hello", "Open?", "Yes", "Bye", "Ciao"]
    assert said(result) == {"c": said_once, "d": said_once}
    assert result.repeated == 2 * (sum(len(record["log"]) for record in parts) - 6)


@pytest.mark.parametrize("parts", [HISTORY, WINDOWS])
def test_parts_without_times_may_come_newest_first(tmp_path, parts):
    untimed = [record | {"at": None} for record in reversed(parts)]
    assert said(read(tmp_path, untimed))["c"] == ["Hi", "Hello", "Open?", "Yes", "Bye", "Ciao"]


@pytest.mark.parametrize("parts", [HISTORY, WINDOWS, ONE_EACH])
def test_parts_in_several_files_are_one_dialogue(tmp_path, parts):
    result = read(tmp_path, *([record] for record in reversed(parts)))
    assert said(result)["c"] == ["Hi", "Hello", "Open?", "Yes", "Bye", "Ciao"]


TOOL_LOOP = [
    part(1, "Open?", "Until six.", request="t"),
    part(2, "Open?", request="t"),
    part(3, "Open?", "Until six.", request="t"),
]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_spans_of_one_request_repeat_each_other(tmp_path, order):
    assert said(read(tmp_path, [TOOL_LOOP[at] for at in order]))["c"] == ["Open?", "Until six."]


def test_what_an_assistant_says_before_a_tool_stays_between_question_and_answer(tmp_path):
    around = part(1, "Open?", "Six.", request="t")
    calls = [
        part(2, "Open?", "Let me see.", request="t"),
        part(3, "Open?", "Let me see.", "Six.", who="ABB", request="t"),
    ]
    assert said(read(tmp_path, [around, *calls]))["c"] == ["Open?", "Let me see.", "Six."]


def test_requests_that_send_only_what_is_new_are_one_dialogue(tmp_path):
    calls = [part(1, "Open?", request="t"), part(2, "Six.", who="B", request="t"), part(3, "Bye", "Ciao", request="u")]
    assert said(read(tmp_path, calls))["c"] == ["Open?", "Six.", "Bye", "Ciao"]


@pytest.mark.parametrize("request_named", [True, False])
def test_what_was_said_twice_stays_twice(tmp_path, request_named):
    parts = [part(at, "yes", "ok", request=f"t{at}") for at in (1, 2)] + [part(3, "yes", "fine", request="t3")]
    around = [record | {"at": record["at"].replace("Z", ".500Z")} for record in parts] if request_named else []
    mixed = [record for pair in zip(around, parts, strict=True) for record in pair] if around else parts
    assert said(read(tmp_path, mixed, request=request_named))["c"] == ["yes", "ok", "yes", "ok", "yes", "fine"]


def test_what_was_said_twice_stays_twice_in_a_history(tmp_path):
    whole = ["yes", "ok", "yes", "ok", "yes", "fine"]
    parts = [part(2 * end, *whole[: 2 * end], request=f"t{end}") for end in (1, 2, 3)]
    around = [part(2 * end - 1, *whole[2 * end - 2 : 2 * end], request=f"t{end}") for end in (1, 2, 3)]
    assert said(read(tmp_path, [*parts, *around]))["c"] == whole


def test_the_longer_of_two_answers_of_a_request_is_the_final_one(tmp_path):
    parts = [part(1, "Open?", "Until six.", request="t"), part(2, "Open?", "Until", request="t")]
    assert said(read(tmp_path, parts))["c"] == ["Open?", "Until six."]


def test_an_answer_that_was_asked_for_again_stands_beside_the_first(tmp_path):
    parts = [HISTORY[1], part(3, "Hi", "Hello", "Open?", "No"), part(4, *["Hi", "Hello", "Open?", "No", "Bye", "Ciao"])]
    assert said(read(tmp_path, parts))["c"] == ["Hi", "Hello", "Open?", "Yes", "No", "Bye", "Ciao"]


def test_records_without_a_dialogue_are_counted(tmp_path):
    recipe = tmp_path / "mine.yaml"
    recipe.write_text(RECIPE + "skip: kind == 'set'")
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(record) + "\n" for record in [{"kind": "set"}, *HISTORY]))
    export = read_export(tmp_path / "in.jsonl", Options(recipe=str(recipe)))
    assert said(export.result)["c"] == ["Hi", "Hello", "Open?", "Yes", "Bye", "Ciao"]
    [described] = export.descriptions.values()
    assert described.notes == ("records without a dialogue are left out: 1",)
