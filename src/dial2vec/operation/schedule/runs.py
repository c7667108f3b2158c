"""Locks of flow runs: a run whose lock is free was killed, and is marked so."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO
from uuid import UUID

from filelock import lock_descriptor

# Prefect's worker gives the id of the run in this variable.
STARTED_BY_WORKER = "PREFECT__FLOW_RUN_ID"
DEAD = "The process was killed, or its machine went down; the next run starts again."


def running_folder(root: Path) -> Path:
    """Return the folder of the locks of living runs."""
    return root / ".prefect" / "running"


def last_begin(root: Path) -> float:
    """Return when a retraining last began here, in seconds since 1970; 0 if none is known."""
    with contextlib.suppress(OSError):
        return _begun(root).stat().st_mtime
    return 0.0


def _begun(root: Path) -> Path:
    return root / ".prefect" / "last-retraining"


@contextlib.contextmanager
def alive(root: Path, run_id: str) -> Iterator[None]:
    """Hold the lock of a flow run, which the kernel releases when the process ends.

    If a worker started the run, the lock file holds its pid, so that the schedule can end it. The file stays if the run
    was killed or ended by SIGTERM: nobody has heard how it ended.
    """
    path = running_folder(root) / run_id
    path.parent.mkdir(parents=True, exist_ok=True)
    _begun(root).touch()
    with _locked(path) as handle:
        if STARTED_BY_WORKER in os.environ:
            handle.write(str(os.getpid()))
            handle.flush()
        try:
            yield
        except (Exception, KeyboardInterrupt):
            path.unlink(missing_ok=True)
            raise
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[TextIO]:
    """Lock a file; another process that finds it unlocked for a moment may remove it, and then it is made again."""
    while True:
        with path.open("a", encoding="ascii") as handle:
            lock_descriptor(handle.fileno())
            if _is_file_of(path, handle):
                yield handle
                return


def _is_file_of(path: Path, handle: TextIO) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(path.stat(), os.fstat(handle.fileno()))
    return False


def is_alive(root: Path, run_id: str) -> bool:
    """Return whether a process of this machine holds the lock of a flow run."""
    try:
        with (running_folder(root) / run_id).open("a") as handle:
            return not lock_descriptor(handle.fileno(), blocking=False)
    except FileNotFoundError:
        return False


def end_scheduled(root: Path, *, patience: float) -> None:
    """End the flow runs that a worker started: by SIGTERM, and by SIGKILL if that is not enough.

    :param patience: Seconds between the two signals.
    """
    locks = [path for path in running_folder(root).glob("*") if is_alive(root, path.name)]
    pids = [int(text) for path in locks if path.is_file() and (text := path.read_text())]
    _signal(pids, signal.SIGTERM)
    deadline = time.monotonic() + patience
    # A run that has released its lock may still be reporting to the server.
    while (pids := _signal(pids, 0)) and time.monotonic() < deadline:
        time.sleep(0.2)
    _signal(pids, signal.SIGKILL)


def _signal(pids: list[int], number: int) -> list[int]:
    """Send a signal to processes, 0 for none, and return the ids of existing ones."""
    existing = []
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
            existing.append(pid)
    return existing


def has_dead(root: Path) -> bool:
    """Return whether a flow run of this checkout was killed, and nobody has been told."""
    return any(not is_alive(root, path.name) for path in running_folder(root).glob("*"))


def mark_dead(root: Path, client: Any, *, strangers: bool = False) -> list[str]:
    """Set killed flow runs of this checkout to Crashed, and return the names of those that nobody else has returned.

    A living worker does so itself if its child has ended. If the worker was killed too, the run would stay Running.

    :param client: Prefect's synchronous client.
    :param strangers: True if scheduled runs without a lock file count as killed too; only valid before a worker starts.
    """
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterState, FlowRunFilterStateType
    from prefect.client.schemas.objects import StateType
    from prefect.states import Crashed

    folder = running_folder(root)
    held = {path.name for path in folder.glob("*")} if folder.is_dir() else set()
    unfinished = FlowRunFilterStateType(any_=[StateType.RUNNING, StateType.PENDING, StateType.CANCELLING])
    dead = {}
    for run in client.read_flow_runs(flow_run_filter=FlowRunFilter(state=FlowRunFilterState(type=unfinished))):
        known = str(run.id) in held
        if (known or (strangers and run.deployment_id)) and not is_alive(root, str(run.id)):
            client.set_flow_run_state(UUID(str(run.id)), Crashed(message=DEAD), force=True)
            dead[str(run.id)] = run.name
    for run_id in held:
        if not is_alive(root, run_id):
            try:
                (folder / run_id).unlink()
            except FileNotFoundError:
                # Another process has noticed it too, and tells.
                dead.pop(run_id, None)
            else:
                dead.setdefault(run_id, run_id)
    return list(dead.values())
