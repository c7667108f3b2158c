"""Traces of MLflow for the inbox: new requests of an experiment become a file in the inbox of a corpus.

A session is taken when it has been quiet for a while. Traces that come later are added to the file with its earlier
ones, which is then imported again, so that the session stays one dialogue. A run that was killed is repeated: what a
file has already is not added again.
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

from conversations.files import atomic_path, numbered_lines, write_json
from conversations.formats.addresses import without_secrets
from dial2vec.errors import Dial2vecError
from dial2vec.operation.schedule.inbox import Arrival, place_of
from dial2vec.operation.schedule.inbox_files import QUIET_SECONDS, read_receipt
from dial2vec.registry.traces import opened_traces, session_of

# Milliseconds, as in MLflow: a session is over after so long without a request; a trace arrives so late at most, and
# the end of a session is waited for no longer.
QUIET, LATE = 30 * 60_000, 24 * 3_600_000
# Number of sessions whose files are remembered.
KEPT = 100_000


def bring_traces(inbox: Path, sources: Sequence[str], *, say: Callable[[str], None]) -> list[Arrival]:
    """Put the new traces of each source into the inbox, and return a note on each source that cannot be read.

    :param sources: Entries of `schedule.traces`, such as "calls=mlflow:support-bot".
    :param say: Function that shows a line to the user.
    """
    notes = []
    for corpus, _, address in (source.partition("=mlflow:") for source in sources):
        name = f"mlflow:{without_secrets(address)}"
        try:
            say(f"{corpus}: {_bring(inbox, corpus, address)} new traces of {name}")
        except Dial2vecError as error:
            notes.append(Arrival(corpus, name, note=f"no traces were fetched, because {error}"))
    return notes


def _bring(inbox: Path, corpus: str, address: str) -> int:
    """Put the new traces of an experiment into the inbox of a corpus, and return their number."""
    # The inbox puts its mark before the first dot of a name.
    now, name = time.time() * 1000, "mlflow-" + quote(without_secrets(address), safe="").replace(".", "%2E")[:140]
    path = inbox / ".traces" / corpus / f"{name}.json"
    receipt = read_receipt(path)
    since, file_of = receipt.get("since", 0), receipt.get("file_of", {})
    new_file = f"{name}-{time.strftime('%Y%m%dT%H%M%S', time.gmtime(since / 1000))}"
    sessions: dict[str, list[Any]] = defaultdict(list)
    files: dict[str, set[str]] = defaultdict(set)
    with opened_traces(address) as traces:
        for trace in traces(since, include_spans=False):
            sessions[session_of(trace.info)].append(trace.info)
        for session, infos in sessions.items():
            if _is_over(infos, now):
                files[file_of.setdefault(session, new_file)] |= {info.trace_id for info in infos}
        places = {file: place_of(inbox / corpus, file) for file in files}
        # Somebody has removed the others, and import knows the ids of their sessions.
        here = [file for file, place in places.items() if file == new_file or place.exists()]
        count = sum(_add(places[file], files[file], traces(since)) for file in here)
    write_json(path, {"since": max(since, int(now - LATE)), "file_of": dict(list(file_of.items())[-KEPT:])})
    return count


def _is_over(infos: Sequence[Any], now: float) -> bool:
    """Return whether a session is over, or has gone on for too long; a running request has no duration."""
    ends = (inf if info.execution_duration is None else info.request_time + info.execution_duration for info in infos)
    return max(ends) <= now - QUIET or min(info.request_time for info in infos) <= now - LATE


def _add(path: Path, ids: set[str], traces: Iterator[Any]) -> int:
    """Add traces that a file lacks, or make it, atomically, and return how many; its age says that it is complete."""
    old = [path] if path.exists() else []
    if lacking := ids - {json.loads(line)["info"]["trace_id"] for file in old for _, line in numbered_lines(file)}:
        with atomic_path(path) as temporary:
            for file in old:
                shutil.copyfile(file, temporary)
            with temporary.open("a", encoding="utf-8") as handle:
                new = (trace for trace in traces if trace.info.trace_id in lacking)
                handle.writelines(json.dumps(trace.to_dict()) + "\n" for trace in new)
            os.utime(temporary, (written := time.time() - 2 * QUIET_SECONDS, written))
    return len(lacking)
