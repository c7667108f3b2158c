from pathlib import Path

from conversations.dialogue import Dialogue, Turn
from tests.papers.corpora.upstream import read, woz


def test_system_speaks_before_each_turn_of_the_user_but_the_first_and_other_languages_are_not_read(tmp_path: Path):
    dialogues, quarantine = read("woz", tmp_path)
    said = (Turn("user", "Food?"), Turn("system", "Which area?"), Turn("user", "North."))
    assert dialogues == [
        Dialogue(f"{split}/{number}", said, (), split) for number, split in enumerate(("train", "dev", "test"))
    ]
    assert quarantine == []


def test_turns_out_of_order_are_quarantined(tmp_path: Path):
    odd = woz(7, ("", "Food?"), ("Which?", "Thai."))
    odd["dialogue"].reverse()
    _, quarantine = read("woz", tmp_path, {"data/woz/woz_test_en.json": [woz(6, ("", "Hi")), odd]})
    assert [(found.origin.line, found.dialogue_id, found.reason) for found in quarantine] == [
        (2, "test/7", "'turn_idx' of turn 1 must be 0, found 1")
    ]
