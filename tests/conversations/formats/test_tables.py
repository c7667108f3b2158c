from __future__ import annotations

import pytest

from conversations.formats.encodings import find_encoding
from conversations.formats.tables import MOST_LINES, find_delimiter, named_delimiter, read_table
from conversations.options import Options
from conversations.reading import read_export
from dial2vec.errors import CorpusError
from tests.conversations.exports import imported


def rows(path, content, *, delimiter=",", header=True):
    path.write_text(content, newline="", encoding="utf-8")
    return [tuple(row) for row in read_table(path, find_encoding(path), delimiter, header=header)]


def test_lines_are_those_of_the_file_also_behind_line_ends_in_quotes(tmp_path):
    found = rows(tmp_path / "t.csv", 'a,b\r\n1,"two\r\nlines\nand three"\r\n\r\n2,x\r\n')
    assert found == [(2, {"a": "1", "b": "two\r\nlines\nand three"}, ""), (6, {"a": "2", "b": "x"}, "")]


def test_a_quote_that_is_never_closed_costs_its_row_and_no_other(tmp_path):
    found = rows(tmp_path / "t.csv", 'a,b\n1,x\n2,"open\n3,y\n4,z\n')
    assert [(line, values) for line, values, problem in found if not problem] == [
        (2, {"a": "1", "b": "x"}),
        (4, {"a": "3", "b": "y"}),
        (5, {"a": "4", "b": "z"}),
    ]
    assert [row for row in found if row[2]] == [(3, {"a": "2"}, "a quote that is opened in this row is never closed")]


def test_a_quote_that_another_row_closes_costs_its_row_and_no_other(tmp_path):
    found = rows(tmp_path / "t.csv", 'a,b\n1,"open\n2,x\n3,"whole"\n4,z\n')
    assert [line for line, _, problem in found if not problem] == [3, 4, 5]
    assert [(line, problem) for line, _, problem in found if problem] == [
        (2, "text follows a closing quote in this row")
    ]


def test_a_quote_is_not_sought_through_the_whole_of_a_large_file(tmp_path):
    found = rows(tmp_path / "t.csv", 'a,b\n1,"open\n' + "2,x\n" * (MOST_LINES + 10))
    assert "lines" in found[0][2]
    assert len(found) == MOST_LINES + 11


def test_rows_of_another_width_are_problems_unless_only_blank_cells_are_too_many(tmp_path):
    found = rows(tmp_path / "t.csv", "a,b\n1\n1,2,3\n1,2,,\n")
    assert [problem for _, _, problem in found] == [
        "the row has 1 cell, and there are 2 columns",
        "the row has 3 cells, and there are 2 columns",
        "",
    ]


def test_columns_without_a_header_are_numbered_and_those_without_a_name_too(tmp_path):
    assert rows(tmp_path / "t.csv", "x,y\n", header=False) == [(1, {"1": "x", "2": "y"}, "")]
    assert rows(tmp_path / "t.csv", "a,,a\n1,2,3\n") == [(2, {"a": "1", "column 2": "2", "a (3)": "3"}, "")]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_by_the_names_of_the_columns(tmp_path, delimiter):
    cells = [["call id", "speaker", "text"], ["1", "a", '"x, y; z | and more"'], ["2", "b", '"1;2;3,4|5"']]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(delimiter.join(row) for row in cells))
    assert find_delimiter(path, find_encoding(path)) == delimiter


def test_the_line_by_which_excel_is_told_the_delimiter_is_no_row(tmp_path):
    path = tmp_path / "t.csv"
    found = rows(path, "sep=;\nid;text\n1;x\n", delimiter=";")
    assert found == [(3, {"id": "1", "text": "x"}, "")]
    assert find_delimiter(path, find_encoding(path)) == ";"


def test_a_cell_of_a_megabyte_is_read(tmp_path):
    [(_, values, problem)] = rows(tmp_path / "t.csv", f"a,b\n1,{'x' * 1_000_000}\n")
    assert len(values["b"]) == 1_000_000
    assert not problem


@pytest.mark.parametrize(("said", "meant"), [("tab", "\t"), ("\\t", "\t"), ("Pipe", "|"), ("#", "#")])
def test_a_delimiter_is_named_or_given(said, meant):
    assert named_delimiter(said) == meant


@pytest.mark.parametrize("said", ["", "ab", '"', "\n"])
def test_what_cannot_part_cells_is_refused(said):
    with pytest.raises(CorpusError, match="is no delimiter; expected one character, or comma"):
        named_delimiter(said)


def test_a_header_that_is_broken_is_named_with_its_line(tmp_path):
    with pytest.raises(CorpusError, match=r"t.csv:1: a quote that is opened in this row is never closed; expected the"):
        rows(tmp_path / "t.csv", '"id,text\n1,2\n')
    with pytest.raises(CorpusError, match="has only blank lines"):
        rows(tmp_path / "t.csv", "\n\n")


def read_whole(path, content):
    path.write_text(content, newline="", encoding="utf-8")
    export = read_export(path, Options())
    return export.result, export.descriptions[path].notes


HEADER = "Interaction ID,Participant,Message\n"
TABLE = "17,Agent,Hello you\n17,Customer,My card\n18,Agent,Hi there\n18,Customer,Is it paid\n"


def test_title_lines_above_the_header_are_left_out_and_that_is_said(tmp_path):
    result, notes = read_whole(tmp_path / "t.csv", "Transcript Report\nGenerated,2024\n\n" + HEADER + TABLE)
    assert len(result.dialogues) == 2
    assert "title lines above the names of the columns are left out: 2" in notes
    _, notes = read_whole(tmp_path / "t.csv", HEADER + TABLE)
    assert not any("title" in note for note in notes)


def test_a_second_row_of_headings_is_left_out_and_that_is_said(tmp_path):
    result, notes = read_whole(tmp_path / "t.csv", HEADER + "Conversation,Who spoke,What was said\n" + TABLE)
    assert [dialogue.dialogue_id for dialogue in result.dialogues] == ["17", "18"]
    assert any("further headings are left out: 1" in note for note in notes)
    result, notes = read_whole(tmp_path / "t.csv", HEADER + "x,Agent,Bye\n" + TABLE)
    assert len(result.dialogues) == 3


def test_a_table_of_tabs_without_quoting_is_read_as_it_stands(tmp_path):
    table = 'call_id\tspeaker\ttext\n1\tagent\tHe said "hello"\n1\tcustomer\t"quoted" start\n'
    result, notes = read_whole(tmp_path / "t.tsv", table)
    assert result.dialogues[0].turns[1].text == '"quoted" start'
    assert "its quotes are plain characters, not signs around cells" in notes
    result, notes = read_whole(
        tmp_path / "t.tsv", table.replace('"quoted" start', '"a\nb"').replace('said "hello"', "x")
    )
    assert result.dialogues[0].turns[1].text == "a\nb"
    assert not any("quotes" in note for note in notes)


def test_a_text_called_nan_is_blank_and_a_speaker_called_so_is_said(tmp_path):
    result, notes = read_whole(tmp_path / "t.csv", "call_id,speaker,text\n1,a,Hello\n1,nan,Hi\n1,a,NaN\n1,b,None\n")
    assert [(turn.speaker, turn.text) for turn in result.dialogues[0].turns] == [
        ("a", "Hello"),
        ("nan", "Hi"),
        ("b", "None"),
    ]
    assert result.blank == 1
    assert any("a speaker is called 'nan'" in note for note in notes)


@pytest.mark.parametrize(
    ("content", "note"),
    [
        ("Call ID,Speaker,Text\n17,A,Hello\n,B,Hi\n,A,Bye\n18,A,Hello\n,B,Hi\n,A,Bye\n", "in its first row only"),
        ("call_id,transcript\n17,A: Hello\\nB: Hi\\nA: Bye\n18,A: Hello\\nB: Hi\\nA: Bye\n", "as \\n in 'transcript'"),
    ],
)
def test_merged_cells_and_written_line_breaks_are_mended_with_a_note(tmp_path, content, note):
    path = tmp_path / "t.csv"
    path.write_text(content)
    export = read_export(path, Options())
    said = [("A", "Hello"), ("B", "Hi"), ("A", "Bye")]
    turns = {d.dialogue_id: [(t.speaker, t.text) for t in d.turns] for d in export.result.dialogues}
    assert turns == {"17": said, "18": said}
    assert any(note in text for text in export.descriptions[path].notes)


def test_messages_outside_a_thread_belong_to_no_thread_above(tmp_path):
    assert (
        len(
            imported(
                tmp_path,
                "t.csv",
                "thread_ts,ts,user,text\n1.1,1.1,ana,Hello you\n,2.1,bo,Other things\n,3.1,cy,A third one\n",
            ).dialogues
        )
        == 3
    )


def test_a_text_inside_json_is_taken_out_and_an_id_is_found_by_name(tmp_path):
    path = tmp_path / "t.csv"
    row = '1,{},"{{""type"":""text"",""text"":""{}""}}"\n'
    path.write_text("contact_id,sender type,content\n" + row.format("contact", "Hello") + row.format("user", "Hi"))
    [dialogue] = read_export(path, Options()).result.dialogues
    assert [turn.text for turn in dialogue.turns] == ["Hello", "Hi"]
    path.write_text("call_id,messages\n17,\"[{'role': 'user', 'content': 'Hi'}, {'role': 'bot', 'content': 'Yo'}]\"\n")
    assert read_export(path, Options()).result.dialogues[0].dialogue_id == "17"


@pytest.mark.parametrize("rule", ["|---|:---:|", "|:--|--:|", "+---+---+", "+===+===+"])
def test_a_rule_in_a_table_of_pipes_is_no_row(tmp_path, rule):
    [dialogue] = imported(
        tmp_path, "t.txt", f"| speaker | text |\n{rule}\n| Kim | Hi |\n| Ann | So - long |\n{rule}\n"
    ).dialogues
    assert [(turn.speaker, turn.text) for turn in dialogue.turns] == [("Kim", "Hi"), ("Ann", "So - long")]


def test_a_speaker_in_merged_cells_speaks_in_the_rows_below(tmp_path):
    found = [
        [f"{turn.speaker}: {turn.text}" for turn in item.turns]
        for item in imported(
            tmp_path,
            "t.csv",
            "Call,Speaker,Text\n1,Kim,Hello\n,,how are you?\n,Ann,Fine\n,,and you?\n2,Kim,Hi\n,Bo,Open?\n,,Today?\n",
        ).dialogues
    ]
    assert found == [
        ["Kim: Hello", "Kim: how are you?", "Ann: Fine", "Ann: and you?"],
        ["Kim: Hi", "Bo: Open?", "Bo: Today?"],
    ]


def test_a_mark_of_the_byte_order_inside_a_table_is_no_part_of_a_cell(tmp_path):
    table = "\ufeffid,speaker,text\n{0},Kim,Hi\n{0},Ann,Bye\n"
    assert [item.dialogue_id for item in imported(tmp_path, "t.csv", table.format(1) + table.format(2)).dialogues] == [
        "1",
        "2",
    ]
