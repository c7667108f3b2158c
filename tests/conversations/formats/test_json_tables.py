"""Tables in JSON, in the forms of programs for tables and of databases."""

from __future__ import annotations

import json

import pytest

from tests.conversations.exports import imported, turns_of

NAMES = ["conversation_id", "speaker", "text"]
CELLS = [["a", "user", "Hi there"], ["a", "bot", "Yes?"], ["b", "user", "Bye now"]]
READ = {"a": ["user: Hi there", "bot: Yes?"], "b": ["user: Bye now"]}
COLUMNS = dict(zip(NAMES, map(list, zip(*CELLS, strict=True)), strict=True))


@pytest.mark.parametrize(
    "content",
    [
        [NAMES, *CELLS],
        {"columns": NAMES, "index": [0, 1, 2], "data": CELLS},
        {"fields": [{"name": name, "type": "text"} for name in NAMES], "rows": CELLS},
        COLUMNS,
        {name: {str(at): cell for at, cell in enumerate(cells)} for name, cells in COLUMNS.items()},
    ],
)
def test_a_table_with_its_names_once_is_read_by_rows(tmp_path, content):
    assert turns_of(imported(tmp_path, "e.json", json.dumps(content))) == READ


def test_lists_of_texts_without_names_of_columns_are_dialogues(tmp_path):
    result = turns_of(
        imported(tmp_path, "e.json", json.dumps([["How are you?", "Fine, thanks."], ["Where is it?", "There."]]))
    )
    assert result["e-2"] == ["A: Where is it?", "B: There."]
