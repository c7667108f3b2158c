"""A worker on another machine, here in a network namespace, is cut off from the team's servers in the middle of a run.

Needs root and `ip`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from servers import mlflow_server, prefect_server, running

from project import CORPUS, dialogues, drop, environment, make_project

HERE, THERE = "10.213.7.1", "10.213.7.2"
MACHINE, LINK = f"machine{os.getpid()}", f"d2v{os.getpid()}"[:13]
PATIENCE = 1200
pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("ip") is None, reason="a network namespace takes root and `ip`"
)


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture(scope="module")
def machine() -> Iterator[str]:
    """A namespace with a link of its own to this machine, and no other; its name."""
    ip("netns", "add", MACHINE)
    try:
        ip("link", "add", LINK, "type", "veth", "peer", "name", "eth0", "netns", MACHINE)
        ip("addr", "add", f"{HERE}/24", "dev", LINK)
        ip("link", "set", LINK, "up")
        ip("-n", MACHINE, "addr", "add", f"{THERE}/24", "dev", "eth0")
        ip("-n", MACHINE, "link", "set", "eth0", "up")
        ip("-n", MACHINE, "link", "set", "lo", "up")
        yield MACHINE
    finally:
        ip("netns", "del", MACHINE)


@pytest.fixture(scope="module")
def servers(machine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The team's servers on this machine, and the variables by which the other one finds them."""
    folder = tmp_path_factory.mktemp("servers")
    with mlflow_server(folder, HERE) as mlflow, prefect_server(folder, HERE) as prefect:
        yield {
            "MLFLOW_TRACKING_URI": f"http://{HERE}:{mlflow}",
            "PREFECT_API_URL": f"http://{HERE}:{prefect}/api",
        }


@pytest.fixture(scope="module")
def project(servers: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout on the other machine, whose first training is champion."""
    folder = make_project(tmp_path_factory.mktemp("worker"))
    for command in (("run",), ("promote", CORPUS)):
        called(folder, servers, *command)
    return folder


def called(project: Path, servers: dict[str, str], *command: str) -> str:
    """Run a command on this machine, which is never cut off."""
    done = subprocess.run(
        [".venv/bin/dial2vec", *command],
        cwd=project, env=environment(project) | servers, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def wait_for(what: str, reached: Callable[[], bool], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not reached():
        assert time.monotonic() < deadline, f"waited {PATIENCE} seconds for {what}: {log.read_text()[-4000:]}"
        time.sleep(0.1)


def trains(project: Path) -> bool:
    """Return True while stage train is at work in the project."""
    stages = (one.info for one in psutil.process_iter(["cmdline", "cwd"]))
    return any(one["cwd"] == str(project) and "dial2vec.pipeline.train" in (one["cmdline"] or ()) for one in stages)


@pytest.mark.parametrize("seconds", [20, 240])
def test_a_worker_that_is_cut_off_in_training_is_promoted_later_and_loses_nothing(project, servers, machine, seconds):
    """A short cut is waited for; after a long one the run, or the next one, does the rest."""
    drop(project, f"night{seconds}.jsonl", dialogues(60, first=5000 + 100 * seconds))
    before, log = called(project, servers, "history", CORPUS), project / "said.log"
    there = ("ip", "netns", "exec", machine, project / ".venv/bin/dial2vec")
    with running(log, *there, "schedule", "--now", variables=environment(project) | servers):
        wait_for("training", lambda: trains(project), log)
        ip("link", "set", LINK, "down")
        try:
            time.sleep(seconds)
            assert called(project, servers, "history", CORPUS) == before
        finally:
            ip("link", "set", LINK, "up")
        # A run that was given up leaves the lock of its folder: then the next one may begin.
        time.sleep(60)
    assert "Traceback" not in log.read_text()
    if "promoted" not in called(project, servers, "history", CORPUS).removeprefix(before):
        with running(log, *there, "schedule", "--now", variables=environment(project) | servers):
            wait_for(
                "the next run",
                lambda: "promoted" in called(project, servers, "history", CORPUS).removeprefix(before),
                log,
            )
    after = called(project, servers, "history", CORPUS)
    assert after.startswith(before)
    assert after.removeprefix(before).count("promoted") == 1
