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


@pytest.fixture()
def make_record(encoders: Path, tmp_path: Path, dialogue: Callable[..., object]) -> MakeRecord:
    report = tmp_path / "report.html"
    report.write_text("<h1>better</h1>")
    record = TrainingRecord(
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
        example=dialogue("d1", "guest: w1 w2", "desk: w3"),
        seconds={"train": 12.5},
        fingerprint="f1",
    )
    return lambda **changes: replace(record, **changes)


@pytest.fixture()
def root(tmp_path: Path) -> Path:
    # Characters that mean something in a URI.
    return tmp_path / "my project #1 50%"


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


def test_the_version_says_what_got_better_and_what_got_worse(root, make_record):
    done = register(root, make_record())
    version = open_store(root).get_model_version("dial2vec-demo", done.version)
    assert version.description == (
        "Trained on the corpus 'demo' from tiny. "
        "On dev: purity 69.00 (start 68.00, +1.00), spearman 39.00 (start 38.00, +1.00), map 55.00 (start 54.00, +1.00). "
        "On test: purity 70.00 (start 69.00, +1.00), spearman 37.50 (start 38.00, -0.50), map 57.00 (start 55.00, +2.00)."
    )
    assert json.loads(version.tags["dev_scores"]) == points(69, 39, 55)
    assert version.run_id == done.run_id


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


def test_a_changed_start_becomes_a_version_but_not_champion(root, make_record, encoders):
    register(root, make_record())
    done = register(root, make_record(fingerprint="f2", start_model=encoders / "trained"))
    assert (done.start_version, done.version, done.champion_version) == ("3", "4", "1")
    assert [one.kind for one in versions(root, "demo")] == ["start", "trained", "start", "trained"]


def test_a_library_upgrade_does_not_make_a_new_start(root, make_record, encoders, tmp_path):
    register(root, make_record())
    upgraded = shutil.copytree(encoders / "start", tmp_path / "upgraded")
    (upgraded / "config.json").write_text((upgraded / "config.json").read_text().replace("version", "Version"))
    assert register(root, make_record(fingerprint="f2", start_model=upgraded)).start_version == "1"


def test_three_processes_may_start_at_once(root):
    script = (
        "import sys; from pathlib import Path; from dial2vec.tracking import open_store; "
        "from dial2vec.store import experiment; root = Path(sys.argv[1]); experiment(open_store(root), root, 'demo')"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", script, str(root)], stderr=subprocess.PIPE, text=True) for _ in range(3)
    ]
    outcomes = [(process.communicate()[1], process.returncode) for process in started]
    assert outcomes == [("", 0)] * 3
    assert len(open_store(root).search_experiments(filter_string="name = 'dial2vec-demo'")) == 1


def test_a_moved_checkout_loads_its_models_by_alias(root, make_record, tmp_path, dialogue, encoders):
    register(root, make_record())
    moved = tmp_path / "moved" / "here"
    moved.parent.mkdir()
    root.rename(moved)
    folder = local_model("models:/dial2vec-demo@candidate", root=moved)
    assert moved in folder.parents
    expected = DialogueEncoder.from_pretrained(encoders / "trained").encode(dialogue("d", "a: w1", "b: w2"))
    with store.as_default(store.store_uri(moved)):
        model = mlflow.pyfunc.load_model("models:/dial2vec-demo@candidate")
        turns = [{"speaker": "a", "text": "w1"}, {"speaker": "b", "text": "w2"}]
        assert model.predict([{"turns": turns}])[0] == pytest.approx(expected.tolist(), abs=1e-5)
    done = register(moved, make_record(fingerprint="f2"))
    assert open_store(moved).list_artifacts(done.run_id)[0].path == "report.html"


def test_a_store_that_has_not_moved_is_not_rewritten(root, make_record):
    register(root, make_record())
    client = open_store(root)
    client.create_experiment("other", artifact_location="/old/other")
    client.create_experiment("dial2vec-mine", artifact_location="/old/place/mlruns/artifacts")
    client.create_experiment("neighbour", artifact_location="/old/place/mlruns/artifacts-2")
    open_store(root)
    with sqlite3.connect(root / "mlruns" / "mlflow.db") as connection:
        found = dict(connection.execute("SELECT name, artifact_location FROM experiments"))
    here = str(root / "mlruns" / "artifacts")
    assert found["dial2vec-mine"] == here
    assert found["dial2vec-demo"] == here
    assert found["other"] == "/old/other"
    assert found["neighbour"] == "/old/place/mlruns/artifacts-2"


def test_a_damaged_database_is_one_sentence(root):
    open_store(root)
    (root / "mlruns" / "mlflow.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(ModelError, match=r"mlflow.db cannot be used: file is not a database\. .* move the folder"):
        open_store(root)


def test_an_empty_database_file_is_made_anew(root):
    (root / "mlruns").mkdir(parents=True)
    (root / "mlruns" / "mlflow.db").touch()
    assert open_store(root).search_experiments()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_database_is_one_sentence(root):
    open_store(root)
    (root / "mlruns" / "mlflow.db").chmod(0o400)
    with pytest.raises(ModelError, match="readonly"):
        open_store(root)


def test_a_dead_server_is_found_out_at_once(root, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    started = time.monotonic()
    with pytest.raises(ModelError, match=r"http://127.0.0.1:9 does not answer .* unset MLFLOW_TRACKING_URI"):
        open_store(root)
    assert time.monotonic() - started < 5


def test_a_store_named_in_the_environment_is_used_as_it_is(root, make_record, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/other.db")
    register(root, make_record())
    assert not (root / "mlruns" / "mlflow.db").exists()
    assert len(versions(root, "demo")) == 2
    assert os.environ["MLFLOW_TRACKING_URI"].endswith("other.db")


def test_a_better_candidate_becomes_champion_and_the_old_one_previous(root, make_record):
    done = register(root, make_record())
    assert promote(root, "demo", MARGINS).promoted
    first, second = versions(root, "demo")
    assert (first.aliases, second.aliases) == (("previous",), ("candidate", "champion"))
    assert open_store(root).get_model_version("dial2vec-demo", done.version).tags["promotion"] == "promoted"
    assert promote(root, "demo", MARGINS).reasons == ["version 2 is the champion already"]


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
    register(root, make_record())
    promote(root, "demo", MARGINS)
    figures = {"start": points(50, 20, 30), "trained": points(60, 30, 40)}
    return register(root, make_record(fingerprint="f2", dev_hash="dev-2", dev_scores=figures))


def test_a_champion_from_another_dev_split_is_measured_again(root, make_record):
    on_a_new_split(root, make_record)
    measured: list[Path] = []

    def rescore(folder: Path) -> dict[str, float]:
        measured.append(folder)
        return points(55, 25, 35)

    assert promote(root, "demo", MARGINS, rescore=rescore, dev_hash="dev-2").promoted
    assert [folder.is_dir() for folder in measured] == [True]
    assert DialogueEncoder.from_pretrained(measured[0])
    assert [one.dev_scores["map"] for one in versions(root, "demo")] == [30, 35, 40]
    assert [one.aliases for one in versions(root, "demo")] == [(), ("previous",), ("candidate", "champion")]


def test_everybody_is_measured_again_when_dev_has_changed_since(root, make_record):
    register(root, make_record())
    measured: list[Path] = []
    promote(root, "demo", MARGINS, rescore=lambda folder: measured.append(folder), dev_hash="dev-9")
    assert len(measured) == 2
    assert [one.dev_scores for one in versions(root, "demo")] == [None, None]


def test_figures_of_different_splits_are_never_compared(root, make_record):
    on_a_new_split(root, make_record)
    verdict = promote(root, "demo", MARGINS)
    assert verdict.reasons == ["version 2 was measured on another dev split; measure it on the present one"]


def test_promotion_without_registration_says_what_to_run(root, make_record):
    with pytest.raises(
        ModelError, match=r"nothing is registered as dial2vec-demo\. Registered: nothing at all\. Run `make run`"
    ):
        promote(root, "demo", MARGINS)
    register(root, make_record())
    with pytest.raises(ModelError, match=r"Did you mean 'dial2vec-demo'\? Registered: dial2vec-demo"):
        promote(root, "demoo", MARGINS)


def test_addresses_lead_to_the_encoder_inside_the_store(root, make_record):
    register(root, make_record())
    by_alias = local_model("models:/dial2vec-demo@candidate", root=root)
    assert by_alias == local_model("models:/dial2vec-demo/2", root=root)
    assert root / "mlruns" / "artifacts" in by_alias.parents
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
def test_a_wrong_address_names_what_exists(root, make_record, address, said):
    register(root, make_record())
    with pytest.raises(ModelError) as caught:
        local_model(address, root=root)
    assert said in str(caught.value)


def test_a_version_whose_files_are_gone_is_one_sentence(root, make_record):
    register(root, make_record())
    shutil.rmtree(root / "mlruns" / "artifacts" / "models")
    with pytest.raises(ModelError, match="files of dial2vec-demo version 2 are gone"):
        local_model("models:/dial2vec-demo/2", root=root)


def test_a_registered_model_runs_where_dial2vec_is_not_installed(root, make_record):
    register(root, make_record())
    script = (
        "import sys; sys.path = [p for p in sys.path if p.rstrip('/') != sys.argv[2]]; import mlflow; "
        "mlflow.set_tracking_uri(sys.argv[1]); model = mlflow.pyfunc.load_model('models:/dial2vec-demo@candidate'); "
        "vectors = model.predict([{'turns': [{'speaker': 'a', 'text': 'w1'}]}]); import dial2vec; "
        "assert 'mlruns' in dial2vec.__file__ and len(vectors[0]) == 16, dial2vec.__file__"
    )
    source = str(tracking.PACKAGE.parent)
    done = subprocess.run([sys.executable, "-c", script, store.store_uri(root), source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_model_lists_what_it_needs_and_what_it_takes(root, make_record):
    register(root, make_record())
    model = local_model("models:/dial2vec-demo/2", root=root).parents[1]
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
