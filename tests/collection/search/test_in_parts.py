"""Turns and words of a collection, made by several processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conversations.dialogue import write_dialogues
from dial2vec.collection import add
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.search import moments, turns, words
from dial2vec.collection.search.moments import open_moments
from dial2vec.collection.search.words import open_words, update_words
from dial2vec.encoder import StudentEncoder
from dial2vec.encoder.loading import load_encoder
from dial2vec.errors import ArtifactError

from .test_moments import dialogues

N = 90


@pytest.fixture
def transcripts(tmp_path, monkeypatch) -> Path:
    """Transcripts that are many parts."""
    monkeypatch.setattr(turns, "PART", 32)
    monkeypatch.setattr(words, "PART", 20)
    write_dialogues(tmp_path / "calls.jsonl", dialogues(N))
    return tmp_path / "calls.jsonl"


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of each file of the turns and of the words, by name."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_two_processes_write_the_files_of_one(transcripts, student_folder, tmp_path, monkeypatch):
    student = StudentEncoder.from_pretrained(student_folder)
    add(tmp_path / "one", transcripts, encoder=student, progress=False)
    monkeypatch.setattr("dial2vec.data.workers.processes_for", lambda n_parts, fewest: 2)
    add(tmp_path / "two", transcripts, encoder=student, progress=False)
    one = contents(tmp_path / "one" / "turns")
    assert one == contents(tmp_path / "two" / "turns")
    assert sum("indices" in name for name in one) == 2 * 4


def test_a_transformer_stays_in_one_process(transcripts, tiny_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "works_alone", lambda n_parts, fewest: False)
    monkeypatch.setattr(turns, "spread", None)
    monkeypatch.setattr(moments, "has_untrained", lambda collection: False)
    add(tmp_path / "c", transcripts, encoder=load_encoder(tiny_folder, device="cpu"), progress=False)
    assert open_moments(CollectionFolder(tmp_path / "c")) is not None


def test_a_killed_run_leaves_parts_of_words_that_the_next_one_keeps(transcripts, student_folder, tmp_path):
    add(tmp_path / "c", transcripts, encoder=StudentEncoder.from_pretrained(student_folder), turns=False)
    collection, finished = CollectionFolder(tmp_path / "c"), []

    def stop_after_three(n: int) -> None:
        finished.append(n)
        if len(finished) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        update_words(collection, done=stop_after_three)
    assert open_words(collection) is None
    update_words(collection, done=finished.append)
    # The last part that a run has written may lack dialogues, so it is made again.
    assert finished == [0, 20, 20, 20, 40, 20, 30]
    assert len(open_words(collection).of_dialogues("w1")) == N


def test_a_script_that_does_not_ask_whether_it_is_the_main_program_can_add(transcripts, student_folder, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from pathlib import Path\n"
        "from dial2vec.collection import add\n"
        "from dial2vec.collection.search import words\n"
        "from dial2vec.data import workers\n"
        "from dial2vec.encoder import StudentEncoder\n"
        "words.PART, workers.processes_for = 20, lambda n_parts, fewest: 2\n"
        f"student = StudentEncoder.from_pretrained({str(student_folder)!r})\n"
        f"add(Path({str(tmp_path / 'c')!r}), Path({str(transcripts)!r}), encoder=student, progress=False)\n"
        "print(__file__)\n"
    )
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.returncode) == (f"{script}\n", 0), ran.stderr
    assert open_words(CollectionFolder(tmp_path / "c")) is not None


def test_dialogues_that_end_too_early_are_an_error_and_no_index(transcripts, student_folder, tmp_path):
    add(tmp_path / "c", transcripts, encoder=StudentEncoder.from_pretrained(student_folder), turns=False)
    texts = tmp_path / "c" / "dialogues.jsonl"
    lines = texts.read_text().splitlines(keepends=True)
    texts.write_text("".join(lines[:50]))
    with pytest.raises(ArtifactError, match=r"dialogues\.jsonl ends at dialogue 50; expected 60\. If another machine"):
        update_words(CollectionFolder(tmp_path / "c"))
    assert open_words(CollectionFolder(tmp_path / "c")) is None
