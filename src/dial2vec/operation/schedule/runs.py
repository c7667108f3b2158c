"""Flow runs that are alive hold a lock; one whose lock is free was killed, and is marked so."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

# Prefect's worker names the run there.
STARTED_BY_WORKER = "PREFECT__FLOW_RUN_ID"
DEAD = "The process ended without a word, so it was killed, or its machine went down; the next run starts afresh."


def running_folder(root: Path) -> Path:
    """Where runs that are alive hold their locks."""
    return root / ".prefect" / "running"


@contextlib.contextmanager
def alive(root: Path, run_id: str) -> Iterator[None]:
    """Show that a flow run is alive: a lock that the kernel drops with the process.

    One that a worker started leaves its pid, to be ended with the schedule.
    """
    path = running_folder(root) / run_id
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        if STARTED_BY_WORKER in os.environ:
            handle.write(str(os.getpid()))
            handle.flush()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def is_alive(root: Path, run_id: str) -> bool:
    """Whether a process of this machine holds the lock of a flow run."""
    try:
        with (running_folder(root) / run_id).open("a") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def end_scheduled(root: Path, *, patience: float) -> None:
    """End the flow runs that a worker started: by request, and by force where that is not heard.

    :param patience: seconds until then.
    """
    alive_ones = [path for path in running_folder(root).glob("*") if is_alive(root, path.name)]
    pids = [int(text) for path in alive_ones if path.is_file() and (text := path.read_text())]
    _signal(pids, signal.SIGTERM)
    deadline = time.monotonic() + patience
    # One that lets go of its lock may still be telling the server.
    while (pids := _signal(pids, 0)) and time.monotonic() < deadline:
        time.sleep(0.2)
    _signal(pids, signal.SIGKILL)


def _signal(pids: list[int], number: int) -> list[int]:
    """Send a signal to processes, 0 for none, and return those that are there."""
    there = []
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
            there.append(pid)
    return there


def mark_dead(root: Path, client: Any, *, strangers: bool = False) -> list[str]:
    """Set the flow runs of this checkout that were killed to Crashed, and return their names.

    A worker that lives does so itself, when it finds its child gone. One that died with it cannot, and the run would
    stay Running for ever.

    :param client: Prefect's synchronous client.
    :param strangers: whether scheduled runs that hold no lock at all count as killed, too: only where no worker is at
        work yet.
    """
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterState, FlowRunFilterStateType
    from prefect.client.schemas.objects import StateType
    from prefect.states import Crashed

    folder = running_folder(root)
    held = {path.name for path in folder.glob("*")} if folder.is_dir() else set()
    unfinished = FlowRunFilterStateType(any_=[StateType.RUNNING, StateType.PENDING, StateType.CANCELLING])
    found = client.read_flow_runs(flow_run_filter=FlowRunFilter(state=FlowRunFilterState(type=unfinished)))
    dead = []
    for run in found:
        known = str(run.id) in held
        if (known or (strangers and run.deployment_id)) and not is_alive(root, str(run.id)):
            client.set_flow_run_state(UUID(str(run.id)), Crashed(message=DEAD), force=True)
            dead.append(run.name)
    for name in held:
        if not is_alive(root, name):
            (folder / name).unlink(missing_ok=True)
    return dead
