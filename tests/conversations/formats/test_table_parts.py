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


TABLE = "| # | Who | What |\n|---|:--|---|\n| 1 | **Agent** | Hello |\n| 2 | Caller | My kite \\| tail<br>is torn |\n"
SAID = ["Agent: Hello", "Caller: My kite | tail\nis torn"]


@pytest.mark.parametrize(
    "text",
    [
        f"# Call 17\n\nDate: 2024-03-05\n\n{TABLE}\n## Summary\n\nCaller: wants a repair.\n",
        f"Call of 5 March\n\n{TABLE}\n> Note: calls back.\n\nSummary: short.\nAgent: friendly.\n",
        f"| Name | Role |\n|---|---|\n| Agent | Kim |\n| Caller | Ana |\n\n## Call\n\n{TABLE}\n- Agent: send it\n",
        f"---\ntitle: Call\n---\n\nWe met at ten.\nIt was short.\nSo it is.\nWell.\n\n{TABLE}\nRated 5 | 5\n",
    ],
)
def test_only_the_table_of_a_note_is_said(tmp_path, text):
    result = imported(tmp_path, "call.md", text)
    assert list(turns_of(result).values()) == [SAID]
    assert result.quarantine == []


def test_tables_below_headings_are_dialogues_and_notes_between_them_are_none(tmp_path):
    text = f"## Call 1\n\n{TABLE}\nSummary: short.\n\n## Call 2\n\n{TABLE}\nSummary: a kite.\n"
    assert turns_of(imported(tmp_path, "calls.md", text)) == {"Call 1": SAID, "Call 2": SAID}
