"""The keeper with workers that have no model (stub_worker.py), driven from another thread."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from dial2vec.addresses import listen
from dial2vec.config import Serve
from dial2vec.errors import Dial2vecError, ModelError
from dial2vec.operation.serving import keeper
from dial2vec.operation.serving.job import Job
from dial2vec.operation.serving.keeper import Keeper
from dial2vec.operation.serving.tokens import AccessTokens

PATIENCE = 30.0


class Registry(SimpleNamespace):
    """Stands in for an address: which version is champion is what was last said."""

    model, alias, version = "dial2vec-demo", "champion", "1"

    def current(self, root: Path) -> str:
        if not self.version:
            raise ModelError("it is down.")
        return self.version

    def folder(self, version: str, root: Path) -> Path:
        if version == "14":
            raise ModelError("it has no files.")
        return root


class House:
    """A keeper, its registry and what it said."""

    def __init__(self, registry: Registry, listening: socket.socket, root: Path) -> None:
        self.registry, self.root, self.said = registry, root, []
        self.port = listening.getsockname()[1]
        settings = Serve(check_seconds=0.1)
        file = root / "tokens"
        self.keeper = Keeper(
            registry,
            root=root,
            listening=listening,
            settings=settings,
            say=self.said.append,
            tokens=AccessTokens(file) if file.exists() else None,
        )

    def until(self, found):
        """Wait until `found()` is true, and return it."""
        deadline = time.monotonic() + PATIENCE
        while not (value := found()):
            assert time.monotonic() < deadline, self.said
            time.sleep(0.02)
        return value

    def told(self, words: str) -> str:
        return self.until(lambda: next((one for one in self.said if words in one), ""))

    def status(self, token: str) -> int:
        """Return the status of a request with a token."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("GET", "/version", headers={"Authorization": f"Bearer {token}"})
        return connection.getresponse().status

    def post(self, milliseconds: int = 0, connection: http.client.HTTPConnection | None = None) -> int:
        """Return the version that answers."""
        body = json.dumps({"inputs": [{"turns": [{"speaker": "a", "text": str(milliseconds)}]}]})
        connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("POST", "/invocations", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 200
        return json.loads(answer.read())["predictions"][0][0]


@pytest.fixture
def during(monkeypatch, tmp_path):
    """Run a keeper in this thread and a scenario in another, which ends it."""
    monkeypatch.setattr(keeper, "COMMAND", (sys.executable, "-m", "tests.operation.serving.stub_worker"))
    folders = (Path(__file__).parents[3], Path(keeper.__file__).parents[3])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, folders)))

    def run(scenario, version: str = "1") -> House:
        failures: list[BaseException] = []
        with listen("127.0.0.1", 0) as listening:
            house = House(Registry(version=version), listening, tmp_path)

            def act() -> None:
                try:
                    house.told("answers at")
                    scenario(house)
                except BaseException as error:
                    failures.append(error)
                finally:
                    os.kill(os.getpid(), signal.SIGTERM)

            thread = threading.Thread(target=act)
            thread.start()
            house.keeper.run()
            thread.join()
        if failures:
            raise failures[0]
        return house

    return run


def test_a_new_champion_takes_over_without_a_dropped_request(during):
    answers: list[int] = []
    trouble: list[Exception] = []

    def ask(house: House, stop: threading.Event, keep_alive: bool) -> None:
        """Ask again and again; open a new connection if the server announced that it closes the old one."""
        connection = http.client.HTTPConnection("127.0.0.1", house.port, timeout=PATIENCE) if keep_alive else None
        while not stop.is_set():
            try:
                answers.append(house.post(1, connection))
            except Exception as error:
                trouble.append(error)

    def scenario(house: House) -> None:
        stop = threading.Event()
        clients = [threading.Thread(target=ask, args=(house, stop, place % 2 == 0)) for place in range(4)]
        for client in clients:
            client.start()
        old = house.keeper.serving
        house.registry.version = "2"
        house.told("version 2 answers from now on")
        house.until(lambda: old.process.poll() is not None)
        stop.set()
        for client in clients:
            client.join()

    during(scenario)
    assert not trouble
    assert {1, 2} == set(answers)
    assert answers[-1] == 2


def test_a_champion_that_does_not_come_up_leaves_the_old_one_serving(during):
    def scenario(house: House) -> None:
        house.registry.version = "13"
        said = house.told("did not come up")
        assert said.startswith("dial2vec-demo version 1 stays. dial2vec-demo version 13 did not come up: its files are")
        assert house.post() == 1
        time.sleep(0.4)
        assert house.said.count(said) == 1
        os.kill(os.getpid(), signal.SIGHUP)
        house.until(lambda: house.said.count(said) == 2)

    during(scenario)


def test_one_that_did_not_come_up_is_tried_again_when_the_alias_has_moved_and_is_back(during):
    def scenario(house: House) -> None:
        house.registry.version = "13"
        said = house.told("did not come up")
        house.registry.version = "1"
        time.sleep(0.4)
        house.registry.version = "13"
        house.until(lambda: house.said.count(said) == 2)

    during(scenario)


def test_a_first_version_that_does_not_come_up_is_an_error(during, tmp_path):
    with listen("127.0.0.1", 0) as listening, pytest.raises(Dial2vecError, match="version 13 cannot be served: its"):
        House(Registry(version="13"), listening, tmp_path).keeper.run()


def test_a_champion_whose_files_are_missing_leaves_the_old_one_serving(during):
    def scenario(house: House) -> None:
        house.registry.version = "14"
        house.told("version 1 stays. dial2vec-demo version 14 did not come up: it has no files.")
        assert house.post() == 1

    during(scenario)


def test_a_registry_that_is_down_is_said_once_and_harms_nobody(during):
    def scenario(house: House) -> None:
        house.registry.version = ""
        house.told("version 1 stays. The registry did not say which version is champion: it is down.")
        time.sleep(0.4)
        assert len(house.said) == 2
        assert house.post() == 1

    during(scenario)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_worker_keeps_few_shapes_unless_the_user_says_how_many(during, monkeypatch):
    monkeypatch.setenv("LRU_CACHE_CAPACITY", "99")
    monkeypatch.delenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", raising=False)

    def scenario(house: House) -> None:
        found = Path(f"/proc/{house.keeper.serving.process.pid}/environ").read_bytes().split(b"\0")
        assert {b"LRU_CACHE_CAPACITY=99", b"ONEDNN_PRIMITIVE_CACHE_CAPACITY=16"} <= {*found}

    during(scenario)


def test_a_killed_worker_is_replaced_while_requests_wait(during):
    def scenario(house: House) -> None:
        house.keeper.serving.process.kill()
        house.told("ended with status -9")
        assert house.post() == 1

    during(scenario)


def test_a_worker_that_cannot_come_up_again_makes_room_for_the_next_champion(during):
    def scenario(house: House) -> None:
        house.registry.version = ""
        (house.root / "1").touch()
        house.keeper.serving.process.kill()
        house.told("version 1 did not come up: its files are gone.")
        house.registry.version = "2"
        assert house.post() == 2

    during(scenario)


def test_workers_end_with_a_keeper_that_is_killed(during, tmp_path):
    with listen("127.0.0.1", 0) as listening:
        job = Job(listening.fileno(), 0, str(tmp_path), "dial2vec-demo", "1", "champion", Serve())
        worker = keeper.Worker(job)
        assert b"ready" in worker._control.recv(1000)
        worker._control.close()  # as the kernel does
        assert worker.process.wait(PATIENCE) == 0


def test_tokens_change_without_a_restart(during, tmp_path):
    file = tmp_path / "tokens"
    file.write_text("the-first-token-of-16")
    file.chmod(0o600)

    def scenario(house: House) -> None:
        assert "-H 'Authorization: Bearer TOKEN'" in house.said[0]
        assert (house.status("the-first-token-of-16"), house.status("the-other-token-of-16")) == (200, 401)
        file.write_text("the-other-token-of-16")
        os.kill(os.getpid(), signal.SIGHUP)
        house.until(lambda: house.status("the-other-token-of-16") == 200)
        assert house.status("the-first-token-of-16") == 401
        file.chmod(0o644)
        os.kill(os.getpid(), signal.SIGHUP)
        assert "others can read or change it" in house.told("The tokens stay as they are: ")
        assert house.status("the-other-token-of-16") == 200

    during(scenario)


def test_a_request_under_way_is_answered_before_the_end(during):
    answers: list[int] = []

    def scenario(house: House) -> None:
        under_way = threading.Thread(target=lambda: answers.append(house.post(500)))
        under_way.start()
        time.sleep(0.2)

    during(scenario)
    assert answers == [1]
