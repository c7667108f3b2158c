from pathlib import Path

from conversations.dialogue import Dialogue, Turn
from tests.papers.corpora.upstream import frames, read


def test_authors_are_the_speakers_and_there_are_no_labels(tmp_path: Path):
    dialogues, _ = read("frames", tmp_path)
    assert dialogues[0] == Dialogue("f1", (Turn("user", "To Rome."), Turn("wizard", "When?"), Turn("user", "In May.")))
    assert [dialogue.labels for dialogue in dialogues] == [(), ()]


def test_unknown_author_and_repeated_id_are_quarantined(tmp_path: Path):
    odd = frames("f2", "Hello")
    odd["turns"][0]["author"] = "admin"
    _, quarantine = read("frames", tmp_path, {"frames.json": [frames("f1", "Hi"), frames("f1", "Ho"), odd]})
    assert [(found.origin.line, found.dialogue_id, found.reason) for found in quarantine] == [
        (2, "f1", "the id 'f1' came before"),
        (3, "f2", "'author' must be user or wizard, found 'admin'"),
    ]
