from pathlib import Path

from conversations.dialogue import Dialogue, Turn
from tests.papers.corpora.upstream import gsim, read


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
