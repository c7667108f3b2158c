from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from dial2vec.operation.schedule.runs import (
    STARTED_BY_WORKER,
    alive,
    end_scheduled,
    is_alive,
    mark_dead,
    running_folder,
)


@dataclass
class Run:
    id: UUID
    name: str = "calm-otter"
    deployment_id: UUID | None = field(default_factory=uuid4)


class Client:
    """What is asked of Prefect's client."""

    def __init__(self, *runs: Run) -> None:
        self.runs = runs
        self.states: dict[UUID, Any] = {}

    def read_flow_runs(self, flow_run_filter: object) -> tuple[Run, ...]:
        return self.runs

    def set_flow_run_state(self, run_id: UUID, state: Any, *, force: bool) -> None:
        self.states[run_id] = state


def killed(root: Path, run: Run) -> None:
    """A process that held the lock of a run, and was killed."""
    script = (
        "import os, sys; from pathlib import Path; from dial2vec.operation.schedule.runs import alive\n"
        "with alive(Path(sys.argv[1]), sys.argv[2]): os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", script, str(root), str(run.id)]).returncode == -9


def test_a_killed_run_is_marked_crashed_and_its_lock_removed(tmp_path):
    run = Run(uuid4())
    killed(tmp_path, run)
    client = Client(run)
    assert mark_dead(tmp_path, client) == ["calm-otter"]
    assert client.states[run.id].name == "Crashed"
    assert list(running_folder(tmp_path).iterdir()) == []


def test_a_run_that_is_alive_is_left_alone(tmp_path):
    run = Run(uuid4())
    client = Client(run)
    with alive(tmp_path, str(run.id)):
        assert mark_dead(tmp_path, client, strangers=True) == []
    assert not is_alive(tmp_path, str(run.id))
    assert client.states == {}


@pytest.mark.parametrize(("strangers", "scheduled", "dead"), [(True, True, 1), (False, True, 0), (True, False, 0)])
def test_a_run_without_a_lock_is_dead_only_while_no_worker_is_at_work(tmp_path, strangers, scheduled, dead):
    run = Run(uuid4(), deployment_id=uuid4() if scheduled else None)
    assert len(mark_dead(tmp_path, Client(run), strangers=strangers)) == dead


@pytest.mark.parametrize("deaf", [False, True])
def test_runs_of_the_worker_end_with_the_schedule_and_those_by_hand_do_not(tmp_path, deaf):
    script = (
        "import signal, sys, time; from pathlib import Path; from dial2vec.operation.schedule.runs import alive\n"
        f"if {deaf}: signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "with alive(Path(sys.argv[1]), sys.argv[2]): time.sleep(120)"
    )
    found = []
    for name, variables in (("scheduled", {STARTED_BY_WORKER: "x"}), ("by-hand", {})):
        command = [sys.executable, "-c", script, str(tmp_path), name]
        found.append(subprocess.Popen(command, env=os.environ | variables))
        while not is_alive(tmp_path, name):
            time.sleep(0.05)
    scheduled, by_hand = found
    time.sleep(0.2)
    end_scheduled(tmp_path, patience=0.5)
    assert scheduled.wait(10) == (-signal.SIGKILL if deaf else -signal.SIGTERM)
    assert is_alive(tmp_path, "by-hand")
    by_hand.kill()
    by_hand.wait()
