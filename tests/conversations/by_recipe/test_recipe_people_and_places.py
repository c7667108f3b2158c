"""Names of people from another list of the record, records inside objects, and indented lines."""

from __future__ import annotations

from conversations.by_recipe.recipe import recipe_from
from conversations.by_recipe.recipe_lines import LineReader
from conversations.by_recipe.recipe_records import RecordReader
from conversations.by_recipe.recognising import recipe_of_json
from conversations.formats.records import Record

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
