"""Every field of a record is in its dialogue, in its metadata, or named as not used."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conversations.by_recipe.known import known_recipes
from conversations.by_recipe.meanings import fields_around, meanings, unused
from conversations.by_recipe.recipe import recipe_from
from conversations.options import Options
from conversations.reading import read_export

EXAMPLES = [
    (recipe, example)
    for recipe in known_recipes().values()
    for example in recipe.examples
    # Some forms are told by the number of their columns, and OTLP's pairs of key and value have no other field.
    if recipe.has
    and "resourceSpans" not in example.text
    and not any("length(keys(@))" in finder.text for finder in recipe.has)
    and example.file.endswith((".json", ".jsonl", ".csv"))
]
RATED = [("user", 1), ("assistant", 2)]
# Of any kind, and recognisable.
VALUES = [
    "a text that nobody expects, of some length",
    81726354,
    ["a text that nobody expects", "b"],
    {"inner": "a text that nobody expects"},
]
SETTINGS = settings(
    max_examples=2, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)


def places(value, path=()):
    """Paths of the objects in a JSON value to which a field may be added; those with ids for keys are none."""
    if isinstance(value, dict) and not (value and all(isinstance(inner, dict | list) for inner in value.values())):
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def is_left_out(recipe, base, path):
    """Whether an object, or one around it, was not said; also a record of which every turn was not."""
    around = [at(base, path[:depth]) for depth in range(len(path) + 1)]
    objects = [value for value in around if isinstance(value, dict)]
    rules = [finder for _, finder in recipe.not_speech]
    skipped = recipe.skip and any(map(recipe.skip, objects))
    turns = [recipe.turns(value) for value in objects] if recipe.turns else []
    silent = any(
        items and all(any(rule(item) for rule in rules) for item in items) for items in turns if isinstance(items, list)
    )
    return skipped or silent or any(rule(value) for rule in rules for value in objects)


def with_field(data, recipe, example, name, value):
    """The text of an example with one more field somewhere; None if there is no place for it."""
    if example.file.endswith(".csv"):
        rows = list(csv.reader(io.StringIO(example.text)))
        if len({len(row) for row in rows}) > 1:
            # Titles stand above the names of the columns.
            return None
        out = io.StringIO()
        shown = value if isinstance(value, str) else json.dumps(value)
        csv.writer(out).writerows([[*rows[0], name], *([*row, shown] for row in rows[1:])])
        return out.getvalue()
    lines = example.file.endswith(".jsonl")
    base = [json.loads(line) for line in example.text.splitlines() if line.strip()] if lines else None
    base = base or json.loads(example.text)
    free = [path for path in places(base) if not is_left_out(recipe, base, path)]
    if not free:
        return None
    at(base, data.draw(st.sampled_from(free)))[name] = value
    return "\n".join(map(json.dumps, base)) if lines else json.dumps(base)


@pytest.mark.parametrize(("recipe", "example"), EXAMPLES, ids=lambda item: getattr(item, "name", None) or item.file)
@SETTINGS
@given(data=st.data(), name=st.from_regex(r"zz_[a-z]{3,9}", fullmatch=True), value=st.sampled_from(VALUES))
def test_an_added_field_is_kept_or_named_and_changes_nothing(tmp_path, recipe, example, data, name, value):
    path = tmp_path / example.file
    path.write_text(example.text)
    before = read_export(path, Options()).result.dialogues
    text = with_field(data, recipe, example, name, value)
    if text is None:
        return
    path.write_text(text)
    export = read_export(path, Options())
    description, result = export.descriptions[path], export.result
    assert description.recipe == recipe.name
    kept = any(name in (dialogue.metadata or {}) for dialogue in result.dialogues)
    named = any(name in field for field in description.unused) or name in result.varying
    assert kept or named
    spoken = [(dialogue.dialogue_id, dialogue.turns) for dialogue in result.dialogues]
    assert spoken == [(dialogue.dialogue_id, dialogue.turns) for dialogue in before]


CHAT = recipe_from("{title: x, source: y, id: id, turns: log, speaker: who, text: said, date: at}", "chat", where="x")
ROWS = recipe_from(
    "{title: x, source: y, id: id, speaker: who, text: said, not_speech: {note: internal == 'yes'}}", "rows", where="x"
)


def test_fields_without_effect_are_unused_and_long_texts_come_first():
    records = [
        {
            "id": "a",
            "log": [{"who": "Ana", "said": "Hi", "mood": "calm"}],
            "at": "2024-01-01",
            "plan": {"name": "gold"},
        },
        {"id": "b", "log": [{"who": "Bo", "said": "Yes"}], "summary": ["Bo says yes, and nothing else in this call."]},
    ]
    assert unused(records, CHAT) == ("summary[]", "log[].mood", "plan.name")


def test_a_field_of_what_was_not_said_is_not_missed():
    rows = [
        {"id": "a", "who": "Ana", "said": "Hi", "internal": "no"},
        {"id": "a", "who": "Bo", "said": "Odd", "internal": "yes", "inner": {"x": 1}},
    ]
    assert unused(rows, ROWS) == ()


def test_a_field_of_a_database_is_a_field():
    assert unused([{"id": "a", "who": "Ana", "said": "Hi", "__v": {"_note": "never called back"}}], ROWS) == (
        "__v._note",
    )


def test_a_blank_field_loses_nothing():
    assert unused([{"id": "a", "who": "Ana", "said": "Hi", "x": {"y": ""}, "z": []}], ROWS) == ()


def test_each_field_has_the_meaning_of_what_it_changes():
    values = {"id": "a", "log": [{"who": "Ana", "said": "Hi"}], "at": "2024-01-01", "queue": "cards"}
    assert meanings(values, CHAT) == {
        ("id",): "dialogue id",
        ("log", "[]", "who"): "speaker",
        ("log", "[]", "said"): "text",
        ("at",): "start of the dialogue",
        ("queue",): "metadata",
    }


def test_fields_around_the_records_are_named():
    outlined = {"meta": {"page": 2, "next": None}, "data": {"calls": [{"id": "a"}], "total": 7}}
    assert fields_around(outlined, ("data", "calls")) == ("meta.page", "data.total")
    assert fields_around(outlined, None) == ()


def test_what_differs_between_turns_is_said_not_kept(tmp_path):
    path = tmp_path / "rows.json"
    rows = [{"conversation_id": "c", "role": role, "content": "Hi", "score": score} for role, score in RATED]
    path.write_text(json.dumps(rows))
    result = read_export(path, Options()).result
    assert result.varying == {"score": 1}
    assert not result.dialogues[0].metadata


def test_a_second_list_of_turns_is_named_though_its_fields_are_called_alike():
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    other = [{"role": "user", "content": "Nobody"}, {"role": "assistant", "content": "reads this"}]
    chat = known_recipes()["openai_chat"]
    assert unused([{"messages": turns, "other": other}] * 3, chat) == ("other[].role", "other[].content")
    assert unused([{"messages": [*turns, {"role": "tool", "content": "7"}]}] * 3, chat) == ()
