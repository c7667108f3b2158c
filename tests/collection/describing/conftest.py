"""A small real server that speaks the interface of chat completions, and a collection with two clusters."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import numpy as np
import pytest

from dial2vec.collection.clustering.clusters import Cluster, Clusters
from dial2vec.collection.clustering.levels import Area
from dial2vec.collection.describing import chat, describing
from dial2vec.config import LanguageModel
from dial2vec.data.terms import Term

GOOD = '{"name": "Lost cards", "summary": "Customers lost their card."}'
FLIGHTS = '{"name": "Flights", "summary": "Customers book a flight."}'


@dataclass
class Reply:
    """A reply: status, content of the answer or a raw body, headers, and seconds before it."""

    content: str = GOOD
    status: int = 200
    raw: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    def body(self) -> bytes:
        if self.raw is not None:
            return self.raw
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        return json.dumps({"choices": [{"message": {"content": self.content}}], "usage": usage}).encode()


class Server:
    """Gives the scripted replies in order, then those of `usual`, and notes what it got."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.always: Reply | None = None
        self.usual = lambda text: Reply(FLIGHTS if text.partition("\n")[0].endswith("group: flight") else GOOD)
        self.got: list[tuple[str, dict[str, str], dict]] = []
        self.open, self.most = 0, 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.got.append((self.path, dict(self.headers), body))
                text = body["messages"][-1]["content"]
                reply = server.always or (server.replies.pop(0) if server.replies else server.usual(text))
                server.open += 1
                server.most = max(server.most, server.open)
                time.sleep(reply.seconds)
                server.open -= 1
                try:
                    self.send_response(reply.status)
                    for name, value in reply.headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(reply.body())
                except OSError:
                    return

            def do_GET(self) -> None:
                server.got.append((self.path, dict(self.headers), {}))
                self.send_error(404)

            def log_message(self, *_: object) -> None:
                return

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()
        self.address = f"http://127.0.0.1:{self.http.server_port}/v1"

    def settings(self, **changes) -> LanguageModel:
        return LanguageModel(
            **{"address": self.address, "model": "small", "key_variable": "A_KEY", "concurrency": 1} | changes
        )


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(chat, "FIRST_WAIT", 0.01)
    monkeypatch.setenv("A_KEY", "secret-key-1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    one = Server()
    yield one
    one.http.shutdown()
    one.http.server_close()


def cluster_record(id: int, *terms: str, size: int = 3, area: int = 0) -> Cluster:
    found = tuple(Term(term, 1.0, 0.5) for term in terms)
    return Cluster(id, ", ".join(terms), found, size, 1.0, 1.0, 0.5, (), (), area)


@pytest.fixture
def collection(tmp_path, dialogue, monkeypatch):
    """Six dialogues: three of cluster 4 (cards) and three of cluster 7 (flights), in one area."""
    cards = [dialogue(f"c{at}", "Anna Lee: my card is lost", f"agent: write to anna{at}@x.org") for at in range(3)]
    flights = [dialogue(f"f{at}", "bob: a flight please", f"agent: to Rome, says Anna, {at}") for at in range(3)]
    dialogues = cards + flights
    vectors = np.repeat(np.eye(2, dtype=np.float32), 3, axis=0)
    area = Area(0, "card, flight", (Term("card", 1.0, 0.5),), 6)
    clusters = Clusters(
        "f", "k", 1, 1.0, 6, 6, 8, (cluster_record(4, "card", "anna", "lost"), cluster_record(7, "flight")), (), (area,)
    )
    state = SimpleNamespace(centres=np.eye(2, dtype=np.float32), groups=np.repeat([0, 1], 3))
    stored = SimpleNamespace(clusters=clusters, state=state)
    monkeypatch.setattr(describing, "stored_clusters", lambda _: stored)
    speakers = [sorted({turn.speaker for turn in one.turns}) for one in dialogues]
    column = SimpleNamespace(to_pylist=lambda: speakers)
    return SimpleNamespace(
        folder=tmp_path / "calls",
        manifest=SimpleNamespace(fingerprint="f"),
        adapted=vectors,
        rows={"speakers": column},
        dialogues=lambda rows: iter([dialogues[row] for row in rows]),
    )
