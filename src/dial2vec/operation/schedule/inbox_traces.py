"""Traces of MLflow for the inbox: new requests of an experiment become a file in the inbox of a corpus.

A session is taken when it has been quiet for a while. Traces that come later are added to the file with its earlier
ones, which is then imported again, so that the session stays one dialogue. After a kill the next run begins at the same
time, so it finds the file that was begun, and adds what it lacks.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from math import inf
from pathlib import Path
from typing import Any
from urllib.parse import quote

from conversations.files import atomic_path, write_json
from conversations.formats.addresses import without_secrets
from dial2vec.errors import CorpusError, Dial2vecError, require_module
from dial2vec.operation.schedule.inbox import IMPORTED, REFUSED, TAKEN, Arrival
from dial2vec.operation.schedule.inbox_files import QUIET_SECONDS, read_receipt

# Milliseconds, as in MLflow: a session is over after so long without a request; a trace arrives so late at most, and
# the end of a session is waited for no longer.
QUIET, LATE = 30 * 60_000, 24 * 3_600_000
# Sessions whose files are remembered.
KEPT = 100_000


def bring_traces(
    inbox: Path, sources: Sequence[str], corpora: Sequence[str], *, say: Callable[[str], None]
) -> list[Arrival]:
    """Put the new traces of each source into the inbox, and return a note on each source that cannot be read.

    :param sources: Entries of `schedule.traces`, such as "calls=mlflow:support-bot".
    :param say: Function that shows a line to the user.
    """
    notes = []
    for corpus, _, address in (source.partition("=mlflow:") for source in sources):
        try:
            if corpus not in corpora:
                raise CorpusError(f"{corpus!r} is no corpus of this retraining; expected one of {', '.join(corpora)}.")
            require_module("mlflow")
            say(f"{corpus}: {_bring(inbox, corpus, address)} of mlflow:{without_secrets(address)}")
        except Dial2vecError as error:
            notes.append(Arrival(corpus, f"mlflow:{without_secrets(address)}", note=f"nothing was fetched: {error}"))
    return notes


def _bring(inbox: Path, corpus: str, address: str) -> str:
    """Put the new traces of an experiment into the inbox of a corpus, and return how many."""
    # Loading mlflow takes seconds.
    from dial2vec.registry.traces import traces_of

    now, name = time.time() * 1000, f"mlflow-{quote(without_secrets(address), safe='')[:100]}"
    path = inbox / ".traces" / corpus / f"{name}.json"
    receipt = read_receipt(path)
    since, taken, file_of = receipt.get("since", 0), set(receipt.get("taken", ())), receipt.get("file_of", {})
    new_file = f"{name}-{time.strftime('%Y%m%dT%H%M%S', time.gmtime(since / 1000))}"
    wanted: dict[str, set[str]] = defaultdict(set)
    with traces_of(address) as traces:
        sessions = traces.sessions(since)
        for session, infos in sessions.items():
            new = [info for info in infos if info.trace_id not in taken]
            if new and _is_over(new, now):
                wanted[file_of.setdefault(session, new_file)] |= {info.trace_id for info in new}
        for file, ids in wanted.items():
            target = _place(inbox, corpus, file)
            if lacking := ids - _ids(target):
                _append(target, traces.lines(since, lacking))
    fetched = {number for ids in wanted.values() for number in ids}
    since = max(since, int(now - LATE))
    recent = {info.trace_id for infos in sessions.values() for info in infos if info.request_time >= since}
    receipt = {"since": since, "taken": sorted(recent & (taken | fetched))}
    write_json(path, receipt | {"file_of": dict(list(file_of.items())[-KEPT:])})
    return f"{len(fetched)} new traces"


def _is_over(infos: Sequence[Any], now: float) -> bool:
    """Return whether a session is over, or has gone on for too long; a running request has no duration."""
    ends = (inf if info.execution_duration is None else info.request_time + info.execution_duration for info in infos)
    return max(ends) <= now - QUIET or min(info.request_time for info in infos) <= now - LATE


def _place(inbox: Path, corpus: str, file: str) -> Path:
    """Return where a file of the inbox is by now, or that of a new one."""
    places = (inbox / corpus, *(inbox / place / corpus for place in (TAKEN, IMPORTED, REFUSED)))
    return next((path for place in places for path in place.glob(f"{file}*.jsonl")), places[0] / f"{file}.jsonl")


def _ids(path: Path) -> set[str]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else ()
    return {json.loads(line)["info"]["trace_id"] for line in lines}


def _append(path: Path, lines: Iterator[str]) -> None:
    """Add lines to a file, or make it, atomically; its age tells the inbox that it is complete."""
    with atomic_path(path) as temporary:
        if path.exists():
            shutil.copyfile(path, temporary)
        with temporary.open("a", encoding="utf-8") as file:
            file.writelines(lines)
        written = time.time() - 2 * QUIET_SECONDS
        os.utime(temporary, (written, written))
