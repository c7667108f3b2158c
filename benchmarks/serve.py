"""Load on `dial2vec serve`: speed beside plain encoding, tails, memory, slow and broken clients, and hand-overs.

    .venv/bin/python benchmarks/serve.py                     # all; 10 minutes on two cores
    .venv/bin/python benchmarks/serve.py memory --requests 2000

The server is the command itself, with a registry of its own in a temporary folder; the clients are threads of this
process, on the same processors. Memory and hand-overs are measured with a tiny encoder of random weights, with which
the server does little else than serve; speed with all-MiniLM-L6-v2 on dialogues of the demo corpus, in turns with plain
`encode` of the same batches in this process.

- memory: requests of one dialogue by 8 clients; resident memory of the worker after the first hundred, a tenth and all.
  Meanwhile 20 clients send a byte a second and one breaks off in the middle of its body, again and again.
- handover: the alias moves to and fro under load; half of the clients keep their connection, half open new ones.
- speed: every batch once, by one client and by four; plain as well by two threads at a time.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from timing import machine, rate, ratio

from dial2vec import telemetry
from dial2vec.data.corpora.demo import generate_demo
from dial2vec.dialogue import Dialogue
from dial2vec.files import find_root

CORPUS, MODEL = "demo", "dial2vec-demo"
TINY = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
SPEED_DIALOGUES, BATCHES = 96, (1, 8, 32)
SLOW_CLIENTS = 20


@dataclass
class Outcome:
    """Results of the clients: seconds of each answer, and errors."""

    latencies: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def tail(self) -> str:
        """Return median, 95th and 99th percentile in milliseconds, as cells."""
        return " | ".join(f"{1000 * value:.0f}" for value in np.percentile(self.latencies, [50, 95, 99]))


def main() -> None:
    """Print the tables asked for."""
    works = {"memory": memory, "handover": handover, "speed": speed}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(works)}; default: all")
    parser.add_argument("--requests", type=int, default=10_000, help="requests of the memory test; default: 10000")
    parser.add_argument("--changes", type=int, default=6, help="number of hand-overs; default: 6")
    parser.add_argument("--repeats", type=int, default=3, help="runs of the speed test; default: 3")
    given = parser.parse_args()
    telemetry.switch_off()
    import mlflow
    import uvicorn

    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    sys.stdout.write(f"{machine()}, mlflow {mlflow.__version__}, uvicorn {uvicorn.__version__}; load before: {load}\n")
    for name in given.names or works:
        if name not in works:
            parser.error(f"there is no load {name!r}; expected some of {', '.join(works)}")
        sys.stdout.write(f"\n{works[name](given)}\n")
        sys.stdout.flush()


def memory(given: argparse.Namespace) -> str:
    """Return the table of memory and tails under many requests."""
    bodies, tenth = [body([dialogue]) for dialogue in dialogues(200)], given.requests // 10
    rows = ["| requests so far | beside others | memory of the worker, MB | p50 | p95 | p99, ms | errors |"]
    rows.append("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, served(project(Path(folder), tiny(Path(folder)))) as server:
        so_far = 0

        def measure(requests: int, beside: str) -> None:
            nonlocal so_far
            done = load(server, bodies, clients=8, requests=requests)
            so_far += requests
            rows.append(f"| {so_far} | {beside} | {server.megabytes():.0f} | {done.tail()} | {len(done.errors)} |")

        measure(100, "no")
        measure(tenth, "no")
        with others(server):
            measure(tenth, "yes")
            measure(given.requests - tenth, "yes")
    return "\n".join(rows)


def handover(given: argparse.Namespace) -> str:
    """Return what clients saw while the alias moved."""
    from dial2vec.registry.store import open_store

    bodies = [body([dialogue]) for dialogue in dialogues(50)]
    with tempfile.TemporaryDirectory() as folder:
        root = project(Path(folder), tiny(Path(folder)))
        client = open_store(root)
        with served(root) as server, ThreadPoolExecutor(2) as pool:
            stop = threading.Event()
            loads = [
                pool.submit(load, server, bodies, clients=4, until=stop.is_set, keep=keep) for keep in (True, False)
            ]
            for _ in range(given.changes):
                wanted = "2" if server.version() == "1" else "1"
                client.set_registered_model_alias(MODEL, "champion", wanted)
                while server.version() != wanted:
                    time.sleep(0.2)
            stop.set()
            kept, again = (one.result() for one in loads)
    rows = ["| clients | hand-overs | requests | p50 | p95 | p99, ms | dropped |", "|---|---|---|---|---|---|---|"]
    for name, done in (("4 that keep their connection", kept), ("4 that connect again", again)):
        rows.append(
            f"| {name} | {given.changes} | {len(done.latencies)} | {done.tail()} | "
            f"{', '.join(sorted(set(done.errors))) or 0} |"
        )
    return "\n".join(rows)


def speed(given: argparse.Namespace) -> str:
    """Return the table of served encoding beside plain encoding."""
    from dial2vec.encoder import DialogueEncoder

    found = dialogues(SPEED_DIALOGUES)
    encoder = DialogueEncoder.from_pretrained("all-MiniLM-L6-v2")
    rows = ["| dialogues in a request | clients | dialogues per second | of plain encoding | p50 | p95 | p99, ms |"]
    rows.append("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, served(project(Path(folder), "all-MiniLM-L6-v2")) as server:
        for size in BATCHES:
            batches = [found[first : first + size] for first in range(0, len(found), size)]
            bodies = [body(batch) for batch in batches]
            works: dict[str, Callable[[], object]] = {
                "plain": lambda batches=batches: [encoder.encode(batch) for batch in batches],
                "plain, two at a time": lambda batches=batches: list(two.map(encoder.encode, batches)),
            }
            outcomes = {f"{count}": Outcome() for count in (1, 4)}
            for clients, outcome in outcomes.items():
                works[clients] = lambda clients=clients, outcome=outcome, bodies=bodies: load(
                    server, bodies, clients=int(clients), requests=len(bodies), into=outcome
                )
            with ThreadPoolExecutor(2) as two:
                taken = turns(works, given.repeats)
            for name in works:
                tail = outcomes[name].tail() if name in outcomes else " | | "
                share = ratio(taken["plain"], taken[name])
                rows.append(f"| {size} | {name} | {rate(len(found), taken[name])} | {share} | {tail} |")
                if name in outcomes and outcomes[name].errors:
                    raise SystemExit(f"errors: {outcomes[name].errors[:3]}")
    return "\n".join(rows)


def turns(works: dict[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    """Return the seconds of each run of each work; they take turns, and a first round does not count."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(repeats + 1):
        for name, work in works.items():
            began = time.perf_counter()
            work()
            if turn:
                taken[name].append(time.perf_counter() - began)
    return taken


def dialogues(count: int) -> list[Dialogue]:
    """Return the first dialogues of the demo corpus in which two speak."""
    return [one for one in generate_demo() if one.n_speakers > 1][:count]


def body(batch: Sequence[Dialogue]) -> bytes:
    """Return a request."""
    return json.dumps({"inputs": [{"turns": one.to_record()["turns"]} for one in batch]}).encode()


def tiny(folder: Path) -> str:
    """Write an encoder that takes almost no time: the packaged tokenizer, two layers of width 16 and random weights."""
    from transformers import AutoTokenizer, BertConfig, BertModel, set_seed

    from dial2vec.encoder.names import resolve

    set_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(resolve("all-MiniLM-L6-v2"))
    BertModel(BertConfig(vocab_size=len(tokenizer), **TINY)).save_pretrained(folder / "tiny")
    tokenizer.save_pretrained(folder / "tiny")
    return str(folder / "tiny")


def project(folder: Path, encoder: str) -> Path:
    """Make a project in whose registry version 1 is an encoder, and version 2 one that differs from it."""
    import torch

    from dial2vec.encoder import DialogueEncoder
    from dial2vec.registry.records import TrainingRecord
    from dial2vec.registry.tracking import register_training

    root = folder / "project"
    root.mkdir()
    for name in ("params.yaml", "dvc.yaml"):
        (root / name).write_bytes((find_root(Path(__file__).parent) / name).read_bytes())
    loaded = DialogueEncoder.from_pretrained(encoder)
    loaded.save_pretrained(root / "start")
    with torch.no_grad():
        next(loaded.parameters()).add_(0.01)
    loaded.save_pretrained(root / "trained")
    (root / "empty").touch()
    nothing: dict[str, Any] = {"start": None, "trained": None}
    record = TrainingRecord(
        corpus=CORPUS,
        params={},
        data_hash="none",
        git_commit="none",
        history=[],
        scores=nothing,
        dev_scores=nothing,
        intervals={},
        gains={},
        dev_hash="none",
        split_sizes={},
        model=root / "trained",
        start_model=root / "start",
        start_name=encoder,
        report=root / "empty",
        selection=root / "empty",
        choice="",
        max_length=loaded.max_length,
        dimension=loaded.dimension,
        languages={},
        example=dialogues(1)[0],
        seconds={},
        fingerprint="none",
    )
    register_training(root, record)
    return root


class Server:
    """A running `dial2vec serve`."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process, self.port = process, port

    def connect(self) -> http.client.HTTPConnection:
        """Return a connection that is opened with its first request."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def version(self) -> str:
        """Return the version that answers."""
        connection = self.connect()
        connection.request("GET", "/version")
        found: str = json.loads(connection.getresponse().read())["version"]
        connection.close()
        return found

    def megabytes(self) -> float:
        """Return the resident memory of the worker."""
        [worker] = psutil.Process(self.process.pid).children()
        return float(worker.memory_info().rss / 2**20)


@contextlib.contextmanager
def served(root: Path, what: str = CORPUS) -> Iterator[Server]:
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
    into: Outcome | None = None,
) -> Outcome:
    """Send requests from several threads, each after the answer to its last one.

    :param requests: number of requests of all threads; None means no limit.
    :param until: event that ends the load, too.
    :param keep: True to keep connections open.
    :param into: results to extend.
    """
    outcome = Outcome() if into is None else into
    numbers = iter(range(requests)) if requests is not None else iter(int, 1)
    lock = threading.Lock()

    def ask() -> None:
        connection = server.connect()
        while not until():
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            began = time.perf_counter()
            try:
                connection.request(
                    "POST", "/invocations", bodies[number % len(bodies)], {"Content-Type": "application/json"}
                )
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    outcome.errors.append(f"status {answer.status}")
            except (OSError, http.client.HTTPException) as error:
                outcome.errors.append(type(error).__name__)
                connection.close()
            outcome.latencies.append(time.perf_counter() - began)
            if not keep:
                connection.close()

    threads = [threading.Thread(target=ask) for _ in range(clients)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    outcome.seconds += time.perf_counter() - began
    return outcome


@contextlib.contextmanager
def others(server: Server) -> Iterator[None]:
    """Have clients about, inside a `with`, that send a byte a second, and one that breaks off in mid-body."""
    stop = threading.Event()
    head = b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n"

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


if __name__ == "__main__":
    main()
