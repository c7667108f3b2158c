"""Turns and words of a collection, made by several processes and by the workers of a cluster."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from data.workers.test_cluster import kill_a_worker
from dial2vec.collection import add
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.embedding.on_ray import RayWorkers
from dial2vec.collection.search import turns, words
from dial2vec.collection.search.moments import open_moments
from dial2vec.collection.search.words import open_words, update_words
from dial2vec.dialogue import write_dialogues
from dial2vec.encoder import StudentEncoder
from dial2vec.encoder.loading import load_encoder

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
    add(tmp_path / "c", transcripts, encoder=load_encoder(tiny_folder, device="cpu"), progress=False)
    assert open_moments(CollectionFolder(tmp_path / "c")) is not None


def test_a_killed_run_leaves_parts_of_words_that_the_next_one_keeps(transcripts, student_folder, tmp_path):
    add(tmp_path / "c", transcripts, encoder=StudentEncoder.from_pretrained(student_folder), turns=False)
    collection, finished = CollectionFolder(tmp_path / "c"), []

    def stop_after_three(n: int) -> None:
        finished.append(n)
        if len(finished) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        update_words(collection, done=stop_after_three)
    assert open_words(collection) is None
    update_words(collection, done=finished.append)
    # The last part that a run has written may lack dialogues, so it is made again.
    assert finished == [20, 20, 20, 20, 30]
    assert len(open_words(collection).of_dialogues("w1")) == N


def test_a_cluster_whose_worker_is_killed_makes_the_same_collection(transcripts, student_folder, tmp_path):
    pytest.importorskip("ray")
    student, killed = StudentEncoder.from_pretrained(student_folder), []
    add(tmp_path / "alone", transcripts, encoder=student, progress=False)
    killer = threading.Thread(target=kill_a_worker, args=(b"ray::write_words", killed))
    killer.start()
    done = add(tmp_path / "cluster", transcripts, encoder=student, progress=False, workers=RayWorkers(2))
    killer.join()
    assert (done.dialogues, len(killed)) == (N, 1)
    alone, cluster = (CollectionFolder(tmp_path / name) for name in ("alone", "cluster"))
    np.testing.assert_array_equal(cluster.vectors, alone.vectors)
    assert contents(cluster.folder / "turns") == contents(alone.folder / "turns")
