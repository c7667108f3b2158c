"""Traces come from a real store of MLflow, all of them, and what is wrong is one sentence."""

from __future__ import annotations

from pathlib import Path

import mlflow
import pytest

from conversations.options import Options
from conversations.reading import read_export
from dial2vec.errors import ModelError
from dial2vec.registry import traces
from dial2vec.registry.store import SERVER, opened, store_uri
from tests.conversations.traces import SESSIONS


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project whose store has an experiment with the traces of two sessions, and one without."""
    for name in ("params.yaml", "dvc.yaml"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    with opened(tmp_path):
        mlflow.set_tracking_uri(store_uri(tmp_path))
        mlflow.create_experiment("empty")
        mlflow.set_experiment("shop/chat")
        for exchanges in zip(*SESSIONS.values(), strict=True):
            for session, (question, answer) in zip(SESSIONS, exchanges, strict=True):
                with mlflow.start_span("answer", span_type="AGENT") as span:
                    span.set_inputs({"question": question})
                    span.set_outputs(answer)
                    mlflow.update_current_trace(metadata={"mlflow.trace.session": session})
        mlflow.flush_trace_async_logging()
    yield tmp_path
    mlflow.set_tracking_uri(None)


def test_the_traces_of_an_experiment_are_dialogues_by_session(project, monkeypatch):
    monkeypatch.setattr(traces, "PAGE", 4)
    path = traces.fetch_traces("shop/chat", project)
    dialogues = read_export(Path("mlflow:shop/chat"), Options()).result.dialogues
    assert {dialogue.dialogue_id: [turn.text for turn in dialogue.turns] for dialogue in dialogues} == {
        name: [text for exchange in session for text in exchange] for name, session in SESSIONS.items()
    }
    with opened(project) as client:
        number = client.get_experiment_by_name("shop/chat").experiment_id
    assert traces.fetch_traces(number, project).read_text() == path.read_text()
    for name, message in {
        "shop/chats": r"Did you mean 'shop/chat'\? Expected one of: Default, empty, shop/chat.",
        "empty": "experiment 'empty' has no traces",
    }.items():
        with pytest.raises(ModelError, match=message) as raised:
            traces.fetch_traces(name, project)
        assert "\n" not in str(raised.value)


def test_a_server_that_does_not_answer_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv(SERVER, "http://ann:secret@127.0.0.1:9")
    with pytest.raises(ModelError, match=r"the MLflow server http://127\.0\.0\.1:9 does not answer"):
        traces.fetch_traces("shop", tmp_path)
