"""Nights without a verdict: retrainings that were killed or did not begin at their time are told like a failure."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from conversations.files import write_json
from dial2vec.config import Schedule
from dial2vec.operation.schedule.inbox_files import read_receipt
from dial2vec.operation.schedule.notify import notify
from dial2vec.operation.schedule.runs import last_begin

# A night that begins this late is not missed: clocks change by an hour, and a worker takes a moment.
GRACE_SECONDS = 70 * 60


def tell(root: Path, schedule: Schedule, sentence: str) -> str:
    """Send a notice of a night without a verdict, and return why that failed, "" if it did not.

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
