from __future__ import annotations

import json

from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.summary.excerpts import CHARACTERS, TypicalTopic, excerpts_of
from dial2vec.data.terms import Term
from tests.collection.changes.conftest import call

CARD = [Term("card", 2.0, 0.5)]


def topic(name: str, *rows: int) -> TypicalTopic:
    return TypicalTopic(name, CARD, rows)


def rewrite(calls: CollectionFolder, turns: list[list[str]]) -> None:
    """Give the first dialogue other turns."""
    record = {"dialogue_id": "calls-0", "turns": [{"speaker": who, "text": text} for who, text in turns]}
    path = calls.folder / "dialogues.jsonl"
    path.write_text(json.dumps(record) + "\n" + " " * calls.manifest.text_bytes)


def test_each_topic_gives_its_most_typical_dialogue_before_its_next(make):
    calls = make(call(0, 6), k=1)
    found = excerpts_of(calls, [topic("a", 0, 1, 2), topic("b", 3, 4)])
    assert [(one.dialogue_id, one.topic) for one in found] == [("calls-0", "a"), ("calls-3", "b"), ("calls-1", "a")]


def test_one_topic_gives_three_dialogues_and_a_small_one_what_it_has(make):
    calls = make(call(0, 6), k=1)
    assert [one.dialogue_id for one in excerpts_of(calls, [topic("a", 2, 1, 0)])] == ["calls-2", "calls-1", "calls-0"]
    assert len(excerpts_of(calls, [topic("a", 5)])) == 1
    assert excerpts_of(calls, [topic("a")]) == ()


def test_the_turns_that_speak_for_the_topic_are_shown_with_their_sides(make):
    calls = make(call(0, 2), k=1)
    rewrite(calls, [["ann", "hello"], ["bob", "your card"], ["ann", "my card\x00\u202e is   gone"], ["bob", "okay"]])
    [excerpt] = excerpts_of(calls, [topic("a", 0)])
    shown = [(turn.number, turn.speaker, turn.text, turn.first) for turn in excerpt.turns]
    assert shown == [(2, "bob", "your card", False), (3, "ann", "my card is gone", True)]


def test_a_long_turn_is_cut_after_a_word_and_a_long_word_anywhere(make):
    calls = make(call(0, 2), k=1)
    rewrite(calls, [["ann", "card " * 100], ["bob", "card " + "card" * 100]])
    first, second = excerpts_of(calls, [topic("a", 0)])[0].turns
    assert first.text.endswith("card …")
    assert len(first.text) <= CHARACTERS
    assert len(second.text) == CHARACTERS
    assert second.text.endswith("…")
