"""Stages evaluate and register with a student, which stage distil has left in the artifacts."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from tokenizers import Tokenizer

from conversations.files import read_json, write_json
from dial2vec.encoder.student import StudentEncoder, TokenTable
from dial2vec.params import load_settings
from dial2vec.pipeline import register as stage
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.pipeline.dvc_records import data_hash
from dial2vec.pipeline.evaluate import evaluate
from dial2vec.pipeline.register import git_commit, register
from dial2vec.project.promotion import promote_candidate
from dial2vec.project.results import results_table
from dial2vec.registry.receipts import registered_models
from dial2vec.registry.tracking import registered_versions
from tests.pipeline.projects import change


@pytest.fixture
def chosen(small_run, tiny_folder, empty_store, monkeypatch):
    """The artifacts of a project after stage distil, which kept a student, with an empty store."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    shutil.copytree(empty_store, small_run, dirs_exist_ok=True)
    change(small_run, "promote", confidence=0.0)
    artifacts = Artifacts(small_run, "calls")
    draws = np.random.default_rng(0)
    table = TokenTable(draws.standard_normal((45, 16), dtype=np.float32), np.ones(45, np.float32))
    tokenizer = Tokenizer.from_file(str(Path(tiny_folder) / "tokenizer.json"))
    StudentEncoder(table, tokenizer, name="tiny", teacher="trained").save_pretrained(artifacts.student)
    sentence = "The student of 2 epochs was kept."
    write_json(
        artifacts.distillation,
        {"sentence": sentence, "kept": True, "chosen": "2 epochs", "teacher": "trained", "candidates": []},
    )
    return artifacts


def settings_of(artifacts):
    return load_settings(artifacts.root / "params.yaml")


def test_a_student_is_scored_registered_and_promoted_beside_its_teacher(chosen):
    settings = settings_of(chosen)
    assert "; student: purity " in evaluate(chosen, settings)
    metrics, spreads = read_json(chosen.metrics), read_json(chosen.intervals)
    assert metrics["student"].keys() == metrics["trained"].keys()
    assert set(spreads["dev"]) == {"start", "trained", "student", "gain", "student_gain"}
    assert read_json(chosen.dev_metrics)["student"]["map"] > 0
    encoders = [line.split(",")[0] for line in chosen.comparison.read_text().splitlines()[1:]]
    assert encoders == ["start"] * 3 + ["trained"] * 3 + ["student"] * 3
    assert "The student of 2 epochs was kept." in chosen.report.read_text()
    assert len(list(chosen.on_dev.iterdir())) == 3
    assert register(chosen, settings) == (
        "dial2vec-calls version 2, alias candidate; champion is version 1; "
        "dial2vec-calls-small version 2, alias candidate; champion is version 1"
    )
    assert read_json(chosen.registration)["small"]["version"] == "2"
    table = results_table(chosen.root, settings)
    assert [line.split()[1] for line in table.splitlines() if line.startswith("calls ")] == [
        "start",
        "trained",
        "student",
    ]
    assert "student  artifacts/calls/student, registered as dial2vec-calls-small version 2" in table
    assert promote_candidate(chosen.root, "calls-small", settings).gains.keys() == {"champion", "teacher"}


def test_a_kill_between_teacher_and_student_is_completed_by_the_next_run(chosen, monkeypatch):
    settings = settings_of(chosen)
    evaluate(chosen, settings)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(stage, "_student_record", killed)
        with pytest.raises(KeyboardInterrupt):
            register(chosen, settings)
    assert not chosen.registration.exists()
    sentence = register(chosen, settings)
    assert sentence.startswith("dial2vec-calls version 2 (was there already)")
    assert "dial2vec-calls-small version 2, alias" in sentence
    # An equal run makes nothing new.
    assert register(chosen, settings).count("(was there already)") == 2
    assert [one.kind for one in registered_versions(chosen.root, "calls-small")] == ["start", "student"]


def test_without_a_kept_student_nothing_small_is_registered(chosen):
    settings = settings_of(chosen)
    shutil.rmtree(chosen.student)
    chosen.student.mkdir()
    write_json(chosen.distillation, read_json(chosen.distillation) | {"kept": False, "sentence": "None was kept."})
    evaluate(chosen, settings)
    assert read_json(chosen.metrics)["student"] is read_json(chosen.intervals)["test"]["student_gain"] is None
    assert register(chosen, settings).endswith("; no student to register")
    assert registered_models(chosen.root, "calls") == ["calls"]
    assert "  student  None was kept." in results_table(chosen.root, settings)


def test_data_hash_and_commit_are_read_or_said_to_be_absent(tmp_path):
    assert (data_hash(tmp_path), git_commit(tmp_path)) == ("unversioned", "unknown")
    (tmp_path / "data.dvc").write_text(yaml.safe_dump({"outs": [{"md5": "abc.dir", "path": "data"}]}))
    assert data_hash(tmp_path) == "abc.dir"
