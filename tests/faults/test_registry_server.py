"""A registry server that fails: it answers 500, hangs, or is cut off in the middle of an answer."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from servers import mlflow_server
from test_places import change

from project import CORPUS, environment, make_project

ANSWERS = {
    "answers 500": b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsorry\n",
    "is cut off": b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4000\r\n\r\n{"registered_mod',
}


class Between(socketserver.BaseRequestHandler):
    """Passes bytes on between a client and a real server, or fails as its class says."""

    fault, port = "", 0

    def handle(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port)) as server:
            ends = {self.request: server, server: self.request}
            while True:
                for end in select.select(list(ends), [], [])[0]:
                    piece = end.recv(65536)
                    fault = type(self).fault
                    if not piece or self._failed(fault):
                        return
                    ends[end].sendall(piece)

    def _failed(self, fault: str) -> bool:
        while fault == "hangs" and type(self).fault == "hangs":
            time.sleep(0.2)
        if fault in ANSWERS:
            self.request.sendall(ANSWERS[fault])
        return bool(fault)


class Listening(socketserver.ThreadingTCPServer):
    daemon_threads = allow_reuse_address = True

    def handle_error(self, *_: object) -> None:
        """Write nothing: clients that give up are expected."""


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a proxy that can fail, before a real server."""
    with (
        mlflow_server(tmp_path_factory.mktemp("server")) as Between.port,
        Listening(("127.0.0.1", 0), Between) as between,
    ):
        threading.Thread(target=between.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{between.server_address[1]}"
        Between.fault = ""
        between.shutdown()


@contextlib.contextmanager
def failing(fault: str) -> Iterator[None]:
    Between.fault = fault
    try:
        yield
    finally:
        Between.fault = ""


def called(project: Path, registry: str, *command: str, seconds: float = 900) -> subprocess.CompletedProcess[str]:
    variables = environment(project) | {"MLFLOW_TRACKING_URI": registry}
    return subprocess.run(
        [".venv/bin/dial2vec", *command],
        cwd=project, env=os.environ | variables, capture_output=True, text=True, check=False, timeout=seconds,
    )  # fmt: skip


@pytest.fixture(scope="module")
def project(registry: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_project(tmp_path_factory.mktemp("project"))
    for command in (("run",), ("promote", CORPUS)):
        done = called(folder, registry, *command)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.parametrize("fault", ["answers 500", "hangs", "is cut off"])
def test_a_failing_server_is_told_in_a_sentence_and_the_next_run_recovers(project, registry, fault):
    change(project)
    before = called(project, registry, "history", CORPUS).stdout
    with failing(fault):
        for command in (("history", CORPUS), ("run",), ("promote", CORPUS)):
            done = called(project, registry, *command, seconds=600)
            said = done.stdout + done.stderr
            assert done.returncode != 0, said
            assert "Traceback" not in said, said
            assert registry in said, said
    assert called(project, registry, "history", CORPUS).stdout == before
    for command in (("run",), ("promote", CORPUS)):
        done = called(project, registry, *command)
        assert done.returncode == 0, done.stdout + done.stderr
    assert called(project, registry, "history", CORPUS).stdout != before


def test_a_server_that_fails_for_seconds_in_the_middle_of_a_run_loses_nothing(project, registry):
    """Now and then it answers 500, as a proxy does while its server restarts."""
    change(project)
    ended = threading.Event()

    def fail_now_and_then() -> None:
        while not ended.wait(4):
            with failing("answers 500"):
                ended.wait(2)

    thread = threading.Thread(target=fail_now_and_then)
    thread.start()
    try:
        done = called(project, registry, "run")
    finally:
        ended.set()
        thread.join()
    said = done.stdout + done.stderr
    assert "Traceback" not in said, said
    assert called(project, registry, "run").returncode == 0
    assert "candidate" in called(project, registry, "versions", CORPUS).stdout
