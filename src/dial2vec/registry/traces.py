"""Traces of an experiment, fetched from the project's store or from the tracking server that the user names."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dial2vec.addresses import shown
from dial2vec.errors import ModelError, did_you_mean
from dial2vec.files import find_root
from dial2vec.registry.store import SERVER, opened, store_uri

# Traces of one request: each has all its spans.
PAGE = 100
# Experiments that an error names.
SHOWN = 10


def fetch_traces(experiment: str, folder: Path) -> Path:
    """Write all traces of an experiment, with their spans, as JSON Lines, and return the file.

    :param experiment: Name or id.
    :param folder: Folder for the file.
    :raises ModelError: if the store cannot be used, or has no such experiment, or no traces in it.
    """
    root = Path.cwd() if os.environ.get(SERVER) else find_root()
    with opened(root) as client:
        uri = shown(store_uri(root))
        ids = {known.name: known.experiment_id for known in _pages(client.search_experiments)}
        number = ids.get(experiment, experiment)
        if number not in ids.values():
            raise ModelError(
                f"no experiment of {uri} has the name or id {experiment!r}.{did_you_mean(experiment, ids)} "
                f"Expected one of: {', '.join(sorted(ids)[:SHOWN])}. Correct it, or set {SERVER} to another store."
            )
        # A folder in the name would be a folder in the export, too.
        path, count = folder / f"{experiment.replace('/', '-')}.jsonl", 0
        with path.open("w", encoding="utf-8") as file:
            for trace in _pages(client.search_traces, locations=[number], max_results=PAGE):
                file.write(json.dumps(trace.to_dict()) + "\n")
                count += 1
    if not count:
        raise ModelError(
            f"experiment {experiment!r} of {uri} has no traces; expected those of requests to an assistant. Name "
            "another experiment, or trace the assistant first."
        )
    return path


def _pages(search: Callable[..., Any], **wanted: Any) -> Iterator[Any]:
    """Yield what a search of MLflow finds, page by page."""
    page = search(**wanted)
    yield from page
    while page.token:
        page = search(**wanted, page_token=page.token)
        yield from page
