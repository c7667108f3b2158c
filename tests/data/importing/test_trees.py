from __future__ import annotations

import json

import pytest

from dial2vec.data.importing.options import Options
from dial2vec.data.importing.reading import read_export
from dial2vec.data.importing.trees import straightened
from dial2vec.dialogue import Dialogue, Turn


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


@pytest.mark.parametrize("at_the_top", [True, False])
def test_a_tree_of_messages_is_read_along_its_current_branch(tmp_path, at_the_top):
    path = tmp_path / "conversations.json"
    found = [{"title": "Poem", "mapping": TREE, "current_node": "old", "id": "c-1"}]
    path.write_text(json.dumps(found if at_the_top else {"conversations": found}))
    export = read_export(path, Options())
    assert export.result.dialogues == [Dialogue("c-1", (Turn("user", "Write a poem"), Turn("assistant", "Roses")))]
    assert export.result.blank == 1
    assert (
        "on other branches of a conversation, such as edited ones, are left out: 1"
        in export.descriptions[path].notes[-1]
    )


@pytest.mark.parametrize("current", [None, "gone", 5, "missing"])
def test_without_a_current_node_the_last_leaf_ends_the_branch(current):
    values, aside = straightened({"mapping": TREE, "current_node": current})
    assert [turn["content"]["parts"][0] for turn in values["mapping"]] == ["", "Write a poem", "Violets"]
    assert aside == 1


def test_a_tree_that_turns_in_a_circle_ends():
    values, _ = straightened(
        {"mapping": {"a": node("b", "user", "x"), "b": node("a", "user", "y")}, "current_node": "a"}
    )
    assert len(values["mapping"]) == 2
    assert straightened({"mapping": {"a": {"parent": None}}, "x": 1}) == (
        {"mapping": {"a": {"parent": None}}, "x": 1},
        0,
    )
