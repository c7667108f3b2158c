from pathlib import Path

from conversations.dialogue import Dialogue, Turn
from tests.papers.corpora.upstream import kvret, read


def test_intent_is_the_label_and_the_place_in_the_file_the_id(tmp_path: Path):
    dialogues, quarantine = read("smd", tmp_path, form="zip")
    assert dialogues[:2] == [
        Dialogue("train/1", (Turn("driver", "Rain?"), Turn("assistant", "No.")), ("weather",), "train"),
        Dialogue("train/2", (Turn("driver", "Home."), Turn("assistant", "Ten minutes.")), ("navigate",), "train"),
    ]
    assert quarantine == []


def test_dialogue_without_turns_which_upstream_has_is_quarantined(tmp_path: Path):
    files = {"kvret_dev_public.json": [kvret("weather"), kvret("schedule", "When?", "At 3.")]}
    dialogues, quarantine = read("smd", tmp_path, files)
    assert [d.dialogue_id for d in dialogues if d.split == "dev"] == ["dev/2"]
    assert [(found.dialogue_id, found.reason) for found in quarantine] == [("dev/1", "it has no turns")]
