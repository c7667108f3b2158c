"""Topics in a real store of MLflow: an evaluation data set that MLflow evaluates, and tags of traces with undo."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import mlflow
import numpy as np
import pytest
from click.testing import CliRunner

from dial2vec.cli import main
from dial2vec.collection.clustering import cluster
from dial2vec.errors import ModelError
from dial2vec.registry.acting import TAG, log_evaluation_data, tag_traces
from dial2vec.registry.store import SERVER, opened, store_uri
from tests.collection.made import written
from tests.conftest import make_dialogue

ROWS = [
    {"inputs": {"messages": [{"role": "user", "content": text}]}, "outputs": "Closed.", "tags": {"topic": "Hours"}}
    for text in ("Open?", "Open on Sunday?")
]

# In a process of its own: evaluate() waits for ever if another thread imports a module while it begins, as it imports
# under the lock of its import hooks, which each import asks for under Python's. Other tests may leave such a thread.
EVALUATING = """
import json, sys
import mlflow
from mlflow.genai import evaluate, scorer
from mlflow.genai.datasets import search_datasets

@scorer
def short(inputs, outputs) -> bool:
    return len(inputs["messages"]) == 1 and outputs == "Closed."

mlflow.set_tracking_uri(sys.argv[1])
[dataset] = search_datasets(experiment_ids="1")
mlflow.set_experiment("shop")
rows = json.loads(sys.argv[2])
print(json.dumps([evaluate(data=data, scorers=[short]).metrics for data in (dataset, rows)]))
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project whose store has an experiment with two requests of a session, and one of none."""
    for name in ("params.yaml", "dvc.yaml"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    with opened(tmp_path):
        mlflow.set_tracking_uri(store_uri(tmp_path))
        mlflow.set_experiment("shop")
        for session in ("s-1", "s-1", None):
            with mlflow.start_span("answer") as span:
                span.set_inputs({"question": "Open?"})
                mlflow.update_current_trace(metadata={"mlflow.trace.session": session} if session else {})
        mlflow.flush_trace_async_logging()
    mlflow.set_tracking_uri(None)
    yield tmp_path
    mlflow.set_tracking_uri(None)


def tags() -> list[str | None]:
    traces = mlflow.search_traces(return_type="list", locations=["1"], include_spans=False)
    return sorted((trace.info.tags.get(TAG) or "" for trace in traces), reverse=True)


def test_mlflow_evaluates_the_data_set_which_holds_each_dialogue_once(project):
    assert [log_evaluation_data("shop", "calls, Hours", ROWS[:n]) for n in (1, 2, 2)] == [1, 2, 2]
    assert SERVER not in os.environ
    evaluating = [sys.executable, "-c", EVALUATING, store_uri(project), json.dumps(ROWS)]
    done = subprocess.run(evaluating, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [{"short/mean": 1.0}] * 2


def test_traces_are_counted_tagged_and_untagged(project):
    assert tag_traces("shop", {"s-1": "Hours"}) == (2, 3)
    mlflow.set_tracking_uri(store_uri(project))
    assert tags() == ["", "", ""]
    assert [tag_traces("shop", {"s-1": "Hours"}, write=True) for _ in range(2)] == [(2, 3), (0, 3)]
    # Another topic of another run leaves the tags of this one.
    assert tag_traces("shop", {"s-2": "Rain"}, write=True) == (0, 3)
    assert tags() == ["Hours", "Hours", ""]
    assert tag_traces("shop", None) == (2, 3)
    assert tag_traces("shop", None, write=True) == (2, 3)
    assert tags() == ["", "", ""]


def test_an_experiment_that_is_missing_is_named_and_not_made(project):
    with pytest.raises(ModelError, match="MLflow has no experiment 'shops'; expected one"):
        tag_traces("shops", {})
    with opened(project) as client:
        assert client.get_experiment_by_name("shops") is None


def test_the_command_writes_tags_only_when_told_and_takes_them_back(project):
    dialogues = [make_dialogue(name, "user: open?", "bot: closed") for name in ("s-1", "s-2")]
    cluster(written(project / "chats", dialogues, np.eye(2, dtype=np.float32)), k=1)

    def said(*words: str) -> str:
        result = CliRunner().invoke(main, ["export", str(project / "chats"), "--experiment", "shop", "--as", *words])
        assert result.exit_code == 0, result.output
        return result.output.partition(": ")[2]

    assert said("tags") == "2 of 3 traces would change, --yes writes\n"
    assert said("tags", "--yes") == "2 of 3 traces changed\n"
    assert said("tags") == "0 of 3 traces would change, --yes writes\n"
    assert said("tags", "--undo", "--yes") == "2 of 3 traces changed\n"
    # Both dialogues ask the same, so they are one row.
    assert said("mlflow") == "evaluation data set 'chats' of shop, 1 rows\n"
