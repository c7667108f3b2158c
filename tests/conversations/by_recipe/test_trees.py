"""Conversations that are trees of messages, as ChatGPT exports them."""

from __future__ import annotations

import json

import pytest

from conversations.by_recipe.recipe import recipe_from
from conversations.by_recipe.recipe_records import RecordReader
from conversations.dialogue import Dialogue, Turn
from conversations.formats.records import Record
from tests.conversations.exports import imported


def node(parent, role=None, text=""):
    message = {"author": {"role": role, "name": None}, "content": {"content_type": "text", "parts": [text]}}
    return {"parent": parent, "message": message if role else None}


TREE = {
    "root": node(None),
    "s": node("root", "system"),
    "q": node("s", "user", "Write a poem"),
    "old": node("q", "assistant", "Roses"),
    "new": node("q", "assistant", "Violets"),
}


def read(tmp_path, content):
    return imported(tmp_path, "conversations.json", json.dumps(content))


@pytest.mark.parametrize("at_the_top", [True, False])
def test_a_tree_of_messages_is_read_along_its_current_branch(tmp_path, at_the_top):
    found = [{"title": "Poem", "mapping": TREE, "current_node": "old", "id": "c-1"}]
    result = read(tmp_path, found if at_the_top else {"conversations": found})
    assert result.dialogues == [
        Dialogue("c-1", (Turn("user", "Write a poem"), Turn("assistant", "Roses")), metadata={"title": "Poem"})
    ]
    assert result.left_out == {"system": 1, "edited": 1}


@pytest.mark.parametrize("current", [None, "gone", 5, "missing"])
def test_without_a_current_node_the_last_leaf_ends_the_branch(tmp_path, current):
    result = read(tmp_path, [{"mapping": TREE, "current_node": current}])
    assert [turn.text for turn in result.dialogues[0].turns] == ["Write a poem", "Violets"]
    assert result.left_out["edited"] == 1


def test_a_tree_that_turns_in_a_circle_ends(tmp_path):
    circle = {"a": node("b", "user", "x"), "b": node("a", "user", "y")}
    result = read(tmp_path, [{"mapping": circle, "current_node": "a"}])
    assert len(result.dialogues[0].turns) == 2


ROWS = "title: x\nsource: y\nid: tree\nbranch: {id: id, parent: parent}\nspeaker: by\ntext: text"


def rows(*items):
    return [Record(line, dict(zip(("tree", "id", "parent", "by", "text"), item, strict=True))) for line, item in items]


def test_messages_of_several_trees_in_one_table_are_one_dialogue_per_tree():
    items = [("t", 1, None, "A", "Hi"), ("u", 2, None, "A", "Yes"), ("t", 3, 1, "B", "Old"), ("t", 4, 1, "B", "New")]
    reader = RecordReader(recipe_from(ROWS, "x", where="x"), name="x")
    records = list(reader.read(iter(rows(*enumerate(items, start=1)))))
    found = {record.values["id"]: [turn["text"] for turn in record.values["turns"]] for record in records}
    assert found == {"t": ["Hi", "New"], "u": ["Yes"]}
    assert reader.left_out == {"edited": 1}


def test_messages_without_parents_stay_in_their_order():
    items = [("t", 1, None, "A", "Hi"), ("t", 2, None, "B", "Hello")]
    reader = RecordReader(recipe_from(ROWS, "x", where="x"), name="x")
    [record] = reader.read(iter(rows(*enumerate(items, start=1))))
    assert [turn["text"] for turn in record.values["turns"]] == ["Hi", "Hello"]


PAIRS = "title: x\nsource: y\nhas: [said]\nturns: said\nalternate: who\ntext: '@'"


def test_speakers_may_stand_in_a_list_of_their_own():
    reader = RecordReader(recipe_from(PAIRS, "x", where="x"), name="x")
    [record] = reader.read(iter([Record(1, {"said": ["Hi", "Hello", "Bye"], "who": ["Ana", "Bo", 3]})]))
    assert [turn["speaker"] for turn in record.values["turns"]] == ["Ana", "Bo", "3"]


def test_all_lists_of_dialogues_in_an_object_are_read(tmp_path):
    chat = {"id": "c", "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}
    result = read(tmp_path, {"train": [chat], "note": "x", "test": [chat | {"id": "d"}]})
    assert [dialogue.dialogue_id for dialogue in result.dialogues] == ["c", "d"]
