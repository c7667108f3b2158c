from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from dataclasses import replace
from pathlib import Path

import mlflow
import pytest

from dial2vec.config import Promote
from dial2vec.encoder.loading import load_encoder
from dial2vec.registry import store
from dial2vec.registry.champions import promote
from dial2vec.registry.model_card import model_card
from dial2vec.registry.store import open_store
from dial2vec.registry.tracking import local_model, register_training, registered_versions
from tests.registry.conftest import points


def runs(root: Path) -> list[tuple[str, str]]:
    """(fingerprint, status) of every run, oldest first."""
    client = open_store(root)
    experiment_id = client.get_experiment_by_name("dial2vec-demo").experiment_id
    found = client.search_runs([experiment_id], "tags.fingerprint LIKE '%'")
    return [(run.data.tags["fingerprint"], run.info.status) for run in reversed(found)]


def test_the_first_training_registers_its_start_as_champion_and_itself_as_candidate(root, make_record):
    done = register_training(root, make_record())
    assert (done.version, done.start_version, done.champion_version, done.created) == ("2", "1", "1", True)
    first, second = registered_versions(root, "demo")
    assert (first.kind, first.aliases, first.dev_scores) == ("start", ("champion",), points(68, 38, 54))
    assert (second.kind, second.aliases, second.dev_scores) == ("trained", ("candidate",), points(69, 39, 55))
    assert str(second).endswith("trained (candidate). On dev: purity 69.00, spearman 39.00, map 55.00.")
    assert abs(second.created - time.time()) < 60


def test_the_run_keeps_settings_curves_figures_and_the_report(root, make_record):
    done = register_training(root, make_record())
    client = open_store(root)
    run = client.get_run(done.run_id)
    assert run.info.status == "FINISHED"
    assert run.data.params["train.epochs"] == "1"
    assert run.data.params["dialogues.train"] == "300"
    assert len(run.data.params) == 125
    [data] = run.inputs.dataset_inputs
    assert (data.dataset.name, data.dataset.digest) == ("demo", "d41d8.dir")
    assert {key: run.data.tags[key] for key in ("data_hash", "git_commit", "dev_hash", "fingerprint")} == {
        "data_hash": "d41d8.dir",
        "git_commit": "c0ffee",
        "dev_hash": "dev-1",
        "fingerprint": "f1",
    }
    metrics = run.data.metrics
    assert (metrics["test_purity"], metrics["test_start_purity"], metrics["dev_map"]) == (70, 69, 55)
    assert metrics["dev_start_map"] == 54
    assert metrics["seconds_train"] == 12.5
    assert [point.step for point in client.get_metric_history(done.run_id, "loss")] == list(range(1, 701))
    assert [entry.path for entry in client.list_artifacts(done.run_id)] == ["report.html", "selection.json"]


def test_the_version_says_what_got_better_and_what_got_worse(registered):
    version = open_store(registered).get_model_version("dial2vec-demo", "2")
    for line in (
        "One vector of 8 numbers per dialogue of the corpus 'demo', trained from tiny on",
        "- version d41d8.dir (DVC), code c0ffee",
        "- dialogues: train 300, dev 30, test 30; languages: en 90 %, de 10 %",
        "| purity | 68.00 | 69.00 | +1.00 |",
        "| MAP | 54.00 [50.00, 58.00] | 55.00 [51.00, 59.00] | +1.00 [+0.20, +1.80] |",
        "| Spearman | 38.00 | 37.50 | -0.50 |",
        "Choice: The map was chosen.",
        "## Intended use",
        "- It reads 64 tokens at a time",
    ):
        assert line in version.description
    assert json.loads(version.tags["dev_scores"]) == points(69, 39, 55)


def test_the_card_of_a_corpus_without_labels_says_so_once_and_speaks_of_no_intervals(record):
    nothing = {"start": None, "trained": None}
    card = model_card(replace(record, scores=nothing, dev_scores=nothing, intervals={}, gains={}))
    assert card.count("There are none: no labels to score") == card.count("no labels") == 1
    assert "In brackets" not in card
    assert "with its labels" not in card
    assert "In brackets" in model_card(record)


def test_the_card_names_the_methods_whose_candidates_competed(record):
    several = replace(record, params=record.params | {"train.method": "neighbours, dial2vec"})
    assert "by several methods (neighbours, dial2vec), whose candidates were compared" in model_card(several)


def test_registering_leaves_no_trace_outside_the_project(root, make_record, tmp_path):
    before = mlflow.get_tracking_uri()
    register_training(root, make_record())
    assert "MLFLOW_TRACKING_URI" not in os.environ
    assert mlflow.get_tracking_uri() == before
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_mlflow_is_silent(root, make_record, capfd):
    register_training(root, make_record())
    promote(root, "demo", Promote(confidence=0.0))
    assert capfd.readouterr() == ("", "")


def test_the_same_training_is_registered_once(root, make_record):
    first = register_training(root, make_record())
    again = register_training(root, make_record())
    assert again == replace(first, created=False)
    assert runs(root) == [("f1", "FINISHED")]


def test_a_kill_before_the_version_is_made_good(root, make_record, monkeypatch):
    register_training(root, make_record(fingerprint="f0"))

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        # A killed process does not mark its run either.
        patch.setattr(mlflow.MlflowClient, "set_terminated", killed)
        patch.setattr(mlflow.MlflowClient, "log_outputs", killed)
        with pytest.raises(KeyboardInterrupt):
            register_training(root, make_record())
    assert runs(root) == [("f0", "FINISHED"), ("f1", "RUNNING")]
    done = register_training(root, make_record())
    assert (done.version, done.created) == ("3", True)
    assert runs(root) == [("f0", "FINISHED"), ("f1", "FAILED"), ("f1", "FINISHED")]
    assert [one.kind for one in registered_versions(root, "demo")] == ["start", "trained", "trained"]


def test_a_kill_after_the_version_is_finished_not_repeated(root, make_record, monkeypatch):
    register_training(root, make_record(fingerprint="f0"))

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(mlflow.MlflowClient, "set_terminated", killed)
        with pytest.raises(KeyboardInterrupt):
            register_training(root, make_record())
    done = register_training(root, make_record())
    assert (done.version, done.created) == ("3", False)
    assert runs(root) == [("f0", "FINISHED"), ("f1", "FINISHED")]
    assert registered_versions(root, "demo")[2].aliases == ("candidate",)


def test_a_failing_registration_marks_its_run(root, make_record, tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        register_training(root, make_record(report=tmp_path / "nowhere"))
    assert runs(root) == [("f1", "FAILED")]


def test_a_changed_start_becomes_a_version_but_not_champion(registered, make_record, encoders):
    done = register_training(registered, make_record(fingerprint="f2", start_model=encoders / "trained"))
    assert (done.start_version, done.version, done.champion_version) == ("3", "4", "1")
    assert [one.kind for one in registered_versions(registered, "demo")] == ["start", "trained", "start", "trained"]


def test_a_library_upgrade_does_not_make_a_new_start(registered, make_record, encoders, tmp_path):
    upgraded = shutil.copytree(encoders / "start", tmp_path / "upgraded")
    (upgraded / "config.json").write_text((upgraded / "config.json").read_text().replace("version", "Version"))
    assert register_training(registered, make_record(fingerprint="f2", start_model=upgraded)).start_version == "1"


def test_a_moved_checkout_loads_its_models_by_alias(registered, make_record, tmp_path, dialogue, encoders, monkeypatch):
    moved = tmp_path / "moved" / "here"
    moved.parent.mkdir()
    registered.rename(moved)
    folder = local_model("models:/dial2vec-demo@candidate", root=moved)
    assert moved in folder.parents
    expected = load_encoder(encoders / "trained").encode(dialogue("d", "a: w1", "b: w2"))
    with monkeypatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", store.store_uri(moved))
        model = mlflow.pyfunc.load_model("models:/dial2vec-demo@candidate")
        turns = [{"speaker": "a", "text": "w1"}, {"speaker": "b", "text": "w2"}]
        assert model.predict([{"turns": turns}])[0] == pytest.approx(expected.tolist(), abs=1e-5)
    done = register_training(moved, make_record(fingerprint="f2"))
    assert open_store(moved).list_artifacts(done.run_id)[0].path == "report.html"


def test_a_store_that_has_not_moved_is_not_rewritten(registered):
    client = open_store(registered)
    client.create_experiment("other", artifact_location="/old/other")
    client.create_experiment("dial2vec-mine", artifact_location="/old/place/mlruns/artifacts")
    client.create_experiment("neighbour", artifact_location="/old/place/mlruns/artifacts-2")
    open_store(registered)
    with sqlite3.connect(registered / "mlruns" / "mlflow.db") as connection:
        found = dict(connection.execute("SELECT name, artifact_location FROM experiments"))
    here = str(registered / "mlruns" / "artifacts")
    assert found["dial2vec-mine"] == here
    assert found["dial2vec-demo"] == here
    assert found["other"] == "/old/other"
    assert found["neighbour"] == "/old/place/mlruns/artifacts-2"


def test_a_store_named_in_the_environment_is_used_as_it_is(new_root, make_record, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/other.db")
    register_training(new_root, make_record())
    assert not (new_root / "mlruns" / "mlflow.db").exists()
    assert len(registered_versions(new_root, "demo")) == 2
    assert os.environ["MLFLOW_TRACKING_URI"].endswith("other.db")
