from pathlib import Path

import pytest

from conversations.dialogue import Dialogue, Turn
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.msr_e2e import unquoted
from tests.papers.corpora.upstream import MSR_HEAD, read, tabs

TAXI = "data/taxi_all.tsv"


def test_lines_of_a_session_are_a_dialogue_and_quotation_marks_of_the_table_go(tmp_path: Path):
    dialogues, quarantine = read("msr_e2e", tmp_path, form="zip")
    assert dialogues[:2] == [
        Dialogue("movie/1", (Turn("user", "One movie please"), Turn("agent", 'Where, and "when"?')), ("movie",)),
        Dialogue("movie/2", (Turn("user", "Hello"),), ("movie",)),
    ]
    assert quarantine == []


def test_session_that_comes_back_or_misses_a_message_is_quarantined(tmp_path: Path):
    table = tabs(
        MSR_HEAD,
        (1, 1, "t", "user", "Hello"),
        (2, 1, "t", "user", "Hi"),
        (2, 3, "t", "agent", "Yes?"),
        (1, 1, "t", "user", "Again"),
        (3, 1, "t", "driver", "Hi"),
        (4, 1, "t", "user"),
    )
    dialogues, quarantine = read("msr_e2e", tmp_path, {TAXI: table + "\n"})
    assert [d.dialogue_id for d in dialogues if d.labels == ("taxi",)] == ["taxi/1"]
    assert [(found.origin.line, found.dialogue_id, found.reason) for found in quarantine] == [
        (3, "taxi/2", "message 2 must have 'Message.ID' 2, found '3'"),
        (5, "taxi/1", "the id 'taxi/1' came before"),
        (6, "taxi/3", "'Message.From' must be user or agent, found 'driver'"),
        (7, "taxi/4", "line 7 has 4 cells, expected at least 5"),
    ]


def test_table_with_other_columns_is_refused(tmp_path: Path):
    table = tabs(("session", "text"), (1, "Hello"))
    with pytest.raises(CorpusError, match=r"taxi_all.tsv has the columns session, text; expected session.ID, "):
        read("msr_e2e", tmp_path, {TAXI: table})


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ('"a, b"', "a, b"),
        ("a", "a"),
        ('"', '"'),
        ('""', ""),
        ('say "hi"', 'say "hi"'),
        ('"Up" or "Heat"', '"Up" or "Heat"'),
        ('"He said ""hi"""', 'He said "hi"'),
    ],
)
def test_only_marks_around_a_whole_text_are_removed(cell: str, text: str):
    assert unquoted(cell) == text


def test_a_domain_whose_file_is_absent_is_named_and_the_others_are_read(tmp_path: Path):
    dialogues, quarantine = read("msr_e2e", tmp_path, {"data/restaurant_all.tsv": None})
    assert {label for dialogue in dialogues for label in dialogue.labels} == {"movie", "taxi"}
    assert [(str(entry.origin), entry.reason) for entry in quarantine] == [
        ("restaurant_all.tsv", "the file is absent, so its dialogues are left out")
    ]
