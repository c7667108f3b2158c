"""Flow runs: locks of living ones, killed ones, scheduled runs without a verdict, and old runs on Prefect's page."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TextIO
from uuid import UUID
from zoneinfo import ZoneInfo

from filelock import lock_descriptor

from conversations.files import write_json
from dial2vec import telemetry
from dial2vec.config import Schedule
from dial2vec.operation.notify import notify
from dial2vec.operation.pages import PREFECT_SERVER, scheduled_server, use_prefect
from dial2vec.operation.schedule.inbox_files import read_receipt

# Prefect's worker gives the id of the run in this variable.
STARTED_BY_WORKER = "PREFECT__FLOW_RUN_ID"
DEAD = "The process was killed, or its machine went down; the next run starts again."
# A run that begins this late is not missed: clocks change by an hour, and a worker takes a moment.
GRACE_SECONDS = 70 * 60
# Prefect answers with at most 200 runs at once.
AT_ONCE = 200


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


def verdict_file(root: Path) -> Path:
    """Return the file with the text of the last verdict, which `dial2vec schedule` prints."""
    return root / ".prefect" / "verdict.txt"


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


def tell(root: Path, schedule: Schedule, sentence: str) -> str:
    """Send a notice of a scheduled run without a verdict, and return why that failed, "" if it did not.

    The notice has the form of a verdict with this failure.

    :param sentence: Description of what happened.
    """
    # Loaded here: takes seconds, and is rarely needed.
    from dial2vec.operation.schedule.result import CorpusResult, Retraining

    done = Retraining(corpora=[CorpusResult("all corpora", failed=sentence)])
    return notify(schedule, done.to_record(), text=done.to_text(root.name), root=root)


def killed_sentence(run: str) -> str:
    """Return the sentence about a run that was killed.

    :param run: Name of the run on Prefect's page.
    """
    return f"the retraining {run} was killed before it had a verdict; the next one continues where it stopped"


def missed_nights(root: Path, schedule: Schedule, *, now: float | None = None) -> str:
    """Return a sentence about scheduled times since the last call at which no retraining began; "" if there are none.

    The first call, and the first one after a changed `cron`, only notes the time.

    :param now: Seconds since 1970; None means now.
    """
    from cronsim import CronSim

    path, plan = root / ".prefect" / "nights.json", [schedule.cron, schedule.timezone]
    until = (time.time() if now is None else now) - GRACE_SECONDS
    known = read_receipt(path)
    same = known.get("plan") == plan
    since = known["until"] if same else until
    if same and until <= since <= until + 2 * GRACE_SECONDS:
        return ""
    # A clock that was far ahead, and is set back, begins again.
    since = min(since, until)
    write_json(path, {"plan": plan, "until": until})
    begun, missed = last_begin(root), []
    for night in CronSim(schedule.cron, datetime.fromtimestamp(since, ZoneInfo(schedule.timezone))):
        if night.timestamp() > until:
            break
        if night.timestamp() > begun:
            missed.append(night)
    if not missed:
        return ""
    earlier = f" and {len(missed) - 1} before" if len(missed) > 1 else ""
    return (
        f"no retraining began at {missed[-1]:%Y-%m-%d %H:%M} ({schedule.timezone}){earlier}: the machine or the "
        "schedule was off, or Prefect's page has paused it"
    )


def remove_old_runs(root: Path, days: float, *, dry_run: bool) -> str:
    """Remove the runs that ended more than `days` ago with their logs, and return a sentence.

    Only the server of a running schedule, or the one in PREFECT_API_URL, is asked: starting one takes a minute.

    :param dry_run: True to count the runs only.
    """
    if not (scheduled_server(root) or os.environ.get(PREFECT_SERVER)):
        return "Prefect's runs are left alone: only a running schedule can remove them."
    # Prefect reads its environment while it is imported.
    telemetry.switch_off()
    use_prefect(root)
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterEndTime

    before = datetime.now(UTC) - timedelta(days=days)
    ended, count = FlowRunFilter(end_time=FlowRunFilterEndTime(before_=before)), 0
    with get_client(sync_client=True) as client:
        while runs := client.read_flow_runs(flow_run_filter=ended, limit=AT_ONCE, offset=count if dry_run else 0):
            for run in () if dry_run else runs:
                client.delete_flow_run(run.id)
            count += len(runs)
    return f"Prefect: {count} runs that ended more than {days:g} days ago"
