"""Where the dialogues of a JSON file are: below ids, in several lists, and in transcripts by id."""

from __future__ import annotations

import json
import time

import pytest

from tests.conversations.exports import imported, turns_of

HELLO = [{"speaker": "user", "text": "Hi there"}, {"speaker": "bot", "text": "Yes?"}]
BYE = [{"speaker": "user", "text": "Bye now"}, {"speaker": "bot", "text": "So long"}]
READ = {"a": ["user: Hi there", "bot: Yes?"], "b": ["user: Bye now", "bot: So long"]}
ROLES = [{"role": turn["speaker"], "content": turn["text"]} for turn in HELLO]


@pytest.mark.parametrize(
    "content",
    [
        {"train": [{"id": "a", "turns": HELLO}], "test": [{"id": "b", "turns": BYE}]},
        {"of": {"cars": {"one.txt": [{"dial_id": "a", "turns": HELLO}], "two.txt": [{"dial_id": "b", "turns": BYE}]}}},
        {"May": [{"chat_id": "a"} | turn for turn in HELLO], "June": [{"chat_id": "b"} | turn for turn in BYE]},
        {"ann": {"a": HELLO}, "bo": {"b": BYE}},
        {"data": {"chats": {"a": {"title": "x", "messages": HELLO}, "b": {"title": "y", "messages": BYE}}}},
        {"a": "user: Hi there\nbot: Yes?", "b": "user: Bye now\nbot: So long"},
    ],
)
def test_no_list_of_dialogues_is_lost(tmp_path, content):
    assert turns_of(imported(tmp_path, "e.json", json.dumps(content))) == READ


def test_sessions_below_users_are_all_read_and_have_the_users_in_ids_that_come_again(tmp_path):
    users = {"ann": {"s1": ROLES, "s2": ROLES}, "bo": {"s3": ROLES}}
    assert list(turns_of(imported(tmp_path, "e.json", json.dumps(users)))) == ["s1", "s2", "s3"]
    again = {"ann": {"1": HELLO, "2": HELLO}, "bo": {"1": BYE}}
    assert list(turns_of(imported(tmp_path, "e.json", json.dumps(again)))) == ["ann/1", "ann/2", "bo/1"]


def test_a_file_with_thousands_of_ids_is_recognised_in_seconds(tmp_path):
    users = {f"u{at}": {f"s{at}-{part}": ROLES for part in range(2)} for at in range(3000)}
    before = time.process_time()
    assert len(turns_of(imported(tmp_path, "e.json", json.dumps(users)))) == 6000
    assert time.process_time() - before < 30
