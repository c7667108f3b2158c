"""Traces of an experiment, fetched from the project's store or from a tracking server that the user names."""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dial2vec.addresses import shown
from dial2vec.errors import ModelError, did_you_mean
from dial2vec.files import find_root
from dial2vec.registry.store import SERVER, opened, store_uri

# isort: split
# After dial2vec.registry.store, which silences mlflow before it is imported.
from mlflow import MlflowClient
from mlflow.entities import Trace, TraceInfo
from mlflow.tracing.constant import TraceMetadataKey

# Traces of one request, with all their spans or without any.
PAGE, BARE_PAGE = 100, 500
# Experiments that an error names.
SHOWN = 10
# An experiment and the server that has it; a `Path` has one slash of two.
ELSEWHERE = re.compile(r"(.+)@(https?):/+(.+)")


@dataclass(frozen=True, slots=True)
class Traces:
    """The traces of one experiment, in the order of their requests."""

    client: MlflowClient
    number: str

    def sessions(self, since: int) -> dict[str, list[TraceInfo]]:
        """Return the requests since a time, in milliseconds since 1970, by session; without one, by their own id."""
        sessions = defaultdict(list)
        for trace in self._search(since, max_results=BARE_PAGE, include_spans=False):
            session = trace.info.trace_metadata.get(TraceMetadataKey.TRACE_SESSION)
            sessions[session or trace.info.trace_id].append(trace.info)
        return sessions

    def lines(self, since: int = 0, ids: Collection[str] | None = None) -> Iterator[str]:
        """Yield traces with their spans as lines of JSON: those with these ids, or all."""
        for trace in self._search(since, max_results=PAGE):
            if ids is None or trace.info.trace_id in ids:
                yield json.dumps(trace.to_dict()) + "\n"

    def _search(self, since: int, **how: Any) -> Iterator[Trace]:
        """Yield each trace once: one that arrives meanwhile moves later ones to the next page."""
        seen: set[str] = set()
        how |= {"filter_string": f"timestamp_ms >= {since}", "order_by": ["timestamp_ms ASC"]}
        for trace in _pages(self.client.search_traces, locations=[self.number], **how):
            if trace.info.trace_id not in seen:
                seen.add(trace.info.trace_id)
                yield trace


@contextmanager
def traces_of(address: str) -> Iterator[Traces]:
    """Open an experiment's traces.

    :param address: Name or id of the experiment, such as "support" or "support@https://mlflow.example" with a server.
    :raises ModelError: if the store cannot be used, or has no such experiment.
    """
    match = ELSEWHERE.fullmatch(address)
    experiment, server = (match[1], f"{match[2]}://{match[3]}") if match else (address, "")
    root = Path.cwd() if server or os.environ.get(SERVER) else find_root()
    with opened(root, server) as client:
        ids = {known.name: known.experiment_id for known in _pages(client.search_experiments)}
        number = str(ids.get(experiment, experiment))
        if number not in ids.values():
            raise ModelError(
                f"no experiment of {shown(server or store_uri(root))} has the name or id {experiment!r}."
                f"{did_you_mean(experiment, ids)} Expected one of: {', '.join(sorted(ids)[:SHOWN])}. Correct it, or "
                f"set {SERVER} to another store."
            )
        yield Traces(client, number)


def fetch_traces(address: str, folder: Path) -> Path:
    """Write all traces of an experiment, with their spans, as JSON Lines, and return the file.

    :param address: As `traces_of` takes it.
    :param folder: Folder for the file.
    :raises ModelError: if the store cannot be used, or has no such experiment, or no traces in it.
    """
    # A folder in the name would be a folder in the export, too.
    path = folder / f"{address.partition('@http')[0].replace('/', '-')}.jsonl"
    with traces_of(address) as traces, path.open("w", encoding="utf-8") as file:
        file.writelines(traces.lines())
    if not path.stat().st_size:
        raise ModelError(
            f"experiment {shown(address)!r} has no traces; expected those of requests to an assistant. Name another "
            "experiment, or trace the assistant first."
        )
    return path


def _pages(search: Callable[..., Any], **wanted: Any) -> Iterator[Any]:
    """Yield what a search of MLflow finds, page by page."""
    page = search(**wanted)
    yield from page
    while page.token:
        page = search(**wanted, page_token=page.token)
        yield from page
