"""The benchmarks of the student: what is timed and measured beside what."""

from __future__ import annotations

import json
import re
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from conversations.dialogue import dialogue_from_record, write_dialogues
from dial2vec.evaluation import TASKS
from dial2vec.files import find_root
from dial2vec.pipeline.artifacts import Artifacts
from tests.conftest import make_dialogue
from tests.students import tiny_student
from tests.test_benchmarks import many_dialogues

# isort: split
# `test_benchmarks` has put their folder into the path.
import million
import student


@pytest.fixture
def read_by_all(monkeypatch):
    """Dialogues, a tiny student, and stand-ins for the two libraries."""
    monkeypatch.setattr(student, "made_up", lambda name="tiny": tiny_student())
    monkeypatch.setattr(student, "library", lambda name, dialogues: lambda: time.sleep(0.3))
    monkeypatch.setattr(student.importlib.util, "find_spec", lambda name: name)
    static = SimpleNamespace(encode=lambda texts: tiny_student().encode_utterances(texts))
    return many_dialogues(), tiny_student(), static


def test_a_student_is_timed_beside_both_libraries_on_texts_that_it_has_not_read(read_by_all, monkeypatch):
    dialogues, encoder, static = read_by_all
    monkeypatch.setattr(student, "RUNS", 2)
    found = student.against_library(dialogues[:8], dialogues[8:], static, repeats=2)
    assert found["student_vs_library_default"].low > 1
    assert {"student_dialogues_per_second", "student_cold_vs_library_default", "student_vs_model2vec"} <= set(found)
    assert found["student_one_thread_vs_library_default"].low > 1
    assert "student_vs_model2vec" not in student.against_library(dialogues[:8], dialogues[8:], None, repeats=1)
    ways = student.readers(encoder, dialogues[:8], dialogues[8:])
    first, second = (ways["student, warm"]() for _ in range(2))
    assert (first() == second()).all()
    assert (first() == encoder.encode(dialogues[:8])).all()


def test_rows_of_a_student_with_fewer_bits_are_smaller_and_near(read_by_all):
    dialogues, encoder, _ = read_by_all
    lines = student.folder_table(encoder, dialogues).splitlines()[2:]
    assert [line.split(" | ")[0] for line in lines] == ["| fp32", "| fp16", "| int8"]
    assert all(0.99 < float(line.split("(")[1].split(")")[0]) <= 1.000001 for line in lines)
    assert re.fullmatch(r"Cosine of .*: 0\.\d{4}, lowest 0\.\d{4}\.", student.likeness(encoder, dialogues))


def test_the_fp32_rows_beside_which_fp16_is_measured_round_to_the_same_fp16(read_by_all):
    table = read_by_all[1].table.as_rows("fp16")
    exact = student.exact(table)
    assert exact.rows.dtype == np.float32
    assert (exact.rows != table.rows).mean() > 0.9
    assert (exact.as_rows("fp16").rows == table.rows).mean() > 0.99


def test_figures_of_students_are_those_of_their_vectors_on_the_test_split(tmp_path, read_by_all):
    dialogues, encoder, static = read_by_all
    artifacts = Artifacts(tmp_path, "calls")
    (tmp_path / "params.yaml").write_text((find_root() / "params.yaml").read_text())
    labelled = [replace(dialogue, labels=("ab"[n % 2],)) for n, dialogue in enumerate(dialogues)]
    artifacts.splits.mkdir(parents=True)
    write_dialogues(artifacts.split("test"), labelled)
    rows = list(student.figures(artifacts, encoder, static))
    assert [row["way"] for row in rows] == ["model2vec", "student", "student, mean over all tokens"]
    assert {task: rows[0][task] for task in TASKS} == {task: rows[2][task] for task in TASKS}


def test_a_million_dialogues_are_those_of_the_corpus_with_some_other_words(tmp_path):
    own = [make_dialogue("x", "a: w1 w2 w3", "b: w4 w5"), make_dialogue("y", "a: w6 w7")]
    write_dialogues(tmp_path / "d.jsonl", own)
    lines = list(million.varied(tmp_path / "d.jsonl", 5))
    copies = [dialogue_from_record(json.loads(line)) for line in lines]
    assert [copy.dialogue_id for copy in copies] == [f"call-{number:09d}" for number in range(5)]
    for number, copy in enumerate(copies):
        first, *others = (turn.text.split() for turn in copy.turns)
        assert re.fullmatch("[0-9]{6}", first.pop())
        for words, turn in zip([first, *others], own[number % 2].turns, strict=True):
            assert sum(word != before for word, before in zip(words, turn.text.split(), strict=True)) <= 1


def test_the_memory_and_the_time_of_a_command_are_those_of_all_its_processes():
    busy = "import time; end = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    started = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}])"
    run = million.measured([sys.executable, "-c", started])
    assert run.cpu >= 0.3
    assert run.seconds >= 0.3
    assert run.memory > run.own > 0
