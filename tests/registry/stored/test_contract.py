"""What the tests in memory take for granted: a store of MLflow itself answers as the client in memory does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from mlflow.exceptions import MlflowException

from dial2vec.config import Promote, Prune
from dial2vec.registry.by_hand import noticed
from dial2vec.registry.champions import history, promote, rollback
from dial2vec.registry.old_versions import old_versions, orphans, remove
from dial2vec.registry.store import hard_delete, open_store, store_uri
from dial2vec.registry.tracking import local_model, register_training, registered_versions, run_address
from tests.registry.conftest import points
from tests.registry.fake_client import FakeClient

NAME = "dial2vec-demo"


def answers(client, folder: Path) -> list[object]:
    """What a client says of the same runs, versions and aliases."""
    of = client.create_experiment("dial2vec-x", artifact_location=str(folder))
    runs = [
        client.create_run(of, start_time=start, tags={"kind": "decision", "decision.number": number}).info.run_id
        for start, number in ((2000, "1"), (1000, "2"), (3000, "3"))
    ]
    client.set_terminated(runs[1], "FINISHED")
    client.delete_run(runs[2])
    latest = client.search_runs(of, "tags.kind = 'decision'", 3, 2, ["attributes.start_time DESC"])
    client.create_registered_model(NAME, description="")
    tags = {"kind": "start"}
    made = [client.create_model_version(NAME, str(folder), run_id=runs[0], tags=tags) for _ in range(3)]
    for alias, number in (("champion", "1"), ("candidate", "3"), ("champion", "2"), ("previous", "1")):
        client.set_registered_model_alias(NAME, alias, number)
    client.set_model_version_tag(NAME, "2", "kind", "trained")
    client.delete_model_version(NAME, "3")
    client.delete_registered_model_alias(NAME, "previous")
    missing = []
    for question in (
        lambda: client.get_registered_model("dial2vec-y"),
        lambda: client.get_model_version(NAME, "3"),
        lambda: client.get_run("none"),
    ):
        with pytest.raises(MlflowException) as caught:
            question()
        missing.append(caught.value.error_code)
    versions = sorted(client.search_model_versions(f"name = '{NAME}'"), key=lambda version: int(version.version))
    return [
        [(run.data.tags["decision.number"], run.info.start_time, run.info.status) for run in latest],
        [
            len(client.search_runs([of], f"attributes.status = '{status}'", 3))
            for status in ("FINISHED", "RUNNING", "FAILED")
        ],
        [str(version.version) for version in made],
        {alias: str(number) for alias, number in client.get_registered_model(NAME).aliases.items()},
        [(str(one.version), one.tags["kind"], one.current_stage, one.run_id == runs[0]) for one in versions],
        client.get_model_version_download_uri(NAME, "1"),
        str(client.create_model_version(NAME, str(folder)).version),
        missing,
    ]


def test_the_client_in_memory_answers_as_mlflows(root, tmp_path):
    (tmp_path / "files").mkdir()
    assert answers(FakeClient(tmp_path), tmp_path / "files") == answers(open_store(root), tmp_path / "files")


def test_the_life_of_a_registry(registered, make_record):
    """Register, promote, move by hand, roll back, delete by hand and prune in a store of MLflow itself."""
    better = {"start": points(68, 38, 54), "trained": points(70, 40, 60)}
    assert promote(registered, "demo", Promote(confidence=0.0)).promoted
    register_training(registered, make_record(fingerprint="f2", dev_scores=better))
    assert promote(registered, "demo", Promote(confidence=0.0)).promoted
    client = open_store(registered)
    client.set_registered_model_alias(NAME, "champion", "2")
    assert "champion moved by hand; champion is version 2 (before: 3). " in noticed(registered, "demo")[0]
    rollback(registered, "demo", to="3", because="it was better")
    client.delete_registered_model_alias(NAME, "champion")
    assert "Somebody deleted the alias `champion` in MLflow" in noticed(registered, "demo")[0]
    register_training(registered, make_record(fingerprint="f3"))
    hard_delete(client, run_id=client.get_model_version(NAME, "4").run_id)
    assert run_address(registered, "demo") == f"/#/models/{NAME}/versions/4"
    folder = local_model(f"models:/{NAME}/3", root=registered).parents[1]
    assert remove(registered, old_versions(registered, "demo", Prune(keep_last=0, keep_days=0))) == []
    assert not folder.exists()
    assert orphans(client, registered) == []
    assert [one.version for one in registered_versions(registered, "demo")] == ["1", "4"]
    assert [(one.kind, one.before, one.after) for one in history(registered, "demo")] == [
        ("first", "", "1"),
        ("promoted", "1", "2"),
        ("promoted", "2", "3"),
        ("moved by hand", "3", "2"),
        ("rolled back", "2", "3"),
        # Version 2 was rolled back, so the base encoder is next.
        ("removed by hand", "3", "1"),
        ("pruned", "1", "1"),
        ("pruned", "1", "1"),
    ]


@pytest.mark.services("mlflow")
def test_cleaning_up_mlflow_leaves_registered_files_alone(registered):
    client = open_store(registered)
    for one in client.search_logged_models([client.get_experiment_by_name("dial2vec-demo").experiment_id]):
        client.delete_logged_model(one.model_id)
    uri = store_uri(registered)
    clean = ["-m", "mlflow", "gc", "--backend-store-uri", uri, "--tracking-uri", uri]
    assert subprocess.run([sys.executable, *clean], env=os.environ, capture_output=True, check=True)
    assert not list((registered / "mlruns" / "artifacts" / "models").glob("*/artifacts/MLmodel"))
    for number in (1, 2):
        assert (local_model(f"models:/dial2vec-demo/{number}", root=registered) / "config.json").is_file()
