from __future__ import annotations

import pytest

from conversations.dialogue import Dialogue, Turn, write_dialogues
from dial2vec.errors import CorpusError
from dial2vec_papers.tasks.sources import Sources, check_sources


def test_every_path_is_looked_at_before_anything_is_encoded(tmp_path):
    for sources, message in [
        (Sources(intents=tmp_path / "sets"), "sets"),
        (Sources(pairs=tmp_path / "sts.txt"), "sts.txt does not exist"),
        (Sources(candidates=tmp_path / "select.txt"), "select.txt does not exist"),
        (
            Sources(dialogues=(("calls", tmp_path / "test.jsonl"),)),
            "the corpus 'calls' has no splits yet: .* `dial2vec run`",
        ),
    ]:
        with pytest.raises(CorpusError, match=message):
            check_sources([], sources, seed=1)


def test_too_few_foreign_answers_are_found_at_once(tmp_path):
    write_dialogues(tmp_path / "test.jsonl", [Dialogue(str(n), (Turn("a", "q"), Turn("b", f"r{n}"))) for n in range(9)])
    with pytest.raises(CorpusError, match=r"calls has 8 other turns to stand against .*; expected 99"):
        check_sources([], Sources(dialogues=(("calls", tmp_path / "test.jsonl"),)), seed=1)


def test_data_that_no_named_task_uses_is_not_read(tmp_path):
    (tmp_path / "sts.txt").write_text("5\ta\tb\n")
    check_sources(["sentence_pairs"], Sources(pairs=tmp_path / "sts.txt", intents=tmp_path / "nowhere"), seed=1)
