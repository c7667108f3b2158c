from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from dial2vec.addresses import address_of, listen, shown, silence, warning
from dial2vec.errors import Dial2vecError


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


def test_a_taken_port_is_named_with_the_way_to_another():
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Dial2vecError, match=rf"port {port} is taken.*--port {port + 1}"):
            listen("127.0.0.1", port)


def test_an_address_of_another_machine_is_refused():
    with pytest.raises(Dial2vecError, match=r"cannot listen at 192.0.2.1, port 5601: .*Give an address"):
        listen("192.0.2.1", 5601)


def test_only_what_others_reach_brings_a_warning():
    for host in ("127.0.0.1", "localhost"):
        with listen(host, 0) as listening:
            assert warning(listening) == ""
    with listen("0.0.0.0", 0) as listening:
        assert "no password and no encryption" in warning(listening)
        assert address_of(listening).startswith("http://127.0.0.1:")
