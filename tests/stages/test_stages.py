"""The stages one after the other on a small corpus of own transcripts, with the tiny encoder."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import numpy as np
import pytest
import yaml

from dial2vec.artifacts import Artifacts, find_root
from dial2vec.config import load_settings
from dial2vec.dialogue import read_dialogues
from dial2vec.errors import ArtifactError, CorpusError, Dial2vecError, ValidationError
from dial2vec.files import checkout_lock, read_json
from dial2vec.sampling import Samples
from dial2vec.stages.evaluate import evaluate
from dial2vec.stages.prepare import prepare
from dial2vec.stages.register import data_hash, git_commit
from dial2vec.stages.sample import sample
from dial2vec.stages.train import train_encoder
from dial2vec.stages.validate import validate


@pytest.fixture
def project(tmp_path, tiny_folder):
    """A project whose corpus `calls` has 120 dialogues of three topics with words of their own, and a broken line."""
    folder = tmp_path / "data" / "calls"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    lines = []
    for i in range(120):
        words = np.arange(40).reshape(4, 10)[[i % 3, 3]].ravel()
        turns = [{"speaker": "ab"[t % 2], "text": " ".join(f"w{w}" for w in rng.choice(words, 3))} for t in range(5)]
        lines.append(json.dumps({"dialogue_id": f"d{i}", "turns": turns, "labels": [f"topic{i % 3}"]}))
    (folder / "calls.jsonl").write_text("\n".join([*lines, "{broken"]))
    params = {
        "corpora": ["calls"],
        "prepare": {"dev_share": 0.2, "test_share": 0.2},
        "sample": {"negatives": 2},
        "encoder": {"name": tiny_folder},
        "train": {"max_dialogues": 10, "log_steps": 1, "learning_rate": 1e-2},
        "evaluate": {"kmeans_runs": 2},
    }
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params))
    (tmp_path / "dvc.yaml").touch()
    return tmp_path


def run(project, *stages):
    artifacts, settings = Artifacts(project, "calls"), load_settings(project / "params.yaml")
    return artifacts, [stage(artifacts, settings) for stage in stages]


def test_stages_lead_from_raw_files_to_metrics_and_a_report(project):
    artifacts, said = run(project, validate, prepare, sample, train_encoder, evaluate)
    assert said[0].startswith("120 dialogues, 600 turns, 14 expectations hold, 1 set aside")
    sizes = {name: len(list(read_dialogues(artifacts.split(name)))) for name in ("train", "dev", "test")}
    metrics = read_json(artifacts.metrics)
    assert list(metrics) == ["corpus", "split_sizes", "start", "trained"]
    assert metrics["split_sizes"] == sizes
    assert sum(sizes.values()) == 120
    keys = "purity purity_sd spearman spearman_ceiling map mrr ari nmi accuracy alignment adjusted_alignment uniformity"
    for which in ("start", "trained"):
        assert sorted(metrics[which]) == sorted(keys.split())
    assert metrics["start"] != metrics["trained"]
    assert set(read_json(artifacts.dev_metrics)) == {"dev_hash", "start", "trained"}
    assert len(Samples.load(artifacts.samples).dialogues) == sizes["train"]
    assert "<html" in artifacts.report.read_text()
    assert artifacts.loss_curve.read_text().splitlines()[0] == "step,loss,learning_rate,grad_norm"
    assert not artifacts.checkpoints.exists()


def test_set_aside_records_are_written_with_line_and_reason(project):
    artifacts, _ = run(project, validate)
    [record] = csv.DictReader(artifacts.set_aside.open())
    assert (record["line"], record["source"].endswith("calls.jsonl")) == ("121", True)
    assert "not valid JSON" in record["reason"]


def test_corpus_without_labels_trains_and_says_that_nothing_can_be_scored(project):
    path = project / "data" / "calls" / "calls.jsonl"
    path.write_text(path.read_text().replace('"labels"', '"topics"'))
    artifacts, said = run(project, validate, prepare, sample, train_encoder, evaluate)
    assert said[-1] == "no labels in test, so nothing could be scored"
    metrics = read_json(artifacts.metrics)
    assert metrics["start"] is metrics["trained"] is None
    assert "<html" in artifacts.report.read_text()


def test_empty_dev_split_leaves_the_test_figures(project):
    path = project / "params.yaml"
    path.write_text(path.read_text().replace("dev_share: 0.2", "dev_share: 0.0"))
    artifacts, _ = run(project, validate, prepare, sample, train_encoder, evaluate)
    assert read_json(artifacts.dev_metrics)["trained"] is None
    assert read_json(artifacts.metrics)["trained"]["map"] > 0


def test_failing_expectation_stops_the_pipeline_but_leaves_its_report(project):
    (project / "data" / "calls" / "more.jsonl").write_text("{broken\n" * 20)
    with pytest.raises(ValidationError, match="records set aside"):
        run(project, validate)
    report = read_json(Artifacts(project, "calls").validation)
    assert [e["success"] for e in report["expectations"]].count(False) == 1
    assert report["set_aside"] == 21


def test_unknown_corpus_and_missing_artifact_say_what_to_do(project):
    settings = load_settings(project / "params.yaml")
    with pytest.raises(CorpusError, match="nowhere"):
        validate(Artifacts(project, "nowhere"), settings)
    with pytest.raises((ArtifactError, CorpusError), match="does not exist"):
        prepare(Artifacts(project, "calls"), settings)


def stage_process(project, stage, *arguments):
    return subprocess.run(
        [sys.executable, "-m", f"dial2vec.stages.{stage}", *arguments],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_stage_is_a_command_that_says_what_it_did_and_how_long_it_took(project):
    done = stage_process(project, "validate", "calls")
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip().splitlines()[-1].startswith("validate of calls: 120 dialogues, 600 turns")
    assert read_json(Artifacts(project, "calls").seconds("validate")) > 0


def test_a_stage_prints_an_error_as_one_sentence_and_the_traceback_only_with_debug(project):
    done = stage_process(project, "prepare", "calls")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "does not exist" in done.stderr
    assert "Traceback" in stage_process(project, "prepare", "calls", "--debug").stderr


def test_a_stage_waits_for_nobody_else_and_names_who_is_at_work(project):
    with checkout_lock(project, "flow retrain"):
        script = "import dial2vec.stages.stage as s, dial2vec.files as f, sys, os; os.environ.pop(f.LOCK_OWNER)\n"
        script += "sys.argv = ['prepare', 'calls']\n"
        script += "f.checkout_lock.__wrapped__.__kwdefaults__['patience'] = 0\n"
        script += "from dial2vec.stages.prepare import prepare; s.main(prepare)"
        done = subprocess.run([sys.executable, "-c", script], cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "another process is at work" in done.stderr
    assert "flow retrain" in done.stderr


def test_data_hash_and_commit_are_read_or_said_to_be_absent(tmp_path):
    assert (data_hash(tmp_path), git_commit(tmp_path)) == ("unversioned", "unknown")
    (tmp_path / "data.dvc").write_text(yaml.safe_dump({"outs": [{"md5": "abc.dir", "path": "data"}]}))
    assert data_hash(tmp_path) == "abc.dir"


def test_project_is_found_from_below_and_missed_outside(project, tmp_path_factory):
    assert find_root(project / "data" / "calls") == project
    with pytest.raises(Dial2vecError, match="no project at or above"):
        find_root(tmp_path_factory.mktemp("elsewhere"))
