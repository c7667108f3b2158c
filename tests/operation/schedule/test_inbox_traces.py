"""Traces that a real MLflow server has from its own tracing come into a corpus once, each session as one dialogue."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mlflow
import pytest

from conversations.dialogue import read_dialogues
from conversations.options import Options
from conversations.reading import read_export
from dial2vec.errors import SettingsError
from dial2vec.operation.schedule import inbox_traces
from dial2vec.operation.schedule.inbox import Arrival, take_in
from dial2vec.operation.schedule.inbox_traces import bring_traces
from dial2vec.operation.schedule.result import Retraining
from dial2vec.params import operation_from_dict
from dial2vec.project import dvc
from dial2vec.registry import traces
from tests.faults.servers import mlflow_server

pytestmark = pytest.mark.services("mlflow")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Address of a server whose experiments are new in each test."""
    with mlflow_server(tmp_path_factory.mktemp("mlflow")) as port:
        mlflow.set_tracking_uri(f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"
        mlflow.set_tracking_uri(None)


@pytest.fixture
def project(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project, in which a session counts as over at once."""
    monkeypatch.setattr(inbox_traces, "QUIET", 0)
    monkeypatch.setattr(traces, "PAGE", 2)
    return project


@pytest.fixture
def ask(server: str, request: pytest.FixtureRequest) -> Callable[..., None]:
    """Trace the requests of one session by MLflow's decorator, as an assistant would."""
    mlflow.set_experiment(f"support/{request.node.name}")

    @mlflow.trace(span_type="AGENT")
    def answer(question: str, session: str) -> str:
        mlflow.update_current_trace(metadata={"mlflow.trace.session": session})
        return f"answer to {question}"

    def ask(session: str, *questions: str) -> None:
        for question in questions:
            answer(question, session)
        mlflow.flush_trace_async_logging()

    return ask


@pytest.fixture
def night(project: Path, server: str, request: pytest.FixtureRequest) -> Callable[..., list[Arrival]]:
    """Fetch, and import what was fetched."""
    source = f"calls=mlflow:support/{request.node.name}@{server}"

    def night() -> list[Arrival]:
        assert bring_traces(project / "inbox", [source], say=lambda line: None) == []
        return take_in(project, project / "inbox", ["calls"], redact=False, say=lambda line: None)

    return night


def corpus(root: Path) -> dict[str, int]:
    """Turns of each dialogue; no id comes twice."""
    dialogues = [one for path in (root / "data" / "calls").glob("*") for one in read_dialogues(path, quarantine=[])]
    assert len({one.dialogue_id for one in dialogues}) == len(dialogues)
    return {one.dialogue_id: len(one.turns) for one in dialogues}


def test_each_night_takes_what_is_new_and_a_session_stays_one_dialogue(project, ask, night, server, request):
    ask("ann", "Where is my parcel?", "When will it come?")
    ask("bob", "How do I return shoes?", "Is it free?")
    assert [arrival.dialogues for arrival in night()] == [2]
    assert night() == []
    ask("ann", "It has not come yet. What now?")
    ask("eve", "Is the shop open today?", "And tomorrow?")
    assert [(arrival.dialogues, arrival.set_aside) for arrival in night()] == [(2, 0), (1, 0)]
    assert corpus(project) == {"ann": 6, "bob": 4, "eve": 4}
    assert night() == []
    whole = read_export(Path(f"mlflow:support/{request.node.name}@{server}"), Options()).result.dialogues
    assert {dialogue.dialogue_id: len(dialogue.turns) for dialogue in whole} == corpus(project)


def test_a_session_is_taken_when_it_is_quiet_or_has_gone_on_for_too_long(project, ask, night, monkeypatch):
    monkeypatch.setattr(inbox_traces, "QUIET", 3_600_000)
    ask("ann", "Where is my parcel?", "When will it come?")
    assert night() == []
    monkeypatch.setattr(inbox_traces, "LATE", 0)
    night()
    assert corpus(project) == {"ann": 4}


@pytest.mark.parametrize("killed_at", ["_add", "write_json", "add_data"])
def test_a_run_that_is_killed_loses_nothing_and_takes_nothing_twice(project, ask, night, monkeypatch, killed_at):
    ask("ann", "Where is my parcel?", "When will it come?")
    night()
    ask("ann", "It has not come yet. What now?")
    ask("bob", "How do I return shoes?", "Is it free?")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(dvc if killed_at == "add_data" else inbox_traces, killed_at, killed)
        with pytest.raises(KeyboardInterrupt):
            night()
    ask("bob", "Thank you. And a jacket?")
    night()
    assert corpus(project) == {"ann": 6, "bob": 6}
    traces_of_files = [path.read_text().splitlines() for path in (project / "inbox" / "imported").rglob("*.jsonl")]
    assert sum(map(len, traces_of_files)) == 6


def test_a_server_that_is_away_and_a_wrong_name_are_notes_without_a_password(project, server):
    away = "calls=mlflow:support@http://ann:secret@127.0.0.1:9"
    sources = [away, f"calls=mlflow:suport@{server}"]
    done = Retraining()
    done.arrived(bring_traces(project / "inbox", sources, say=lambda line: None))
    for note, reason in zip(done.notes, ("does not answer", "no experiment of http"), strict=True):
        assert reason in note
        assert "secret" not in note
    assert (done.failed, done.refused) == ("", [])


def test_a_source_of_traces_names_a_corpus_and_an_experiment():
    assert operation_from_dict({"schedule": {"traces": ["calls=mlflow:a/b"]}}).schedule.traces == ("calls=mlflow:a/b",)
    with pytest.raises(SettingsError, match="found 'mlflow:support'; expected <corpus>=mlflow:<experiment>"):
        operation_from_dict({"schedule": {"traces": ["mlflow:support"]}})
