"""Keys in place of lists, and pages of an interface's answer."""

from __future__ import annotations

import json

import pytest

from dial2vec.errors import CorpusError
from tests.conversations.exports import imported, turns_of

HELLO = [{"speaker": "user", "text": "Hi there"}, {"speaker": "bot", "text": "Yes?"}]
BYE = [{"speaker": "user", "text": "Bye now"}, {"speaker": "bot", "text": "So long"}]
READ = {"a": ["user: Hi there", "bot: Yes?"], "b": ["user: Bye now", "bot: So long"]}
BLANK = {"speaker": "user", "text": ""}


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    "content",
    [
        {"a": {"state": "open", "messages": {"m1": HELLO[0], "m2": HELLO[1]}}, "b": {"messages": {"m3": BYE[0]}}},
        {"a": {"m1": HELLO[0], "m2": HELLO[1]}, "b": {"m3": BYE[0], "m4": BYE[1]}},
        [{"id": "a", "turns": {"turn_10": HELLO[1], "turn_9": HELLO[0]}}, {"id": "b", "turns": {"1": BYE[0]}}],
    ],
)
def test_objects_with_ids_or_numbers_for_keys_are_lists_of_turns(tmp_path, content):
    assert turns_of(imported(tmp_path, "e.json", json.dumps(content)))["a"] == READ["a"]


def test_a_few_blank_messages_do_not_hide_a_list_with_ids_for_keys(tmp_path):
    turns = {f"m{at}": turn for at, turn in enumerate([*HELLO, *BYE, BLANK])}
    assert turns_of(imported(tmp_path, "e.json", json.dumps({"a": turns, "b": turns})))["a"] == READ["a"] + READ["b"]


@pytest.mark.parametrize(
    "pages",
    [
        [{"page": 1, "data": [{"id": "a", "turns": HELLO}]}, {"page": 2, "data": [{"id": "b", "turns": BYE}]}],
        [{"status": 200, "body": {"chats": [{"id": "a", "turns": HELLO}, {"id": "b", "turns": BYE}]}}],
        [{"day": "1 May", "messages": [{"chat_id": key} | t for key, of in (("a", HELLO), ("b", BYE)) for t in of]}],
        [
            {"n": 1, "list": [{"chat_id": "a"} | HELLO[0]]},
            {"n": 2, "list": [{"chat_id": "b"} | turn for turn in BYE]},
            {"n": 3, "list": [{"chat_id": "a"} | HELLO[1], {"chat_id": "c"} | BYE[0]]},
        ],
    ],
)
def test_pages_are_no_dialogues(tmp_path, pages):
    for name, content in (("e.jsonl", lines(pages)), ("e.json", json.dumps({"pages": pages}))):
        read = turns_of(imported(tmp_path, name, content))
        assert {key: read[key] for key in READ} == READ


def test_a_post_and_its_threads_are_no_page(tmp_path):
    replies = [{"author": "Bo", "text": "why?", "replies": [{"author": "Al", "text": "so"}]}]
    record = {"id": "a", "author": "Al", "text": "look", "replies": replies}
    with pytest.raises(CorpusError, match="hold further turns"):
        turns_of(imported(tmp_path, "e.jsonl", lines([record])))


TALK = [{"from": "A", "text": "hi"}, {"from": "B", "text": "yo"}]


@pytest.mark.parametrize(
    "wrapped",
    [
        {
            "response": {
                "body": {"payload": {"content": {"page": {"items": [t | {"chat_id": n} for n in "cd" for t in TALK]}}}}
            }
        },
        [{"type": "record", "record": {"value": {"conversation": {"id": n, "messages": TALK}}}} for n in "cd"],
        {"Items": [{"Data": {"Chat": {"id": n, "Lines": TALK}}} for n in "cd"]},
        {"d": {"results": [{"thread": {"data": {"id": n, "results": TALK}}} for n in "cd"]}},
    ],
)
def test_records_are_found_in_objects_however_deep(tmp_path, wrapped):
    read = turns_of(imported(tmp_path, "a.json", json.dumps(wrapped)))
    assert read == {"c": ["A: hi", "B: yo"], "d": ["A: hi", "B: yo"]}


def test_values_that_are_written_twice_are_read_as_they_are_shown(tmp_path):
    rows = [
        ("c", "comments", "maria", "My mail is down"),
        ("c", "work_notes", "kim", "disk"),
        ("c", "comments", "kim", "Up"),
    ]
    names = ("element_id", "element", "sys_created_by", "value", "sys_created_on")
    both = [
        {
            name: {"display_value": cell, "value": f"#{cell}"}
            for name, cell in zip(names, (*row, f"2024-03-05 10:0{at}"), strict=True)
        }
        for at, row in enumerate(rows)
    ]
    read = turns_of(imported(tmp_path, "a.json", json.dumps({"result": both})))
    assert read == {"c": ["maria: My mail is down", "kim: Up"]}
