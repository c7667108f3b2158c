"""The load of benchmarks/serve.py, on a server without a model."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

from tests.conftest import make_dialogue
from tests.operation.serving.test_server import running as running

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

import serve
import serve_clients


def body(text: str) -> bytes:
    return serve.body([make_dialogue("d", f"a: {text}")])


def test_a_load_sends_so_many_requests_and_counts_what_went_wrong(running):
    server = serve_clients.Server(SimpleNamespace(pid=0), running().port)
    done = serve_clients.load(server, [body("0"), b"?"], clients=3, requests=20)
    assert len(done.latencies) == 20
    assert done.errors == ["status 400"] * 10
    assert len(done.tail().split(" | ")) == 3


def test_slow_and_broken_clients_do_not_stand_in_the_way_of_others(running):
    server = serve_clients.Server(SimpleNamespace(pid=0), running(receive_seconds=5).port)
    with serve_clients.others(server):
        assert not serve_clients.load(server, [body("0")], clients=2, requests=20, keep=False).errors


def test_requests_that_are_no_good_on_purpose_are_no_errors(running):
    server = serve_clients.Server(SimpleNamespace(pid=0), running().port)
    done = serve_clients.load(server, [body("0")], clients=4, requests=40, bad=0.5)
    assert not done.errors
    assert done.bad + len(done.latencies) == 40
    assert done.bad > 10
    assert server.batch().startswith("a batch has 1 tokens of 1.")


def test_works_take_turns_and_the_first_round_does_not_count():
    calls: list[str] = []
    taken = serve.turns({name: lambda name=name: calls.append(name) for name in "ab"}, 2)
    assert "".join(calls) == "ababab"
    assert [len(times) for times in taken.values()] == [2, 2]
