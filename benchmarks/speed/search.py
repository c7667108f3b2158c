"""Search in many vectors: time, memory and recall of exact search and of the index.

    .venv/bin/python benchmarks/speed/search.py --sizes 10000 100000 1000000

The vectors are made: around one centre for every 200 of them, in directions that are mostly shared, so that neighbours
are neighbours for a reason, as with dialogues; length 1, d = 384. Queries are of the same kind and not among them.
Each way runs in a process of its own, whose largest resident memory is shown; what is mapped from the file of vectors
counts in it and can be given back at any time.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection import Collection
from dial2vec.collection.collection_folder import Addition, Manifest
from dial2vec.collection.search import approximate
from dial2vec.collection.search.exact import nearest_rows
from timing import machine

D, QUERIES, K = 384, 200, 10
CENTRE_OF, SHARED = 200, 32


def main() -> None:
    """Print a table with a row for each size and way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way:
        found = WAYS[given.way](Collection(given.folder))
        found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        sys.stdout.write(json.dumps(found))
        return
    sys.stdout.write(f"{machine()}\n\n")
    sys.stdout.write("| vectors | way | to make it | median query | 95 % of queries | recall at 10 | memory |\n")
    sys.stdout.write("|---|---|---|---|---|---|---|\n")
    for n in given.sizes:
        with tempfile.TemporaryDirectory() as place:
            make(Path(place), n)
            for way in WAYS:
                sys.stdout.write(row(n, way, measured(Path(place), way)))
                sys.stdout.flush()


def make(folder: Path, n: int) -> None:
    """Write a collection of n vectors, and queries."""
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(max(1, n // CENTRE_OF), D)).astype(np.float32)
    shared = rng.normal(size=(SHARED, D)).astype(np.float32)
    with (folder / "vectors.f32").open("wb") as handle:
        for first in range(0, n, 50_000):
            handle.write(points(rng, centres, shared, min(50_000, n - first)).tobytes())
    np.save(folder / "queries.npy", points(rng, centres, shared, QUERIES))
    Manifest("made", "made", D, (Addition("made", "2026-01-01", n, 0),)).write(folder)


def points(
    rng: np.random.Generator, centres: NDArray[np.float32], shared: NDArray[np.float32], n: int
) -> NDArray[np.float32]:
    """Return n vectors of length 1 around the centres."""
    around = rng.normal(size=(n, SHARED)) @ shared / SHARED**0.5 + 0.3 * rng.normal(size=(n, D))
    found = centres[rng.integers(len(centres), size=n)] + around
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float32)


def measured(folder: Path, way: str) -> dict[str, float]:
    """Run a way in a process of its own."""
    command = [sys.executable, __file__, "--way", way, "--folder", str(folder)]
    return dict(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout))


def exactly(collection: Collection) -> dict[str, float]:
    """Compare with every vector, and keep the answers for the other way."""
    queries = np.load(collection.folder / "queries.npy")
    seconds, found = asked(lambda query: nearest_rows(collection.vectors, query, K)[0], queries)
    np.save(collection.folder / "true.npy", np.array(found))
    return spread(seconds) | {"made": 0.0, "recall": 1.0}


def by_index(collection: Collection) -> dict[str, float]:
    """Make the index and ask it."""
    began = time.perf_counter()
    kept = approximate.update_index(collection)
    made = time.perf_counter() - began
    index = approximate.open_index(collection)
    if index is None:
        raise SystemExit("the index that was just made cannot be opened")
    queries, true = np.load(collection.folder / "queries.npy"), np.load(collection.folder / "true.npy")
    seconds, found = asked(lambda query: index.nearest(collection.vectors, query, K)[0], queries)
    recall = np.mean([len({*one} & {*other}) / K for one, other in zip(true, found, strict=True)])
    size = (collection.folder / "search" / "index.faiss").stat().st_size
    return spread(seconds) | {"made": made, "recall": float(recall), "probes": kept.probes, "size": size / 2**20}


def asked(
    ask: Callable[[NDArray[np.float32]], NDArray[np.int64]], queries: NDArray[np.float32]
) -> tuple[list[float], list[NDArray[np.int64]]]:
    """Return the seconds and the answer of each query, after three that are not counted."""
    for query in queries[:3]:
        ask(query)
    seconds, found = [], []
    for query in queries:
        began = time.perf_counter()
        found.append(ask(query))
        seconds.append(time.perf_counter() - began)
    return seconds, found


def spread(seconds: list[float]) -> dict[str, float]:
    """Return the median and the 95th percentile."""
    return {"median": float(np.median(seconds)), "late": float(np.percentile(seconds, 95))}


def row(n: int, way: str, found: dict[str, float]) -> str:
    """Return a row of the table."""
    name = f"index, {found['probes']:.0f} lists, {found['size']:,.0f} MiB" if "probes" in found else "every vector"
    cells = [f"{n:,}", name, f"{found['made']:.0f} s", *(f"{1000 * found[key]:.1f} ms" for key in ("median", "late"))]
    cells += [f"{found['recall']:.3f}", f"{found['memory']:,.0f} MiB"]
    return f"| {' | '.join(cells)} |\n"


WAYS = {"exactly": exactly, "by_index": by_index}

if __name__ == "__main__":
    main()
