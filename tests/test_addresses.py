from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from dial2vec.addresses import shown, silence


@pytest.fixture
def server() -> Iterator[str]:
    """Answers with the status that its path names."""

    class Status(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(int(self.path[1:]))
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    found = HTTPServer(("127.0.0.1", 0), Status)
    threading.Thread(target=found.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{found.server_port}"
    found.shutdown()


@pytest.mark.parametrize(("status", "alive"), [(200, True), (401, True), (404, True), (502, False)])
def test_a_server_that_asks_for_a_password_is_alive_and_a_proxy_without_its_server_is_not(server, status, alive):
    assert (silence(f"{server}/{status}", seconds=5) is None) == alive


def test_user_and_password_are_neither_shown_nor_taken_for_a_host(server):
    assert silence(f"{server.replace('//', '//ann:secret@')}/200", seconds=5) is None
    assert shown("http://ann:secret@mlflow.example.com:5000/x") == "http://mlflow.example.com:5000/x"
    assert "secret" not in str(silence("http://ann:secret@127.0.0.1:1/health", seconds=5))
