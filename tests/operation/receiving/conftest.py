"""A `dial2vec receive` that runs, and the words of sessions that are sent to it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

TOKEN = "a-token-of-the-tests"
SECRET = "a-secret-of-the-tests"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@dataclass
class Command:
    """The command, on one port and with one inbox, which may be killed and started again."""

    inbox: Path
    options: tuple[str, ...] = ("--quiet", "300")
    place: tuple[str, ...] = ()
    port: int = field(default_factory=free_port)

    def start(self) -> None:
        words = ["receive", *(self.place or ("--inbox", str(self.inbox))), "--port", str(self.port), *self.options]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dial2vec.cli", *words],
            env=os.environ | {"DIAL2VEC_RECEIVE_TOKEN": TOKEN, "DIAL2VEC_WEBHOOK_SECRET": SECRET},
            cwd=self.inbox.parents[1],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout
        first = self.process.stdout.readline()
        assert first.startswith("Receiving at "), first + self.process.stdout.read()

    def end(self, how: int = signal.SIGTERM) -> str:
        """End the process, and return what it said after its first line."""
        self.process.send_signal(how)
        return self.process.communicate(timeout=30)[0]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Command]:
    running = Command(tmp_path / "inbox" / "calls")
    yield running
    if running.process.poll() is None:
        running.end(signal.SIGKILL)


def said(session: str, number: int) -> list[tuple[str, str]]:
    """The turns of a request of a session."""
    return [("user", f"Question {number} of {session}?"), ("assistant", f"Answer {number} to {session}.")]


def messages(session: str, number: int) -> dict[str, str]:
    """The attributes of the span of a request, by the GenAI conventions."""
    question, answer = (
        json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])
        for role, text in said(session, number)
    )
    return {"gen_ai.operation.name": "chat", "gen_ai.input.messages": question, "gen_ai.output.messages": answer}


def otlp(trace: int, attributes: dict[str, str], *, span: int = 1) -> dict[str, object]:
    """A request of OTLP/JSON with one span."""
    pairs = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    times = {"startTimeUnixNano": str(1_700_000_000_000_000_000 + trace), "endTimeUnixNano": "1700000000000000009"}
    one = {"traceId": f"{trace:032x}", "spanId": f"{span:016x}", "name": "chat", "kind": 3, "attributes": pairs} | times
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "app"}, "spans": [one]}]}]}
