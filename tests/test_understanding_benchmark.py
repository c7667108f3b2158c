from __future__ import annotations

import sys

from conversations.dialogue import Dialogue, Turn, write_dialogues
from dial2vec.files import find_root
from tests.students import save_student

sys.path.insert(0, str(find_root() / "benchmarks"))

import understanding


def corpus(folder):
    """Write sixteen dialogues and their student as a run leaves them."""
    words = ["card", "bank", "money", "loan", "rent", "train", "coach", "ticket"]
    turns = [" ".join(words[(at + step) % 8] for step in range(9)) for at in range(16)]
    folder.mkdir()
    write_dialogues(
        folder / "dialogues.jsonl",
        [Dialogue(f"d{at}", (Turn("ann", text), Turn("bob", "card"))) for at, text in enumerate(turns)],
    )
    save_student(folder / "student")
    return folder


def test_every_command_is_measured_and_exact_search_is_compared(tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    commands = ["index", "search, moments", "search, moments, exact"]
    rows = list(understanding.rows_of_size(place, corpus(tmp_path / "demo"), 40, commands))
    assert [row.split(" | ")[1] for row in rows] == commands
    assert float(rows[0].split(" | ")[2]) > 0.1
    assert [row.split(" | ")[5] for row in rows] == ["", "", "1.000"]


def test_questions_lack_every_fourth_word(tmp_path):
    asked = understanding.questions(corpus(tmp_path / "demo"), 2)
    assert asked[0] == "bank money loan train coach ticket"
    assert len(asked) == 2


def test_recall_is_the_share_of_the_exact_hits():
    assert understanding.recalled([{"a", "b"}, {"c"}], [{"a", "c"}, {"c"}]) == "0.750"
