from pathlib import Path

import pytest

from conversations.dialogue import Dialogue, Turn
from dial2vec.errors import CorpusError
from tests.papers.corpora.upstream import WHOLE, gsim, read


def test_users_begin_and_the_domain_is_label_and_part_of_the_id(tmp_path: Path):
    dialogues, quarantine = read("gsim", tmp_path)
    said = (Turn("user", "hi , 3 tickets ."), Turn("system", "which film ?"), Turn("user", "any ."))
    assert dialogues == [
        Dialogue(f"{domain}/{split}/d_1", said, (domain,), split)
        for domain in ("movie", "restaurant")
        for split in ("train", "dev", "test")
    ]
    assert quarantine == []


def test_later_turn_without_the_system_is_quarantined(tmp_path: Path):
    odd = gsim("d_2", "hi", "yes ?", "bye")
    del odd["turns"][1]["system_utterance"]
    _, quarantine = read("gsim", tmp_path, {"data/sim-M/dev.json": [gsim("d_1", "hi"), odd]})
    assert [(found.dialogue_id, found.reason) for found in quarantine] == [
        ("movie/dev/d_2", "the key 'system_utterance' is missing")
    ]


def test_files_that_are_absent_are_named_and_the_others_are_read(tmp_path: Path):
    dialogues, quarantine = read("gsim", tmp_path, {"data/sim-R/train.json": None, "data/sim-R/test.json": None})
    assert [dialogue.dialogue_id for dialogue in dialogues if dialogue.labels == ("restaurant",)] == [
        "restaurant/dev/d_1"
    ]
    assert [str(entry.origin) for entry in quarantine] == ["sim-R/train.json", "sim-R/test.json"]
    assert {entry.reason for entry in quarantine} == {"the file is absent, so its dialogues are left out"}
    with pytest.raises(CorpusError, match=r"gsim holds no file .*; expected those of https"):
        read("gsim", tmp_path / "none", dict.fromkeys(WHOLE["gsim"]) | {"readme.txt": "none"})
