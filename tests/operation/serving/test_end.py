"""The end of the real server under the requests of many clients."""

from __future__ import annotations

import http.client
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.students import save_student

BODY = '{"inputs": [{"turns": [{"speaker": "a", "text": "w1 w2"}, {"speaker": "b", "text": "w3"}]}]}'
CLIENTS = 20


def ask_until_refused(port: int, keep: bool, statuses: list[int], trouble: list[str]) -> None:
    """Send requests until a connection is refused; keep a connection as long as the server allows, or open new ones."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    while True:
        if connection.sock is None:
            try:
                connection.connect()
            except ConnectionRefusedError:
                return
            except OSError as error:
                trouble.append(f"connect: {error!r}")
                return
        try:
            connection.request("POST", "/invocations", BODY, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            statuses.append(answer.status)
        except (OSError, http.client.HTTPException) as error:
            trouble.append(repr(error))
            connection.close()
        if not keep:
            connection.close()


@pytest.mark.skipif(sys.platform != "linux", reason="the system is told to take no new connections on Linux only")
def test_no_request_is_reset_while_the_server_ends(tmp_path: Path):
    student = save_student(tmp_path / "student")
    command = [sys.executable, "-m", "dial2vec", "serve", student, "--port", "0"]
    server = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    with server:
        port = int(re.search(r":(\d+);", server.stdout.readline())[1])
        statuses: list[int] = []
        trouble: list[str] = []
        clients = [
            threading.Thread(target=ask_until_refused, args=(port, place % 2 == 0, statuses, trouble))
            for place in range(CLIENTS)
        ]
        for client in clients:
            client.start()
        while len(statuses) < 5 * CLIENTS:
            assert server.poll() is None
            time.sleep(0.01)
        server.send_signal(signal.SIGTERM)
        for client in clients:
            client.join(60)
        assert server.wait(60) == 0
    assert not trouble
    assert set(statuses) == {200}
