"""On real sockets: what slow and broken clients meet, and how a server leaves."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time

import pytest

from dial2vec.addresses import listen
from dial2vec.config import Serve
from dial2vec.operation.serving.server import serve
from tests.operation.serving.stub_worker import stub_gate

BODY = json.dumps({"inputs": [{"turns": [{"speaker": "a", "text": "0"}]}]}).encode()


def request(body: bytes = BODY, length: int | None = None, path: str = "POST /invocations") -> bytes:
    head = f"{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {length or len(body)}\r\n\r\n".encode() + body


class Running:
    """A server in a thread, on a port of its own, until its keeper's end of the control socket closes."""

    def __init__(self, **limits: float) -> None:
        self.listening = listen("127.0.0.1", 0)
        self.port = self.listening.getsockname()[1]
        self.control, theirs = socket.socketpair()
        settings = Serve(**{"receive_seconds": 0.4} | limits)
        self.gate = stub_gate("1", settings=settings)
        work = serve(self.gate, self.listening.dup(), theirs, settings)
        self.thread = threading.Thread(target=asyncio.run, args=(work,), daemon=True)
        self.thread.start()
        assert b"ready" in self.control.recv(1000)

    def connect(self, sent: bytes = b"") -> socket.socket:
        client = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        client.sendall(sent)
        return client

    def end(self) -> None:
        self.control.close()
        self.listening.close()
        self.thread.join(20)
        assert not self.thread.is_alive()


@pytest.fixture
def running():
    started: list[Running] = []

    def start(**limits: float) -> Running:
        started.append(Running(**limits))
        return started[-1]

    yield start
    for one in started:
        one.end()


def read(client: socket.socket) -> bytes:
    """Return everything until the server closes."""
    found = b""
    while part := client.recv(65536):
        found += part
    return found


def answer(client: socket.socket) -> bytes:
    """Return one answer of a connection that stays open."""
    found = b""
    while not found.endswith((b"]]}", b"\r\n\r\n\n")):
        found += client.recv(65536)
    return found


def test_a_body_that_does_not_arrive_in_time_is_a_408(running):
    with running().connect(request(b'{"inputs"', length=500)) as client:
        found = read(client)
    assert found.startswith(b"HTTP/1.1 408 ")
    assert b"not complete after 0.4 seconds, at 9 bytes" in found


def test_a_head_that_does_not_arrive_in_time_closes_the_connection(running):
    server = running()
    with server.connect() as silent, server.connect(b"POST /invoc") as slow:
        assert read(silent) == read(slow) == b""


def test_a_second_head_that_does_not_arrive_in_time_closes_the_connection(running):
    with running().connect(request()) as client:
        assert answer(client).startswith(b"HTTP/1.1 200")
        client.sendall(request()[:20])
        assert read(client) == b""


def test_a_client_that_breaks_off_harms_nobody(running, caplog):
    server = running()
    server.connect(request(b'{"inputs"', length=500)).close()
    server.connect(request()).close()
    with server.connect(request(path="GET /health")) as client:
        assert answer(client).startswith(b"HTTP/1.1 200")
    time.sleep(0.2)
    assert not server.gate.scheduler._waiting
    assert not caplog.records


def test_who_sends_too_much_hears_that_it_was_too_much(running):
    with running(max_body_bytes=100_000).connect(request(b"x" * 700_000)) as client:
        assert read(client).startswith(b"HTTP/1.1 413 ")


def test_who_asks_first_hears_at_once_that_it_would_be_too_much(running):
    head = request(length=10**12).replace(b"Host: localhost", b"Host: localhost\r\nExpect: 100-continue").split(b"{")[0]
    with running(receive_seconds=60).connect(head) as client:
        assert read(client).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("lengths", ["Content-Length: 5\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked"])
def test_after_a_body_with_two_lengths_the_connection_is_closed(running, lengths):
    head, _, _ = request().partition(b"Content-Length")
    chunked = head + f"{lengths}\r\n\r\n{len(BODY):x}\r\n".encode() + BODY + b"\r\n0\r\n\r\n"
    last = request(path="GET /health").replace(b"Host", b"Connection: close\r\nHost")
    with running().connect(chunked + last) as client:
        answers = read(client)
    assert answers.startswith(b"HTTP/1.1 200")
    assert answers.count(b"HTTP/1.1 ") == (1 if "Content-Length" in lengths else 2)


def test_a_leaving_server_answers_on_open_connections_and_takes_no_new_one(running):
    server = running(receive_seconds=5)
    half = request()[:-5]
    with server.connect(half) as under_way, server.connect(request(path="GET /health")) as idle:
        assert answer(idle).startswith(b"HTTP/1.1 200")
        server.control.shutdown(socket.SHUT_WR)
        while not server.gate.leaving:
            time.sleep(0.01)
        time.sleep(0.3)
        with server.connect(request()) as late:
            late.settimeout(0.3)
            with pytest.raises(TimeoutError):  # it waits in the queue of the socket, for another server
                late.recv(1000)
        under_way.sendall(request()[-5:])
        idle.sendall(request())
        for client in (under_way, idle):
            found = read(client)
            assert found.startswith(b"HTTP/1.1 200")
            assert b"connection: close" in found
