from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from dial2vec.config import Schedule
from dial2vec.operation.notify import notify, send_heartbeat

VERDICT = {"failed": "", "corpora": [{"corpus": "calls", "verdict": "Promoted: größer."}]}


@pytest.fixture
def server() -> Iterator[tuple[str, list[bytes]]]:
    """An address, and the bodies that were posted there; /broken answers 500."""
    got: list[bytes] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(500 if self.path == "/broken" else 200)
            self.end_headers()

        def do_GET(self) -> None:
            got.append(f"GET {self.path}".encode())
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Hook) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_port}", got
        listening.shutdown()


def told(hook: str | None, root: Path, *, form: str = "verdict") -> str:
    return notify(Schedule(notify=hook, notify_form=form), VERDICT, text="calls: promoted", root=root)


def test_a_command_gets_the_verdict_on_its_standard_input(tmp_path):
    assert told("cat > told.json", tmp_path) == ""
    assert json.loads((tmp_path / "told.json").read_text()) == VERDICT


def test_an_address_gets_it_as_a_post(tmp_path, server):
    address, got = server
    assert told(f"{address}/hook", tmp_path) == ""
    assert [json.loads(body) for body in got] == [VERDICT]


def test_a_chat_gets_a_text(tmp_path, server):
    address, got = server
    assert told(f"{address}/hook", tmp_path, form="text") == ""
    assert [json.loads(body) for body in got] == [{"text": "calls: promoted"}]


def test_a_heartbeat_is_one_call_without_a_body(server):
    address, got = server
    assert send_heartbeat(Schedule(heartbeat=f"{address}/ping")) == ""
    assert send_heartbeat(Schedule()) == ""
    assert got == [b"GET /ping"]


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/with a blank", "http://[half"])
def test_an_address_that_is_none_is_one_sentence(tmp_path, address):
    assert "could not be told:" in told(address, tmp_path)


def test_a_command_that_takes_too_long_ends_with_all_that_it_began(tmp_path, monkeypatch):
    monkeypatch.setattr("dial2vec.operation.notify.SECONDS", 0.5)
    assert "timed out" in told("(sleep 2; touch late) | cat", tmp_path)
    time.sleep(2.5)
    assert not (tmp_path / "late").exists()


def test_nobody_is_told_where_there_is_no_hook(tmp_path):
    assert told(None, tmp_path) == ""


def test_a_hook_that_fails_is_one_sentence(tmp_path, server):
    address, _ = server
    said = told("echo no; echo such user >&2; exit 3", tmp_path)
    assert said == "the command of `schedule.notify` could not be told: such user"
    assert told("exit 3", tmp_path).endswith("could not be told: it ended with status 3")
    assert told(f"{address}/broken", tmp_path).endswith(f"({address}/…) could not be told: it answered with status 500")
    assert "could not be told: [Errno" in told("http://127.0.0.1:9/none", tmp_path)
