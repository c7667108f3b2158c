"""Traces of an experiment, fetched from the project's store or from a tracking server that the user names."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from dial2vec.addresses import shown
from dial2vec.errors import ModelError, did_you_mean
from dial2vec.files import find_root
from dial2vec.registry.store import SERVER, opened, pages, store_uri

# isort: split
# After dial2vec.registry.store, which silences mlflow before it is imported.
from mlflow import MlflowClient
from mlflow.entities import Trace, TraceInfo
from mlflow.tracing.constant import TraceMetadataKey

# Traces of one request, as each may have many spans, and experiments that an error names.
PAGE, SHOWN = 100, 10
# An experiment and the server that has it; a `Path` has one slash of two.
ELSEWHERE = re.compile(r"(.+)@(https?):/+(.+)")


@contextmanager
def opened_traces(address: str) -> Iterator[Callable[..., Iterator[Trace]]]:
    """Open an experiment, and yield a function that returns its traces since a time, in milliseconds since 1970.

    :param address: Name or id of the experiment, such as "support" or "support@https://mlflow.example" with a server.
    :raises ModelError: if the store cannot be used, or has no such experiment.
    """
    match = ELSEWHERE.fullmatch(address)
    experiment, server = (match[1], f"{match[2]}://{match[3]}") if match else (address, "")
    root = Path.cwd() if server or os.environ.get(SERVER) else find_root()
    with opened(root, server) as client:
        ids = {known.name: known.experiment_id for known in pages(client.search_experiments)}
        number = str(ids.get(experiment, experiment))
        if number not in ids.values():
            raise ModelError(
                f"no experiment of {shown(server or store_uri(root))} has the name or id {experiment!r}."
                f"{did_you_mean(experiment, ids)} Expected one of: {', '.join(sorted(ids)[:SHOWN])}. Correct it, or "
                f"set {SERVER} to another store."
            )
        yield partial(_traces, client, number)


def session_of(info: TraceInfo) -> str:
    """Return the session of a trace, or the id of one that names none: the id of its dialogue."""
    return str(info.trace_metadata.get(TraceMetadataKey.TRACE_SESSION) or info.trace_id)


def _traces(client: MlflowClient, number: str, since: int = 0, *, include_spans: bool = True) -> Iterator[Trace]:
    """Yield each trace once, the earliest first: one that arrives meanwhile moves only later ones to the next page."""
    seen: set[str] = set()
    wanted = {"filter_string": f"timestamp_ms >= {since}", "order_by": ["timestamp_ms ASC"], "max_results": PAGE}
    for trace in pages(client.search_traces, locations=[number], include_spans=include_spans, **wanted):
        if trace.info.trace_id not in seen:
            seen.add(trace.info.trace_id)
            yield trace


def fetch_traces(address: str, folder: Path) -> Path:
    """Write all traces of an experiment, with their spans, as JSON Lines, and return the file.

    :param address: Name or id of the experiment, as `opened_traces` takes it.
    :raises ModelError: if the store cannot be used, or has no such experiment, or no traces in it.
    """
    # A folder in the name would be a folder in the export, too.
    path = folder / f"{address.partition('@http')[0].replace('/', '-')}.jsonl"
    with opened_traces(address) as traces, path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(trace.to_dict()) + "\n" for trace in traces())
    if not path.stat().st_size:
        raise ModelError(
            f"experiment {shown(address)!r} has no traces; expected those of requests to an assistant. Name another "
            "experiment, or trace the assistant first."
        )
    return path
