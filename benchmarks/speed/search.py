"""Search in many vectors: time and memory.

    .venv/bin/python benchmarks/speed/search.py --sizes 10000 100000 1000000

The vectors are made: around one centre for every 200 of them, in directions that are mostly shared, so that neighbours
are neighbours for a reason, as with dialogues; length 1, d = 384. Queries are of the same kind and not among them.
Each size runs in a process of its own, whose largest resident memory is shown; what is mapped from the file of vectors
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
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection import Collection
from dial2vec.collection.collection_folder import Addition, Manifest
from dial2vec.collection.search.exact import nearest_rows
from timing import machine

D, QUERIES, K = 384, 200, 10
CENTRE_OF, SHARED = 200, 32


def main() -> None:
    """Print a table with a row for each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.folder:
        figures = asked(Collection(given.folder))
        figures["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        sys.stdout.write(json.dumps(figures))
        return
    sys.stdout.write(f"{machine()}\n\n")
    sys.stdout.write("| vectors | median query | 95 % of queries | memory |\n|---|---|---|---|\n")
    for n in given.sizes:
        with tempfile.TemporaryDirectory() as place:
            make(Path(place), n)
            sys.stdout.write(row(n, measured(Path(place))))
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


def measured(folder: Path) -> dict[str, float]:
    """Ask a collection in a process of its own."""
    command = [sys.executable, __file__, "--folder", str(folder)]
    return dict(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout))


def asked(collection: Collection) -> dict[str, float]:
    """Return the median and the 95th percentile of the seconds of a query, after three that are not counted."""
    queries, seconds = np.load(collection.folder / "queries.npy"), []
    for query in [*queries[:3], *queries]:
        began = time.perf_counter()
        nearest_rows(collection.vectors, query, K)
        seconds.append(time.perf_counter() - began)
    return {"median": float(np.median(seconds[3:])), "late": float(np.percentile(seconds[3:], 95))}


def row(n: int, figures: dict[str, float]) -> str:
    """Return a row of the table."""
    times = [f"{1000 * figures[key]:.1f} ms" for key in ("median", "late")]
    return f"| {n:,} | {' | '.join(times)} | {figures['memory']:,.0f} MiB |\n"


if __name__ == "__main__":
    main()
