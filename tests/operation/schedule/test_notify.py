from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from dial2vec.operation.schedule.notify import notify

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

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Hook) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_port}", got
        listening.shutdown()


def test_a_command_gets_the_verdict_on_its_standard_input(tmp_path):
    assert notify("cat > told.json", VERDICT, root=tmp_path) == ""
    assert json.loads((tmp_path / "told.json").read_text()) == VERDICT


def test_an_address_gets_it_as_a_post(tmp_path, server):
    address, got = server
    assert notify(f"{address}/hook", VERDICT, root=tmp_path) == ""
    assert [json.loads(body) for body in got] == [VERDICT]


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/with a blank", "http://[half"])
def test_an_address_that_is_none_is_one_sentence(tmp_path, address):
    assert "could not be told:" in notify(address, VERDICT, root=tmp_path)


def test_a_command_that_takes_too_long_ends_with_all_that_it_began(tmp_path, monkeypatch):
    monkeypatch.setattr("dial2vec.operation.schedule.notify.SECONDS", 0.5)
    assert "timed out" in notify("(sleep 2; touch late) | cat", VERDICT, root=tmp_path)
    time.sleep(2.5)
    assert not (tmp_path / "late").exists()


def test_nobody_is_told_where_there_is_no_hook(tmp_path):
    assert notify(None, VERDICT, root=tmp_path) == ""


def test_a_hook_that_fails_is_one_sentence(tmp_path, server):
    address, _ = server
    assert "(echo no; echo such user >&2; exit 3) ended with status 3: such user" in notify(
        "echo no; echo such user >&2; exit 3", VERDICT, root=tmp_path
    )
    assert "could not be told: HTTP Error 500" in notify(f"{address}/broken", VERDICT, root=tmp_path)
    assert "could not be told:" in notify("http://127.0.0.1:9/none", VERDICT, root=tmp_path)
