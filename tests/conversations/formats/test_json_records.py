from __future__ import annotations

import io
import json

import pytest

from conversations.formats import records
from conversations.formats.encodings import Encoding
from conversations.formats.records import BY_ID, JsonText, lists_in, outline, read_json_lines, read_json_records
from dial2vec.errors import CorpusError
from tests.conversations.exports import imported, turns_of

UTF8 = Encoding("utf-8", "UTF-8")


def write(tmp_path, content):
    path = tmp_path / "e.json"
    path.write_text(content, encoding="utf-8")
    return path


def test_objects_of_a_list_come_one_by_one_with_their_lines(tmp_path):
    path = write(tmp_path, '[\n {"a": 1},\n\n {"a":\n 2}, [{"b": 3}], 4]\n')
    assert [tuple(record) for record in read_json_records(path, UTF8, ())] == [
        (2, {"a": 1}, ""),
        (4, {"a": 2}, ""),
        (5, {"turns": [{"b": 3}]}, ""),
        (5, {}, "not a JSON object"),
    ]


@pytest.mark.parametrize("block", [1, 2, 7, 1000])
def test_any_json_is_decoded_alike_however_it_is_cut_into_blocks(monkeypatch, tmp_path, block):
    monkeypatch.setattr(records, "BLOCK", block)
    values = [{"text": 'a "quoted" \\ 😀\n', "n": -1.5e10, "x": [True, None, {}]}, {"n": 123456789012345678901}]
    path = write(tmp_path, json.dumps({"meta": [1, 2], "data": {"items": values}}, indent=2))
    assert list(lists_in(outline(path, UTF8))) == [("data", "items")]
    assert [record.values for record in read_json_records(path, UTF8, ("data", "items"))] == values
    assert JsonText(io.TextIOWrapper(io.BytesIO(b" 12345 ")), path).value() == 12345


def test_keys_that_are_ids_become_the_ids(tmp_path):
    path = write(tmp_path, '{"c1": [{"text": "x"}], "c2": {"log": []}, "c3": 5}')
    assert [tuple(record) for record in read_json_records(path, UTF8, BY_ID)] == [
        (1, {"dialogue_id": "c1", "turns": [{"text": "x"}]}, ""),
        (1, {"dialogue_id": "c2", "log": []}, ""),
        (1, {}, "not a JSON object"),
    ]


@pytest.mark.parametrize(
    "content",
    ['[{"a": 1}', '[{"a": 1} {"a": 2}]', '{"a" 1}', "[1] x", "{1: 2}", "[" * 100_000, '["' + "9", "nul", "[1,"],
)
def test_json_that_is_not_whole_is_refused_with_its_line(tmp_path, content):
    path = write(tmp_path, "\n" + content)
    with pytest.raises(CorpusError, match=r"e.json:2: not valid JSON \("):
        list(read_json_records(path, UTF8, () if content.startswith("[") else None))


def test_lines_that_are_no_object_come_with_their_problem(tmp_path):
    path = tmp_path / "e.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\n{bad\n[{"t": 1}]\n5\n{"a": "\xff"}\n{"a": "\\ud83d"}\n' + b"9" * 5000)
    found = [tuple(record) for record in read_json_lines(path, UTF8)]
    assert found[0] == (1, {"a": 1}, "")
    assert [(line, problem) for line, _, problem in found[1:]] == [
        (3, "not valid JSON (Expecting property name enclosed in double quotes at column 2)"),
        (4, ""),
        (5, "not a JSON object"),
        (6, "the line is damaged: it holds bytes that are not valid characters"),
        (7, ""),
        (8, "not valid JSON (a number of thousands of digits, or nesting without end)"),
    ]


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
