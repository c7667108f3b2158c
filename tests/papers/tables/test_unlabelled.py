"""Tables of corpora without labels, of tasks that are named, and without DVC and MLflow."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest
from click.testing import CliRunner

from conversations.dialogue import Turn, write_dialogues
from dial2vec.cli import main
from dial2vec.errors import Dial2vecError
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec_papers.commands import take_device
from dial2vec_papers.corpora.response_queries import ResponseQuery, write_queries
from dial2vec_papers.tables import grid as grid_module
from dial2vec_papers.tables.cells import Place, compute_cell, known_cell
from dial2vec_papers.tables.grid import compute_tables
from dial2vec_papers.tables.systems import ALL, SYSTEMS
from dial2vec_papers.tables.utterances import TaskData
from tests.papers.tables.small import talk
from tests.papers.tables.test_course import SHORT
from tests.papers.tables.test_utterances import few_candidates  # noqa: F401
from tests.papers.tasks.test_actions import SGD, write


@pytest.fixture
def unlabelled(project, monkeypatch):
    root, settings = project
    monkeypatch.setattr(grid_module, "ensure_data", lambda *_: None)
    for split, numbers in (("train", range(110)), ("dev", range(110, 160)), ("test", range(160, 180))):
        write_dialogues(Artifacts(root, "calls").split(split), [replace(talk(number), labels=()) for number in numbers])
    return root, settings


def test_a_corpus_without_labels_has_the_tasks_and_says_what_is_left_out(unlabelled, few_candidates, monkeypatch):  # noqa: F811
    root, settings = unlabelled
    monkeypatch.setattr(grid_module, "dvc", lambda *_: pytest.fail("DVC was called"))
    monkeypatch.setattr("dial2vec.registry.tracking.log_run", lambda *_, **__: pytest.fail("MLflow was called"))
    said = []
    rows = ["lda", "start", "paper"]
    monkeypatch.setitem(ALL, "paper", replace(SYSTEMS["paper"], as_the_paper=False, encoder={}, train=SHORT))
    options = {"systems": rows, "seeds": [1], "tasks": TaskData(limit=6), "output": root / "out", "say": said.append}
    compute_tables(root, settings, track=False, **options)
    left_out = "calls: the test split has no two labels, one of them twice, so purity, Spearman and MAP of dialogues"
    assert said[0] == f"{left_out} are left out."
    cell = known_cell(root, Place("calls", "paper", 1, with_course=True, tasks=TaskData(limit=6)), settings)
    assert cell is not None
    assert (cell.scores, cell.intervals, cell.ways, cell.course, cell.run_id, cell.steps) == ({}, {}, {}, [], "", 3)
    page = (root / "out" / "method-results.md").read_text()
    assert "The test split lacks labels, so purity, Spearman and MAP are left out." in page
    assert "| LDA | 1 |  |  |  |" in page
    assert "lda" not in (root / "out" / "results.csv").read_text()
    said.clear()
    compute_tables(root, settings, track=False, **options)
    assert "3 of 3 cells are there, 0 to compute" in said


def test_named_tasks_are_computed_and_those_that_train_not_for_a_baseline(project, few_candidates, tmp_path):  # noqa: F811
    root, settings = project
    write(tmp_path / "sgd", SGD)
    query = ResponseQuery("q", (Turn("a", "w1"),), "b", ("w1", "w2", "w3"), (0,))
    write_queries(tmp_path / "given.jsonl", [query])
    names = ("actions", "response_selection")
    data = TaskData(
        names=names, actions=tmp_path / "sgd", queries=tmp_path / "given.jsonl", limit=6, shots=(1,), draws=1
    )
    data.check()
    assert len({data.key(), replace(data, draws=2).key(), replace(data, names=()).key(), TaskData(limit=6).key()}) == 4
    cell = compute_cell(root, Place("calls", "start", 0, tasks=data), settings, track=False)
    records = cell.task_records[data.key()]
    assert [record["task"] for record in records] == ["action_prediction", *["response_selection"] * 3]
    assert (records[-1]["data"], records[-1]["settings"]["given"]) == ("given", 3)
    baseline = compute_cell(root, Place("calls", "tfidf_svd", 1, tasks=data), settings, track=False)
    assert {record["task"] for record in baseline.task_records[data.key()]} == {"response_selection"}
    for wrong, message in (
        (replace(data, names=("action",)), "no task 'action'. Did you mean 'actions'"),
        (replace(data, names=("inference",)), "no data for the task 'inference'; expected --inferences"),
    ):
        with pytest.raises(Dial2vecError, match=message):
            wrong.check()


def test_missing_splits_are_prepared_and_only_named_tasks_need_answers(tmp_path, tiny_folder, monkeypatch):
    (tmp_path / "dvc.yaml").touch()
    (tmp_path / "params.yaml").write_text(f"corpora: [demo]\nencoder: {{name: {tiny_folder}}}\n")
    (tmp_path / "sts.txt").write_text("5\tw1 w2\tw1 w2\n3\tw1 w2\tw1 w3\n1\tw1 w2\tw4\n")
    monkeypatch.chdir(tmp_path)
    for name in ("dvc", "mlflow", "prefect"):
        monkeypatch.setitem(sys.modules, name, None)
    rows = ["--system", "tfidf_svd", "--seed", "1", "--no-track", "--output", "out"]
    asked = ["papers", "tables", "--corpus", "demo", *rows, "--tasks", "sentence_pairs", "--pairs", "sts.txt"]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 0, done.output
    assert "demo: train " in done.output
    assert Artifacts(tmp_path, "demo").split("test").is_file()
    assert "| method | sts, Spearman |" in (tmp_path / "out" / "method-results.md").read_text()


def test_a_device_is_taken_or_refused(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    take_device(None)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0,1"
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    take_device("cuda:1")
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "1"
    take_device("cpu")
    assert os.environ["CUDA_VISIBLE_DEVICES"] == ""
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for absent in ("cuda", "tpu"):
        with pytest.raises(Dial2vecError, match=f"found no device '{absent}'; expected cpu, cuda or cuda:1"):
            take_device(absent)


def test_the_package_runs_as_a_module():
    command = [sys.executable, "-m", "dial2vec", "papers", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: python -m dial2vec papers")
    assert "tables" in done.stdout
