"""Each update of a collection is one run of a real MLflow server, also if a call is killed."""

from __future__ import annotations

import json

import mlflow
import pytest
from mlflow import MlflowClient

from dial2vec.collection.summary.summary_page import write_summary
from dial2vec.operation.schedule.topics import log_topics
from tests.collection.changes.conftest import call
from tests.collection.changes.conftest import make as make
from tests.faults.servers import mlflow_server

pytestmark = pytest.mark.services("mlflow")

NEWS = {
    "id": "2026-05-11T03-00-00",
    "dialogues": 60,
    "changes": [{"kind": "new", "cluster": 2, "sentence": "New: stole money: 30 conversations"}],
}
VERSION = "0123456789abcdef0123456789abcdef.dir"


@pytest.fixture
def client(tmp_path, monkeypatch):
    """A server that the environment names."""
    (tmp_path / "mlflow").mkdir()
    with mlflow_server(tmp_path / "mlflow") as port:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{port}")
        yield MlflowClient(f"http://127.0.0.1:{port}")


def test_the_same_news_is_one_run_with_topics_sheet_and_version_though_a_call_is_killed(
    client, make, tmp_path, monkeypatch
):
    collection = make([*call(0, 60, text="my card is lost"), *call(1, 30, text="a loan please")], k=2)
    write_summary(sheet := tmp_path / "report.html", collection)
    (tmp_path / "data.dvc").write_text(f"outs:\n- md5: {VERSION}\n  path: data\n")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "log_artifact", killed)
        patch.setattr(MlflowClient, "set_terminated", killed)
        with pytest.raises(KeyboardInterrupt):
            log_topics(tmp_path, collection, NEWS, sheet=sheet)
    number = log_topics(tmp_path, collection, NEWS, sheet=sheet)
    assert log_topics(tmp_path, collection, NEWS, sheet=sheet) == number
    [experiment] = client.search_experiments(filter_string="name LIKE 'dial2vec-%'")
    runs = client.search_runs([experiment.experiment_id])
    assert sorted(run.info.status for run in runs) == ["FAILED", "FINISHED"]

    run = client.get_run(number)
    assert experiment.name == f"dial2vec-topics_{collection.folder.name}"
    assert run.data.metrics == {"share.10": 60 / 90, "share.11": 30 / 90, "dialogues": 90, "new": 60, "changes": 1}
    assert run.data.tags["mlflow.note.content"] == "New: stole money: 30 conversations"
    [data] = run.inputs.dataset_inputs
    assert (data.dataset.name, data.dataset.digest) == (collection.folder.name, VERSION)
    files = {file.path for file in client.list_artifacts(number)}
    assert files == {"record.json", "report.html", "table.json"}
    table = mlflow.artifacts.load_dict(f"{run.info.artifact_uri}/table.json")
    assert table["columns"] == ["id", "name", "size", "share"]
    assert [row[2] for row in table["data"]] == [60, 30]


def test_an_update_that_nobody_looked_at_for_news_is_a_run_too(client, make, tmp_path):
    collection = make([*call(0, 20, text="my card is lost"), *call(1, 10, text="a loan please")], k=2)
    run = client.get_run(log_topics(tmp_path, collection, None))
    assert run.data.metrics["new"] == 0
    assert json.loads(run.inputs.dataset_inputs[0].dataset.source)["uri"] == str(collection.folder)
