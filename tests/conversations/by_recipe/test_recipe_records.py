"""Records read by a recipe."""

from __future__ import annotations

import pytest

from conversations.by_recipe.known import known_recipes
from conversations.by_recipe.recipe import recipe_from
from conversations.by_recipe.recipe_lines import LineReader
from conversations.by_recipe.recipe_records import RecordReader, names_in
from conversations.by_recipe.recognising import recipe_of_json, recipe_of_records
from conversations.formats.records import Record


def _read(recipe, *records):
    reader = RecordReader(recipe, name="export")
    return [record.values for record in reader.read(Record(n, values) for n, values in enumerate(records, start=1))]


def test_rows_that_answer_each_other_are_one_dialogue():
    recipe = recipe_from("title: x\nsource: y\nspeaker: who\ntext: text\nbranch: {id: id, parent: to}", "x", where="x")
    rows = [("3", "2"), ("2", "1"), ("1", ""), ("4", "2"), ("8", "7"), ("9", "7"), ("5", "6"), ("6", "5")]
    read = _read(recipe, *({"id": name, "to": parent, "who": "a", "text": "b"} for name, parent in rows))
    ids = [values["id"] for values in read]
    assert ids[:6] == ["1", "1", "1", "1", "7", "7"]
    assert ids[6] == ids[7]


def test_lines_in_a_cell_of_html_are_read_without_tags():
    recipe = recipe_from(
        "title: x\nsource: y\nhas: [body]\nturns: body\nhtml: true\nlines: {turn: '^(?P<speaker>\\w+): (?P<text>.*)$'}",
        "x",
        where="x",
    )
    [values] = _read(recipe, {"body": "<p>Ann: 1 &lt; 2</p>Bo: yes<br>"})
    assert [(turn["speaker"], turn["text"]) for turn in values["turns"]] == [("Ann", "1 < 2"), ("Bo", "yes")]


@pytest.mark.parametrize("inside", [lambda rows: rows, lambda rows: {"data": rows, "count": 1}])
def test_rows_inside_records_are_recognised(inside):
    row = {"author_id": 1, "public": True, "html_body": "<p>Hi</p>", "body": "Hi", "created_at": "2024-03-05T10:00:00Z"}
    ticket = {"id": 7, "messages of it": inside([row])}
    recipe = recipe_of_records([ticket, ticket])
    assert recipe
    assert recipe.name == "zendesk_comments"
    [values] = _read(recipe, ticket)
    assert values["id"] == "7"
    assert [turn["text"] for turn in values["turns"]] == ["Hi"]


def test_rows_without_an_id_are_the_dialogue_of_the_file():
    recipe = recipe_from("title: x\nsource: y\nid: id\nspeaker: who\ntext: text", "x", where="x")
    assert [values["id"] for values in _read(recipe, {"who": "a", "text": "b"}, {"who": "a", "text": "c"})] == [
        "export",
        "export",
    ]
    assert [values["id"] for values in _read(recipe, {"id": 1, "who": "a", "text": "b"}, {"who": "a"})] == ["1", ""]


CALL = "title: x\nsource: y\nhas: [lines]\nturns: lines\nspeaker: by\ntext: text\npeople: 'people[].[id, name]'"


def test_speakers_get_their_names_from_the_list_of_people():
    values = {
        "people": [{"id": 1, "name": "Ana"}, {"id": 2, "name": None}],
        "lines": [{"by": 1, "text": "Hi"}, {"by": 2, "text": "Hello"}, {"by": 3, "text": "Yes"}],
    }
    [record] = RecordReader(recipe_from(CALL, "x", where="x"), name="x").read([Record(1, values)])
    assert [turn["speaker"] for turn in record.values["turns"]] == ["Ana", "2", "3"]


def test_a_record_inside_objects_is_found_if_it_is_the_only_one():
    recipe = recipe_from(CALL, "x", where="x")
    call = {"lines": [{"by": 1, "text": "Hi"}]}
    assert recipe_of_json({"data": {"call": call}}, [recipe]) == (recipe, ("data", "call"))
    assert recipe_of_json({"a": "x", "b": call, "c": call}, [recipe]) is None


def test_lines_below_a_turn_lose_the_indent_that_they_share():
    text = r"lines: {turn: '^(?P<speaker>\w+):\n?(?P<text>.*)$'}"
    recipe = recipe_from(f"title: x\nsource: y\n{text}", "x", where="x")
    [record] = LineReader(recipe, name="x").read("Ana:\n\tHi\n\tone\n\t  two\n")
    assert record.values["turns"][0]["text"] == "Hi\none\n  two"


def test_the_number_0_is_a_value_by_which_a_recipe_is_recognised():
    recipe = recipe_from("title: x\nsource: y\nhas: [offset, by]\nspeaker: by\ntext: text", "x", where="x")
    assert recipe.fits({"offset": 0, "by": 0})
    assert not recipe.fits({"offset": False, "by": 0})


@pytest.mark.parametrize("name", [name for name, recipe in known_recipes().items() if recipe.not_speech])
def test_rules_that_name_no_field_of_a_turn_are_false_for_it(name):
    recipe = known_recipes()[name]
    words = sorted({word for _, rule in recipe.not_speech for word in names_in(rule.text) if len(word) < 20})
    reader = RecordReader(recipe, name="export")
    for element in [{}, {"text": "Hi"}, *({word: value} for word in words for value in (True, "", "note", "system"))]:
        every = [kind for kind, rule in recipe.not_speech if rule(element) not in (None, False, [], {}, "")]
        tried = [kind for kind, rule in reader._rules(element) if rule(element) not in (None, False, [], {}, "")]
        assert tried == every
