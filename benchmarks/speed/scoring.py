"""The three tasks on a hundred thousand dialogues: seconds, peak memory, and how many times faster than plain numpy.

    .venv/bin/python benchmarks/speed/scoring.py --sizes 1000 10000 100000

Vectors of 384 dimensions around 40 centres are clustered 10 times and rank each other, each figure in a process of its
own, and beside it a plain version: all cosines at once, sorted by index and ranked by scipy, k-means one run after the
other. The plain version is left out from `--plain` dialogues on, because it would need too much memory. If both run,
their figures are compared. Seconds are medians of `--repeats` runs that take turns; from `--plain` on there is one run.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

N_LABELS, DIMENSION, RUNS, SEED = 40, 384, 10, 42
Floats = NDArray[np.float32]
Figures = dict[str, float]


def main() -> None:
    """Measure every size, the smallest first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=[1_000, 10_000, 100_000], help="numbers of dialogues")
    parser.add_argument(
        "--plain", type=int, default=20_000, help="number of dialogues below which the plain version runs"
    )
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    sys.stdout.write("| dialogues | figure | seconds | plain | ratio | peak, MiB |\n")
    sys.stdout.write("|---|---|---|---|---|---|\n")
    for size in sorted(arguments.sizes):
        for name in ("purity", "MAP, Spearman, uniformity", "uniformity"):
            both = size < arguments.plain
            found = [
                measure(name, size, plain=plain)
                for _ in range(arguments.repeats if both else 1)
                for plain in (False, True)[: 1 + both]
            ]
            sys.stdout.write(line(size, name, found))
            sys.stdout.flush()


def line(size: int, name: str, found: list[dict[str, Any]]) -> str:
    """Return a Markdown row of the runs of one figure.

    :raises SystemExit: if the fast figures are not the plain ones.
    """
    fast, plain = ([one for one in found if one["plain"] is kind] for kind in (False, True))
    for one in found:
        for key, figure in one["figures"].items():
            if abs(figure - fast[0]["figures"][key]) > 1e-9:
                sys.exit(f"{name} of {size} dialogues: {key} is {figure} and {fast[0]['figures'][key]}")
    seconds = statistics.median(one["seconds"] for one in fast)
    slow = statistics.median(one["seconds"] for one in plain) if plain else None
    beside = f"{slow:.2f} | {slow / seconds:.1f}" if slow else " | "
    return f"| {size:,} | {name} | {seconds:.2f} | {beside} | {max(one['peak'] for one in fast):,.0f} |\n"


def measure(name: str, size: int, *, plain: bool) -> dict[str, Any]:
    """Compute a figure in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return dict(json.loads(pool.apply(compute, (name, size, plain))))


def compute(name: str, size: int, plain: bool) -> str:
    """Return figures, seconds without making the vectors, and peak resident memory in MiB, as JSON."""
    work: Callable[[Floats, list[int]], Figures] = (PLAIN if plain else FAST)[name]
    vectors, labels = made_up(size)
    began = time.perf_counter()
    figures = work(vectors, labels)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return json.dumps({"plain": plain, "figures": figures, "seconds": seconds, "peak": peak})


def made_up(size: int) -> tuple[Floats, list[int]]:
    """Return vectors around centres, and the centre of each."""
    rng = np.random.default_rng(SEED)
    labels = rng.integers(0, N_LABELS, size)
    vectors = rng.standard_normal((size, DIMENSION), dtype=np.float32)
    vectors += rng.standard_normal((N_LABELS, DIMENSION), dtype=np.float32)[labels] / 2
    return vectors, labels.tolist()


def fast_purity(vectors: Floats, labels: list[int]) -> Figures:
    """Return purity as dial2vec computes it."""
    from dial2vec.evaluation.clustering import cluster_scores

    return {"purity": cluster_scores(vectors, labels, runs=RUNS, seed=SEED).purity}


def fast_ranking(vectors: Floats, labels: list[int]) -> Figures:
    """Return MAP, Spearman and uniformity as stage evaluate computes them, from the same cosines."""
    from dial2vec.evaluation.distribution import uniformity_of
    from dial2vec.evaluation.ranking import rank_others
    from dial2vec.evaluation.retrieval import retrieval_of

    found = rank_others(vectors, labels)
    return {
        "map": retrieval_of(found).map,
        "spearman": float(found.correlations.mean()),
        "uniformity": uniformity_of(found.closeness),
    }


def fast_uniformity(vectors: Floats, labels: list[int]) -> Figures:
    """Return uniformity alone, as stage select computes it."""
    from dial2vec.evaluation.distribution import uniformity

    return {"uniformity": uniformity(vectors)}


def plain_purity(vectors: Floats, labels: list[int]) -> Figures:
    """Return purity, with runs of k-means one after the other."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    found = []
    with threadpool_limits(limits=1, user_api="openmp"):
        for run in range(RUNS):
            clusters = KMeans(N_LABELS, n_init=1, random_state=SEED + run).fit_predict(vectors)
            table = np.zeros((N_LABELS, N_LABELS))
            np.add.at(table, (labels, clusters), 1)
            found.append(table.max(axis=0).sum() / len(labels))
    return {"purity": float(np.mean(found))}


def plain_ranking(vectors: Floats, labels: list[int]) -> Figures:
    """Return MAP, Spearman and uniformity from all cosines at once."""
    from scipy.stats import rankdata

    codes, n = np.array(labels), len(labels)
    cosines = plain_cosines(vectors)
    same = codes[:, None] == codes
    np.fill_diagonal(cosines, -np.inf)
    ranked = np.take_along_axis(same, np.argsort(-cosines, axis=1, kind="stable"), axis=1)[:, :-1]
    precisions = (ranked.cumsum(axis=1) / np.arange(1, n) * ranked).sum(axis=1) / ranked.sum(axis=1)
    others = ~np.eye(n, dtype=bool)
    relevant = same[others].reshape(n, n - 1)
    ranks = rankdata(cosines[others].reshape(n, n - 1), axis=1)
    first, second = (part - part.mean(axis=1, keepdims=True) for part in (ranks, relevant))
    correlations = (first * second).sum(axis=1) / np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    return {"map": float(precisions.mean()), "spearman": float(correlations.mean())} | plain_uniformity(vectors, labels)


def plain_uniformity(vectors: Floats, labels: list[int]) -> Figures:
    """Return uniformity from all distances at once."""
    off = ~np.eye(len(labels), dtype=bool)
    return {"uniformity": float(np.log(np.exp(-2 * (2 - 2 * plain_cosines(vectors)))[off].mean()))}


def plain_cosines(vectors: Floats) -> NDArray[np.float64]:
    """Return the cosines of all pairs, [n, n]."""
    units = vectors.astype(np.float64)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    product: NDArray[np.float64] = units @ units.T
    return product


FAST = {"purity": fast_purity, "MAP, Spearman, uniformity": fast_ranking, "uniformity": fast_uniformity}
PLAIN = {"purity": plain_purity, "MAP, Spearman, uniformity": plain_ranking, "uniformity": plain_uniformity}

if __name__ == "__main__":
    main()
