import json
from pathlib import Path

from conversations.dialogue import Dialogue, Turn
from tests.papers.corpora.upstream import WHOLE, camrest, read

FILE = "data/CamRest676.json"


def test_comments_above_the_list_are_skipped_and_users_begin(tmp_path: Path):
    dialogues, quarantine = read("camrest676", tmp_path, form="zip")
    assert str(WHOLE["camrest676"][FILE]).startswith("#####\n#  Copyright")
    said = ("Cheap food?", "Which area?", "North.", "The Oak.")
    assert dialogues == [
        Dialogue("0", tuple(Turn(("user", "system")[n % 2], text) for n, text in enumerate(said))),
    ]
    assert quarantine == []


def test_copy_without_comments_is_read_as_well(tmp_path: Path):
    plain = json.dumps([camrest(0, ("Cheap food?", "Which area?"), ("North.", "The Oak."))])
    assert read("camrest676", tmp_path / "plain", {FILE: "\ufeff" + plain}) == read("camrest676", tmp_path / "comments")


def test_turn_without_an_answer_is_quarantined(tmp_path: Path):
    odd = camrest(1, ("Food?", "Which?"))
    del odd["dial"][0]["sys"]["sent"]
    _, quarantine = read("camrest676", tmp_path, {FILE: [camrest(0, ("Hi", "Hello")), odd]})
    assert [(found.dialogue_id, found.reason) for found in quarantine] == [("1", "the key 'sent' is missing")]
