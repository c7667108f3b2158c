from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import mlflow
import pytest
import torch

from dial2vec import store, tracking
from dial2vec.config import Promote
from dial2vec.dialogue import Dialogue, Turn
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import ModelError
from dial2vec.tracking import Registration, TrainingRecord, local_model, open_store, promote, register, versions

MARGINS = Promote(min_purity_gain=0.0, min_spearman_gain=0.0, min_map_gain=0.5)
MakeRecord = Callable[..., TrainingRecord]


def points(purity: float, spearman: float, map_: float) -> dict[str, float]:
    return {"purity": purity, "spearman": spearman, "map": map_}


@pytest.fixture(autouse=True)
def _no_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("MLFLOW_REGISTRY_URI", raising=False)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")


@pytest.fixture(scope="session")
def encoders(tiny_folder: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two encoder folders, `start` and `trained`, that differ in their weights."""
    folder = tmp_path_factory.mktemp("encoders")
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    encoder.save_pretrained(folder / "start")
    with torch.no_grad():
        next(encoder.parameters()).add_(0.1)
    encoder.save_pretrained(folder / "trained")
    return folder


@pytest.fixture(scope="session")
def record(encoders: Path) -> TrainingRecord:
    report = encoders / "report.html"
    report.write_text("<h1>better</h1>")
    return TrainingRecord(
        corpus="demo",
        params={"train.epochs": 1, "seed": 42} | {f"more.{number}": number for number in range(120)},
        data_hash="d41d8.dir",
        git_commit="c0ffee",
        history=[{"step": step, "loss": 1 / step, "learning_rate": 1e-5} for step in range(1, 701)],
        scores={"start": points(69, 38, 55), "trained": points(70, 37.5, 57)},
        dev_scores={"start": points(68, 38, 54), "trained": points(69, 39, 55)},
        dev_hash="dev-1",
        split_sizes={"train": 300, "dev": 30, "test": 30},
        model=encoders / "trained",
        start_model=encoders / "start",
        start_name="tiny",
        report=report,
        example=Dialogue("d1", (Turn("guest", "w1 w2"), Turn("desk", "w3"))),
        seconds={"train": 12.5},
        fingerprint="f1",
    )


@pytest.fixture
def make_record(record: TrainingRecord) -> MakeRecord:
    return lambda **changes: replace(record, **changes)


@pytest.fixture
def new_root(tmp_path: Path) -> Path:
    """A project without a store; its name has characters that mean something in a URI."""
    return tmp_path / "my project #1 50%"


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("empty")
    open_store(folder)
    return folder


@pytest.fixture
def root(empty_store: Path, new_root: Path) -> Path:
    """A project with an empty store: copied, because making one takes a second."""
    return shutil.copytree(empty_store, new_root)


@pytest.fixture(scope="session")
def registered_store(record: TrainingRecord, empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = shutil.copytree(empty_store, tmp_path_factory.mktemp("registered") / "project")
    register(folder, record)
    return folder


@pytest.fixture
def registered(registered_store: Path, new_root: Path) -> Path:
    """A copy of a project in which the record above was registered."""
    return shutil.copytree(registered_store, new_root)


def runs(root: Path) -> list[tuple[str, str]]:
    """(fingerprint, status) of every run, oldest first."""
    client = open_store(root)
    found = client.search_runs([client.get_experiment_by_name("dial2vec-demo").experiment_id])
    return [(run.data.tags["fingerprint"], run.info.status) for run in reversed(found)]


def test_the_first_training_registers_its_start_as_champion_and_itself_as_candidate(root, make_record):
    done = register(root, make_record())
    assert (done.version, done.start_version, done.champion_version, done.created) == ("2", "1", "1", True)
    first, second = versions(root, "demo")
    assert (first.kind, first.aliases, first.dev_scores) == ("start", ("champion",), points(68, 38, 54))
    assert (second.kind, second.aliases, second.dev_scores) == ("trained", ("candidate",), points(69, 39, 55))
    assert str(second).endswith("trained (candidate). On dev: purity 69.00, spearman 39.00, map 55.00.")
    assert abs(second.created - time.time()) < 60


def test_the_run_keeps_settings_curves_figures_and_the_report(root, make_record):
    done = register(root, make_record())
    client = open_store(root)
    run = client.get_run(done.run_id)
    assert run.info.status == "FINISHED"
    assert run.data.params["train.epochs"] == "1"
    assert run.data.params["dialogues.train"] == "300"
    assert len(run.data.params) == 125
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
    assert [entry.path for entry in client.list_artifacts(done.run_id)] == ["report.html"]


def test_the_version_says_what_got_better_and_what_got_worse(registered):
    version = open_store(registered).get_model_version("dial2vec-demo", "2")
    assert version.description == (
        "Trained on the corpus 'demo' from tiny. "
        "On dev: purity 69.00 (start 68.00, +1.00), spearman 39.00 (start 38.00, +1.00), "
        "map 55.00 (start 54.00, +1.00). "
        "On test: purity 70.00 (start 69.00, +1.00), spearman 37.50 (start 38.00, -0.50), "
        "map 57.00 (start 55.00, +2.00)."
    )
    assert json.loads(version.tags["dev_scores"]) == points(69, 39, 55)


def test_registering_leaves_no_trace_outside_the_project(root, make_record, tmp_path):
    before = mlflow.get_tracking_uri()
    register(root, make_record())
    assert "MLFLOW_TRACKING_URI" not in os.environ
    assert mlflow.get_tracking_uri() == before
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_mlflow_is_silent(root, make_record, capfd):
    register(root, make_record())
    promote(root, "demo", MARGINS)
    assert capfd.readouterr() == ("", "")


def test_the_same_training_is_registered_once(root, make_record):
    first = register(root, make_record())
    again = register(root, make_record())
    assert again == replace(first, created=False)
    assert runs(root) == [("f1", "FINISHED")]


def test_a_kill_before_the_version_is_made_good(root, make_record, monkeypatch):
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        # A killed process does not mark its run either.
        patch.setattr(mlflow.MlflowClient, "set_terminated", killed)
        patch.setattr(mlflow.MlflowClient, "log_outputs", killed)
        with pytest.raises(KeyboardInterrupt):
            register(root, make_record())
    assert runs(root) == [("f1", "RUNNING")]
    done = register(root, make_record())
    assert (done.version, done.created) == ("2", True)
    assert runs(root) == [("f1", "FAILED"), ("f1", "FINISHED")]
    assert [one.kind for one in versions(root, "demo")] == ["start", "trained"]


def test_a_kill_after_the_version_is_finished_not_repeated(root, make_record, monkeypatch):
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(mlflow.MlflowClient, "set_terminated", killed)
        with pytest.raises(KeyboardInterrupt):
            register(root, make_record())
    done = register(root, make_record())
    assert (done.version, done.created) == ("2", False)
    assert runs(root) == [("f1", "FINISHED")]
    assert versions(root, "demo")[1].aliases == ("candidate",)


def test_a_failing_registration_marks_its_run(root, make_record, tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        register(root, make_record(report=tmp_path / "nowhere"))
    assert runs(root) == [("f1", "FAILED")]


def test_a_changed_start_becomes_a_version_but_not_champion(registered, make_record, encoders):
    done = register(registered, make_record(fingerprint="f2", start_model=encoders / "trained"))
    assert (done.start_version, done.version, done.champion_version) == ("3", "4", "1")
    assert [one.kind for one in versions(registered, "demo")] == ["start", "trained", "start", "trained"]


def test_a_library_upgrade_does_not_make_a_new_start(registered, make_record, encoders, tmp_path):
    upgraded = shutil.copytree(encoders / "start", tmp_path / "upgraded")
    (upgraded / "config.json").write_text((upgraded / "config.json").read_text().replace("version", "Version"))
    assert register(registered, make_record(fingerprint="f2", start_model=upgraded)).start_version == "1"


def test_a_moved_checkout_loads_its_models_by_alias(registered, make_record, tmp_path, dialogue, encoders):
    moved = tmp_path / "moved" / "here"
    moved.parent.mkdir()
    registered.rename(moved)
    folder = local_model("models:/dial2vec-demo@candidate", root=moved)
    assert moved in folder.parents
    expected = DialogueEncoder.from_pretrained(encoders / "trained").encode(dialogue("d", "a: w1", "b: w2"))
    with store.as_default(store.store_uri(moved)):
        model = mlflow.pyfunc.load_model("models:/dial2vec-demo@candidate")
        turns = [{"speaker": "a", "text": "w1"}, {"speaker": "b", "text": "w2"}]
        assert model.predict([{"turns": turns}])[0] == pytest.approx(expected.tolist(), abs=1e-5)
    done = register(moved, make_record(fingerprint="f2"))
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
    register(new_root, make_record())
    assert not (new_root / "mlruns" / "mlflow.db").exists()
    assert len(versions(new_root, "demo")) == 2
    assert os.environ["MLFLOW_TRACKING_URI"].endswith("other.db")


def test_a_better_candidate_becomes_champion_and_the_old_one_previous(registered):
    assert promote(registered, "demo", MARGINS).promoted
    first, second = versions(registered, "demo")
    assert (first.aliases, second.aliases) == (("previous",), ("candidate", "champion"))
    assert open_store(registered).get_model_version("dial2vec-demo", "2").tags["promotion"] == "promoted"
    assert promote(registered, "demo", MARGINS).reasons == ["version 2 is the champion already"]


def test_a_worse_candidate_is_refused_and_told_why(root, make_record):
    worse = {"start": points(68, 38, 54), "trained": points(69, 39, 53)}
    done = register(root, make_record(dev_scores=worse))
    verdict = promote(root, "demo", MARGINS)
    assert verdict.reasons == ["map 53.00 on dev is 1.00 below the champion's 54.00; needed +0.50"]
    assert versions(root, "demo")[0].aliases == ("champion",)
    tags = open_store(root).get_model_version("dial2vec-demo", done.version).tags
    assert tags["promotion"] == verdict.reasons[0]


def test_without_labels_the_candidate_is_registered_but_not_promoted(root, make_record):
    register(root, make_record(scores={"start": None, "trained": None}, dev_scores={"start": None, "trained": None}))
    verdict = promote(root, "demo", MARGINS)
    assert not verdict.promoted
    assert "without labels nothing is promoted" in verdict.reasons[0]


def on_a_new_split(root: Path, make_record: MakeRecord) -> Registration:
    """Champion version 2 comes from dev-1, candidate version 3 and the start from dev-2."""
    promote(root, "demo", MARGINS)
    figures = {"start": points(50, 20, 30), "trained": points(60, 30, 40)}
    return register(root, make_record(fingerprint="f2", dev_hash="dev-2", dev_scores=figures))


def test_a_champion_from_another_dev_split_is_measured_again(registered, make_record):
    on_a_new_split(registered, make_record)
    measured: list[Path] = []

    def rescore(folder: Path) -> dict[str, float]:
        measured.append(folder)
        return points(55, 25, 35)

    assert promote(registered, "demo", MARGINS, rescore=rescore, dev_hash="dev-2").promoted
    assert [folder.is_dir() for folder in measured] == [True]
    assert DialogueEncoder.from_pretrained(measured[0])
    assert [one.dev_scores["map"] for one in versions(registered, "demo")] == [30, 35, 40]
    assert [one.aliases for one in versions(registered, "demo")] == [(), ("previous",), ("candidate", "champion")]


def test_everybody_is_measured_again_when_dev_has_changed_since(registered):
    measured: list[Path] = []
    promote(registered, "demo", MARGINS, rescore=lambda folder: measured.append(folder), dev_hash="dev-9")
    assert len(measured) == 2
    assert [one.dev_scores for one in versions(registered, "demo")] == [None, None]


def test_figures_of_different_splits_are_never_compared(registered, make_record):
    on_a_new_split(registered, make_record)
    verdict = promote(registered, "demo", MARGINS)
    assert verdict.reasons == ["version 2 was measured on another dev split; measure it on the present one"]


def test_promotion_without_registration_says_what_to_run(root, make_record):
    with pytest.raises(
        ModelError, match=r"nothing is registered as dial2vec-demo\. Registered: nothing at all\. Run `make run`"
    ):
        promote(root, "demo", MARGINS)
    register(root, make_record())
    with pytest.raises(ModelError, match=r"Did you mean 'dial2vec-demo'\? Registered: dial2vec-demo"):
        promote(root, "demoo", MARGINS)


def test_addresses_lead_to_the_encoder_inside_the_store(registered):
    by_alias = local_model("models:/dial2vec-demo@candidate", root=registered)
    assert by_alias == local_model("models:/dial2vec-demo/2", root=registered)
    assert registered / "mlruns" / "artifacts" in by_alias.parents
    assert (by_alias / "model.safetensors").is_file()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        (
            "models:/dial2vec-demo@champoin",
            "has no alias 'champoin'. Did you mean 'champion'? It has: candidate, champion.",
        ),
        ("models:/dial2vec-demo/9", "dial2vec-demo has no version 9. It has: 1, 2."),
        ("models:/dial2vec-dmo/1", "nothing is registered as dial2vec-dmo. Did you mean 'dial2vec-demo'?"),
        ("models:/dial2vec-demo", "is no registry address"),
        ("dial2vec-demo@champion", "is no registry address"),
    ],
)
def test_a_wrong_address_names_what_exists(registered, address, said):
    with pytest.raises(ModelError) as caught:
        local_model(address, root=registered)
    assert said in str(caught.value)


def test_a_version_whose_files_are_gone_is_one_sentence(registered):
    shutil.rmtree(registered / "mlruns" / "artifacts" / "models")
    with pytest.raises(ModelError, match="files of dial2vec-demo version 2 are gone"):
        local_model("models:/dial2vec-demo/2", root=registered)


def test_a_registered_model_runs_where_dial2vec_is_not_installed(registered):
    script = (
        "import sys; sys.path = [p for p in sys.path if p.rstrip('/') != sys.argv[2]]; import mlflow; "
        "mlflow.set_tracking_uri(sys.argv[1]); model = mlflow.pyfunc.load_model('models:/dial2vec-demo@candidate'); "
        "vectors = model.predict([{'turns': [{'speaker': 'a', 'text': 'w1'}]}]); import dial2vec; "
        "assert 'mlruns' in dial2vec.__file__ and len(vectors[0]) == 16, dial2vec.__file__"
    )
    source = str(tracking.PACKAGE.parent)
    done = subprocess.run(
        [sys.executable, "-c", script, store.store_uri(registered), source], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_model_lists_what_it_needs_and_what_it_takes(registered):
    model = local_model("models:/dial2vec-demo/2", root=registered).parents[1]
    needed = (model / "requirements.txt").read_text()
    assert all(f"{name}==" in needed for name in ("mlflow", "torch", "transformers", "numpy"))
    assert "+" not in needed
    about = mlflow.models.Model.load(model)
    assert "turns" in str(about.signature.inputs)
    assert json.loads((model / "input_example.json").read_text())[0]["turns"][0] == {
        "speaker": "guest",
        "text": "w1 w2",
    }
    assert not list(model.rglob("__pycache__"))
