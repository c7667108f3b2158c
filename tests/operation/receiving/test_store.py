"""Conversations that come in several requests, over hours and over kills are one dialogue of the corpus each."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from conversations.dialogue import read_dialogues
from dial2vec.operation.receiving import reading
from dial2vec.operation.receiving.store import Store
from dial2vec.operation.schedule.inbox import take_in
from tests.operation.receiving.conftest import messages, otlp


@pytest.fixture
def project(project: Path) -> Path:
    """The project with an inbox."""
    (project / "inbox" / "calls").mkdir(parents=True)
    return project


def opened(project: Path, *, quiet: float = 300) -> Store:
    return Store(project / "inbox" / "calls", project / "received.db", quiet=quiet, min_free_gb=0)


def put(store: Store, trace: int, attributes: dict[str, str], *, span: int = 1) -> None:
    body = json.dumps(otlp(trace, attributes, span=span)).encode()
    store.put(reading.read_traces(body, reading.JSON, lambda content: content)[0])


def imported(project: Path) -> dict[str, int]:
    """Turn count of each dialogue of the corpus, after the files of the inbox were imported."""
    arrivals = take_in(project, project / "inbox", ["calls"], redact=False, say=lambda line: None)
    assert [arrival.refused or arrival.set_aside for arrival in arrivals if arrival.refused or arrival.set_aside] == []
    files = (project / "data" / "calls").glob("*.jsonl")
    dialogues = [dialogue for path in files for dialogue in read_dialogues(path, quarantine=[])]
    assert len({dialogue.dialogue_id for dialogue in dialogues}) == len(dialogues)
    return {dialogue.dialogue_id: len(dialogue.turns) for dialogue in dialogues}


def test_a_session_that_goes_on_after_its_import_grows(project):
    store = opened(project)
    put(store, 1, {"session.id": "s"} | messages("s", 0))
    put(store, 2, {"session.id": "t"} | messages("t", 0))
    assert store.hand_over() == 0
    assert store.hand_over(everything=True) == 2
    assert imported(project) == {"s": 2, "t": 2}
    put(store, 3, {"session.id": "s"} | messages("s", 1))
    assert store.hand_over(everything=True) == 1
    assert imported(project) == {"s": 4, "t": 2}
    assert imported(project) == {"s": 4, "t": 2}


def test_what_was_handed_over_is_in_no_file_of_the_database(project):
    store = opened(project)
    put(store, 1, {"session.id": "s"} | messages("s", 0))
    text = json.loads(messages("s", 0)["gen_ai.input.messages"])[0]["parts"][0]["content"].encode()
    assert any(text in path.read_bytes() for path in project.glob("received.db*"))
    store.hand_over(everything=True)
    assert not any(text in path.read_bytes() for path in project.glob("received.db*"))


def test_the_span_that_names_the_session_may_come_last(project):
    store = opened(project, quiet=0)
    put(store, 1, {"session.id": "s"} | messages("s", 0))
    put(store, 2, messages("s", 1))
    put(store, 2, {"session.id": "s", "gen_ai.operation.name": "invoke_agent"}, span=2)
    assert store.hand_over() == 1
    assert imported(project) == {"s": 4}


@pytest.mark.parametrize("torn", [b"", b'{"resourceSpans": [{"res'])
def test_a_kill_while_it_is_written_neither_loses_nor_doubles(project, torn):
    """The worst moments: after the lines are written but before this is noted, and in the middle of a line."""
    store = opened(project)
    put(store, 1, {"session.id": "s"} | messages("s", 0))
    before = project / "before.db"
    store._database.execute("VACUUM INTO ?", (str(before),))
    store.hand_over(everything=True)
    [file] = (project / "inbox" / "calls").glob("otlp-*.jsonl")
    file.write_bytes(file.read_bytes() + torn)
    store._database.close()
    for path in project.glob("received.db*"):
        path.unlink()
    shutil.move(before, project / "received.db")
    store = opened(project)
    put(store, 2, {"session.id": "s"} | messages("s", 1))
    assert store.hand_over(everything=True) == 1
    assert len([json.loads(line) for line in file.read_text().splitlines()]) == 2
    assert imported(project) == {"s": 4}


def test_a_session_that_is_never_quiet_is_handed_over_after_a_day(project, monkeypatch):
    store = opened(project)
    put(store, 1, {"session.id": "s"} | messages("s", 0))
    store._database.execute("UPDATE received SET at = at - 90000")
    put(store, 2, {"session.id": "s"} | messages("s", 1))
    assert store.hand_over() == 1


def test_slacks_own_example_of_a_signature_is_valid(monkeypatch):
    """https://docs.slack.dev/authentication/verifying-requests-from-slack"""
    body = (
        b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&"
        b"channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url="
        b"https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&"
        b"trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
    )
    digits = b"a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
    headers = {b"x-slack-request-timestamp": b"1531420618", b"x-slack-signature": b"v0=" + digits}
    monkeypatch.setattr(reading.time, "time", lambda: 1_531_420_700.0)
    assert reading.is_signed(headers, body, b"8f742231b10e8888abcd99yyyzzz85a5")
    assert not reading.is_signed(headers, body + b"x", b"8f742231b10e8888abcd99yyyzzz85a5")
