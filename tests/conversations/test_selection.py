"""Conditions choose rows and turns; a path names a column inside nested values."""

from __future__ import annotations

import json

import pytest

from conversations.formats.records import Record
from conversations.options import Options
from conversations.reading import read_export
from conversations.selection import Selection, condition
from dial2vec.errors import CorpusError
from tests.conversations.exports import imported


@pytest.mark.parametrize(
    ("text", "values", "holds"),
    [
        ("public == true", {"public": True}, True),
        ("public == true", {"public": "True"}, True),
        ("public == true", {"public": "false"}, False),
        ("public != true", {"public": "no"}, True),
        ("type == note", {"type": "note"}, True),
        ('type == "a b"', {"type": "a b"}, True),
        ("n > 3", {"n": 4}, True),
        ("Comment Is Public = true", {"Comment Is Public": "TRUE"}, True),
        ("Geschäft == 'a b'", {"Geschäft": "a c"}, False),
        ("type=note", {"type": "mail"}, False),
        ("n > 3 && type == x", {"n": 4, "type": "y"}, False),
        ("contains(tags, 'vip')", {"tags": ["vip"]}, True),
        ("other == 1", {"type": "note"}, True),
        ("csat >= 4", {"csat": "4"}, True),
        ("csat >= 4", {"csat": "3.5"}, False),
        ("csat != 3", {"csat": "3"}, False),
        ("Customer Rating >= 4", {"Customer Rating": "5"}, True),
        ("agent = Ann Lee", {"agent": "Ann Lee"}, True),
        ("csat >= 4 && public == true", {"csat": "5", "public": "TRUE"}, True),
        ("csat >= 4", {"csat": ""}, False),
    ],
)
def test_a_condition_chooses_rows_that_it_is_about(text, values, holds):
    chosen = list(Selection(Options(where=(text,))).apply([Record(1, values)]))
    assert bool(chosen) == holds


def test_a_broken_condition_is_one_sentence():
    with pytest.raises(CorpusError, match=r"'a == ' \(--where\) is no expression"):
        condition("a == ", option="--where")


def test_rows_are_dropped_and_counted(tmp_path):
    result = imported(
        tmp_path, "e.csv", "id,speaker,text,kind\n1,a,one,x\n1,b,two,note\n1,a,three,x\n", drop=("kind == note",)
    )
    assert [turn.text for turn in result.dialogues[0].turns] == ["one", "three"]
    assert result.left_out == {"dropped": 1}


def test_turns_inside_records_are_chosen_too(tmp_path):
    turns = [{"speaker": "a", "text": "one", "public": True}, {"speaker": "b", "text": "two", "public": False}]
    result = imported(tmp_path, "e.json", json.dumps([{"id": 1, "turns": turns}]), where=("public == true",))
    assert [turn.text for turn in result.dialogues[0].turns] == ["one"]
    assert result.left_out == {"dropped": 1}


def test_a_path_reaches_nested_values(tmp_path):
    turns = [
        {"from": {"user": {"shown": name}}, "body": {"plain": text}} for name, text in (("A", "one"), ("B", "two"))
    ]
    path = tmp_path / "e.json"
    path.write_text(json.dumps([{"id": 1, "data": {"items": turns}}]))
    options = Options(turns="data.items", speaker="from.user.shown", text="body.plain")
    [dialogue] = read_export(path, options).result.dialogues
    assert [(turn.speaker, turn.text) for turn in dialogue.turns] == [("A", "one"), ("B", "two")]
    [dialogue] = imported(
        tmp_path,
        "rows.jsonl",
        "\n".join(json.dumps({"id": 7, **turn}) for turn in turns),
        speaker="from.user.shown",
        text="body.plain",
    ).dialogues
    assert [turn.speaker for turn in dialogue.turns] == ["A", "B"]


def test_a_path_may_flatten_lists(tmp_path):
    parts = [{"lines": [{"who": "A", "text": "one"}]}, {"lines": [{"who": "B", "text": "two"}]}]
    [dialogue] = imported(
        tmp_path, "e.json", json.dumps({"results": parts}), turns="results[].lines[]", speaker="who"
    ).dialogues
    assert [turn.text for turn in dialogue.turns] == ["one", "two"]


def test_conditions_on_records_and_on_turns_hold_together(tmp_path):
    turns = [{"speaker": "a", "text": "one", "public": True}, {"speaker": "b", "text": "two", "public": False}]
    tags = [{"tag": "x"}]
    result = imported(
        tmp_path,
        "e.json",
        json.dumps([{"id": at, "state": at, "turns": turns, "tags": tags} for at in ("open", "closed")]),
        where=("state == closed", "public == true"),
    )
    assert [[turn.text for turn in dialogue.turns] for dialogue in result.dialogues] == [["one"]]
    assert result.left_out == {"dropped": 2}


@pytest.mark.parametrize("option", ["where", "drop"])
def test_a_condition_on_a_column_that_is_missing_is_refused(tmp_path, option):
    path = tmp_path / "e.csv"
    path.write_text("id,speaker,text,csat\n1,a,one,4\n1,b,two,4\n")
    with pytest.raises(CorpusError, match=rf"'cast >= 4' \(--{option}\) names no column of .*'csat'"):
        read_export(path, Options(**{option: ("cast >= 4",)}))


def test_a_condition_that_no_row_meets_is_refused(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("id,speaker,text,csat\n1,a,one,4\n1,b,two,4\n")
    with pytest.raises(CorpusError, match="no row or record that --where and --drop leave: 2 rows"):
        read_export(path, Options(where=("csat > 4",)))


def test_a_condition_may_be_about_some_files_of_a_folder(tmp_path):
    (tmp_path / "a.csv").write_text("id,speaker,text,csat\n1,a,one,4\n1,b,two,4\n")
    (tmp_path / "b.csv").write_text("id,speaker,text\n2,a,one\n2,b,two\n")
    assert len(read_export(tmp_path, Options(where=("csat == 4",))).result.dialogues) == 2


def test_a_condition_on_a_chat_in_lines_is_refused(tmp_path):
    path = tmp_path / "chat.txt"
    path.write_text("Ann: hello\nBo: hi\n")
    with pytest.raises(CorpusError, match=r"names no column of .*chat.txt; it has none. So leave it out."):
        read_export(path, Options(where=("speaker == Ann",)))
