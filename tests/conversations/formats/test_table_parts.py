"""Tables in texts, and several tables below each other."""

from __future__ import annotations

import pytest

from tests.conversations.exports import imported, turns_of

READ = {"Call 17": ["Kim: Hello you", "Ann: My card"], "Call 18": ["Kim: Hi there", "Bo: Is it paid"]}


def read(result):
    assert result.quarantine == []
    return turns_of(result)


@pytest.mark.parametrize(
    "part",
    [
        "{title}\nTime,Speaker,Text\n1,Kim,{0}\n2,{name},{1}\n\n",
        "{title},,\nTime,Speaker,Text\n1,Kim,{0}\n2,{name},{1}\n,,\n",
        "{title}\nAgent,Kim Lee\n\nTime,Speaker,Text\n1,Kim,{0}\n2,{name},{1}\n\n",
    ],
)
def test_titles_above_tables_name_the_dialogues(tmp_path, part):
    parts = [
        part.format("Hello you", "My card", title="Call 17", name="Ann"),
        part.format("Hi there", "Is it paid", title="Call 18", name="Bo"),
    ]
    assert read(imported(tmp_path, "t.csv", "".join(parts))) == READ


def test_tables_without_titles_are_numbered_and_equal_titles_too(tmp_path):
    table = "speaker,text\nKim,Hello you\nAnn,My card\n"
    assert list(read(imported(tmp_path, "t.csv", table + table))) == ["t-1", "t-2"]
    titled = f"Transcript\n{table}Transcript\n{table}"
    assert list(read(imported(tmp_path, "t.csv", titled))) == ["Transcript", "Transcript (2)"]


def test_tables_with_ids_are_parted_by_them(tmp_path):
    table = "call_id,speaker,text\n17,Kim,Hello you\n"
    assert read(imported(tmp_path, "t.csv", table + table.replace("Hello you", "Again"))) == {
        "17": ["Kim: Hello you", "Kim: Again"]
    }


CELLS = [["call_id", "sender", "message"], ["17", "Kim", "Hello you"], ["17", "Ann", "My card"]]


@pytest.mark.parametrize(
    ("edge", "bar", "rule", "end"),
    [
        ("| ", " | ", "|---|---|---|\n", ""),
        ("| ", " | ", "+---+---+---+\n", "2 rows in set (0.00 sec)\n"),
        ("", " | ", "---+---+---\n", "(2 rows)\n"),
        ("│ ", " │ ", "├───┼───┼───┤\n", ""),
    ],
)
def test_a_table_with_rules_in_a_text_is_a_table(tmp_path, edge, bar, rule, end):
    first, *rows = [f"{edge}{bar.join(cells)}{edge[::-1]}\n" for cells in CELLS]
    content = "".join(("# Calls of May\n\n" if "-|" in rule else "", first, rule, *rows, end))
    assert read(imported(tmp_path, "t.txt", content)) == {"17": READ["Call 17"]}


def test_a_table_in_a_message_is_a_part_of_its_text(tmp_path):
    table = "| Speaker | Text |\n|---|---|\n| Bo | Hi |"
    content = f"Kim: Make a table\nAnn: Here it is.\nI hope you like it.\n{table}\nKim: Thanks\nAnn: Of course\n"
    assert read(imported(tmp_path, "t.txt", content))["t"][1] == f"Ann: Here it is.\nI hope you like it.\n{table}"
