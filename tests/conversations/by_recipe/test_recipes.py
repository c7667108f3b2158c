"""Every recipe reads its own examples, and is the one that is recognised."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from conversations.by_recipe.known import known_recipes
from conversations.by_recipe.recipe import Lines, Recipe, recipe_from
from conversations.options import Options
from conversations.reading import read_export
from dial2vec.errors import CorpusError
from tests.conversations.exports import imported

EXAMPLES = [(recipe, example) for recipe in known_recipes().values() for example in recipe.examples]


@pytest.mark.parametrize(("recipe", "example"), EXAMPLES, ids=lambda item: getattr(item, "name", None) or item.file)
def test_the_example_of_a_recipe_is_recognised_and_read(tmp_path, recipe, example):
    path = tmp_path / example.file
    path.write_text(example.text, encoding="utf-8")
    export = read_export(path, Options())
    assert export.descriptions[path].recipe == recipe.name
    result = export.result
    assert [record.reason for record in result.quarantine] == []
    assert len(result.dialogues) == len(example.gives)
    for dialogue, given in zip(result.dialogues, example.gives, strict=True):
        turns = [[turn.speaker, turn.text] for turn in dialogue.turns]
        assert turns == [[str(speaker), str(text)] for speaker, text in given["turns"]]
        assert dialogue.dialogue_id == str(given.get("id", dialogue.dialogue_id))
        assert list(dialogue.labels) == given.get("labels", list(dialogue.labels))
        if "date" in given:
            assert str(dialogue.date).startswith(str(given["date"]))
    left_out = {kind: n for given in example.gives for kind, n in given.get("left_out", {}).items()}
    assert dict(result.left_out) == left_out


@pytest.mark.parametrize("recipe", known_recipes().values(), ids=lambda recipe: recipe.name)
def test_a_recipe_has_a_title_a_source_and_an_example(recipe):
    assert recipe.title
    assert recipe.source.startswith("http")
    assert recipe.examples


def test_the_manual_describes_every_key():
    page = (Path(__file__).parents[3] / "docs" / "recipes.md").read_text()
    shown = {"title", "source", "lines", "examples"}
    keys = {item.name for item in fields(Recipe)} - {"name"} - shown | {item.name for item in fields(Lines)}
    described = {key for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for key in re.findall(r"`(\w+)`", row)}
    assert keys - described == set()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title: [", "not valid YAML"),
        ("- a", "no recipe"),
        ("titel: x", "unknown key 'titel'. Did you mean 'title'?"),
        ("title: x\nsource: y\nspeaker: a.[", "Mend the recipe"),
        ("title: x\nsource: y\nspeaker: a", "has no speaker and text, or lines"),
        ("title: x\nsource: y\nspeaker: a\ntext: b\nnot_speech: {noise: c}", "unknown kind 'noise'"),
        ("title: x\nsource: y\nspeaker: a\ntext: b\norder: random", "unknown order 'random'"),
        ("title: x\nsource: y\nlines: {turn: '('}", "Mend the recipe"),
        ("speaker: a\ntext: b", "title"),
    ],
)
def test_a_broken_recipe_is_one_sentence(text, message):
    with pytest.raises(CorpusError, match=r"^mine\.yaml") as raised:
        recipe_from(text, "mine", where="mine.yaml")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_name_in_bold_that_a_recipe_does_not_know_is_no_part_of_a_text(tmp_path):
    [dialogue] = imported(tmp_path, "chat.md", "**Ann:** Hi there\n\n**You:** Yes?\n\n**Ann:** My card\n").dialogues
    assert [(turn.speaker, turn.text) for turn in dialogue.turns] == [
        ("Ann", "Hi there"),
        ("You", "Yes?"),
        ("Ann", "My card"),
    ]


def test_files_of_a_folder_are_recognised_alike_but_by_what_they_hold(tmp_path):
    chat = '{"id": "%s", "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]}'
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(chat % name)
    # The same names, in a list at the top, and in a form of another tool.
    (tmp_path / "c.json").write_text(f"[{chat % 'c'}, {chat % 'd'}]")
    (tmp_path / "e.json").write_text((chat % "e").replace('"role"', '"from"'))
    export = read_export(tmp_path, Options())
    assert sorted(dialogue.dialogue_id for dialogue in export.result.dialogues) == ["a", "b", "c", "d", "e"]
    recipes = [description.recipe for _, description in sorted(export.descriptions.items())]
    assert recipes == ["openai_chat", "openai_chat", "openai_chat", "huggingchat"]
