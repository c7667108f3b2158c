"""Clients of a running `dial2vec serve`: a load of requests, and slow and broken ones among them."""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil

SLOW_CLIENTS = 20
HEAD = "POST /invocations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@dataclass
class Outcome:
    """Results of the clients: seconds of each answer, errors, and requests that were no good on purpose."""

    latencies: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    bad: int = 0
    seconds: float = 0.0

    def tail(self) -> str:
        """Return median, 95th and 99th percentile in milliseconds, as cells."""
        return " | ".join(f"{1000 * value:.0f}" for value in np.percentile(self.latencies or [np.nan], [50, 95, 99]))

    def rate(self) -> float:
        """Return the answers per second."""
        return len(self.latencies) / self.seconds


def merge(total: Outcome, more: Outcome) -> None:
    """Add results."""
    total.latencies += more.latencies
    total.errors += more.errors
    total.bad += more.bad
    total.seconds += more.seconds


class Server:
    """A running `dial2vec serve`."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process, self.port = process, port

    def connect(self) -> http.client.HTTPConnection:
        """Return a connection that is opened with its first request."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def get(self, path: str) -> str:
        """Return the answer at a path."""
        connection = self.connect()
        connection.request("GET", path)
        found = connection.getresponse().read().decode()
        connection.close()
        return found

    def version(self) -> str:
        """Return the version that answers."""
        found: str = json.loads(self.get("/version"))["version"]
        return found

    def batch(self) -> str:
        """Return what the present worker says about its batches."""
        pairs = re.findall(r"^dial2vec_batch_(\w+_(?:sum|count)) (\S+)$", self.get("/metrics"), re.MULTILINE)
        values = {name: float(value) for name, value in pairs}
        count = max(1.0, values["seconds_count"])
        means = {name: values[f"{name}_sum"] / count for name in ("tokens", "requests", "seconds")}
        return (
            f"a batch has {means['tokens']:.0f} tokens of {means['requests']:.1f} requests and takes "
            f"{1000 * means['seconds']:.1f} ms"
        )

    def megabytes(self) -> float:
        """Return the resident memory of the newest worker."""
        workers = sorted(psutil.Process(self.process.pid).children(), key=lambda worker: worker.create_time())
        return float(workers[-1].memory_info().rss / 2**20)


@contextlib.contextmanager
def served(root: Path, what: str) -> Iterator[Server]:
    """Run the command until the end of a `with`."""
    command = [sys.executable, "-m", "dial2vec.cli", "serve", what, "--port", "0"]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        greeting = process.stdout.readline()
        try:
            yield Server(process, int(greeting.split("127.0.0.1:")[1].split(";")[0]))
        finally:
            process.terminate()


def load(
    server: Server,
    bodies: Sequence[bytes],
    *,
    clients: int,
    requests: int | None = None,
    until: Callable[[], bool] = lambda: False,
    keep: bool = True,
    bad: float = 0.0,
    into: Outcome | None = None,
) -> Outcome:
    """Send requests from several threads, each after the answer to its last one.

    :param requests: number of requests of all threads; None means no limit.
    :param until: event that ends the load, too.
    :param keep: True to keep connections open.
    :param bad: share of requests that are no good on purpose.
    :param into: results to extend.
    """
    outcome = Outcome() if into is None else into
    numbers = iter(range(requests)) if requests is not None else iter(int, 1)
    lock, draw = threading.Lock(), random.Random(0)

    def ask() -> None:
        connection = Connection(server.port)
        while not until():
            with lock:
                number, is_bad = next(numbers, None), draw.random() < bad
            if number is None:
                break
            if is_bad:
                outcome.bad += 1
                misbehave(server, bodies[number % len(bodies)], number)
                continue
            began = time.perf_counter()
            try:
                status = connection.post(bodies[number % len(bodies)])
                if status != 200:
                    outcome.errors.append(f"status {status}")
            except (OSError, ValueError) as error:
                outcome.errors.append(type(error).__name__)
                connection.close()
            outcome.latencies.append(time.perf_counter() - began)
            if not keep:
                connection.close()
        connection.close()

    threads = [threading.Thread(target=ask) for _ in range(clients)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    outcome.seconds += time.perf_counter() - began
    return outcome


class Connection:
    """A connection that opens when needed; `http.client` would take the time of several answers of a student."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._socket: socket.socket | None = None

    def post(self, content: bytes) -> int:
        """Return the status of the answer.

        :raises ValueError: if the server closes without an answer.
        """
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        self._socket.sendall(f"{HEAD}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        found = b""
        while b"\r\n\r\n" not in found:
            if not (more := self._socket.recv(65536)):
                raise ValueError("closed")
            found += more
        head, _, rest = found.partition(b"\r\n\r\n")
        head = head.lower()
        length = int(re.search(rb"content-length: (\d+)", head)[1])
        while len(rest) < length:
            if not (more := self._socket.recv(65536)):
                raise ValueError("closed")
            rest += more
        if b"connection: close" in head:
            self.close()
        return int(head.split()[1])

    def close(self) -> None:
        """Close the connection, if it is open."""
        if self._socket is not None:
            self._socket.close()
        self._socket = None


def misbehave(server: Server, content: bytes, kind: int) -> None:
    """Send a request that is no good, in one of four ways."""
    head = f"{HEAD}Content-Length: {len(content)}\r\n\r\n".encode()
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        if kind % 4 == 0:
            client.sendall(head + content[: len(content) // 2])
        elif kind % 4 == 1:
            client.sendall(head + content)
        elif kind % 4 == 2:
            client.sendall(head)
            for place in range(20):
                client.sendall(content[place : place + 1])
                time.sleep(0.05)
        else:
            client.sendall(head + b"?" * len(content))
            client.recv(65536)


@contextlib.contextmanager
def others(server: Server) -> Iterator[None]:
    """Run clients, inside a `with`, that send a byte a second, and one that breaks off in the middle of its body."""
    stop = threading.Event()
    head = f"{HEAD}Content-Length: 500\r\n\r\n".encode()

    def crawl(sent: bytes) -> None:
        while not stop.is_set():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", server.port)) as client:
                client.sendall(sent)
                while not stop.wait(1):
                    client.sendall(b"{")

    def break_off() -> None:
        while not stop.wait(0.05):
            with socket.create_connection(("127.0.0.1", server.port)) as client:
                client.sendall(head + b'{"inputs"')

    # Half of them do not even complete the head.
    works = [threading.Thread(target=crawl, args=(head if one % 2 else head[:9],)) for one in range(SLOW_CLIENTS)]
    works.append(threading.Thread(target=break_off))
    for work in works:
        work.start()
    try:
        yield
    finally:
        stop.set()
        for work in works:
            work.join()
