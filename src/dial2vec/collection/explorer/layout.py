"""Places on a map for many vectors: t-SNE of a sample, the others among their neighbours, and all moved together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from tqdm.auto import tqdm

from conversations.progress import counted, moving
from dial2vec.collection.collection_folder import sampled
from dial2vec.collection.explorer.placing import Placing
from dial2vec.evaluation.geometry import Points, lay_out

# Vectors up to which t-SNE places all from the start; of more, a sample of so many.
SAMPLE = 3_000
# Neighbours of each vector that pull it, pivots whose vectors are compared for them, and steps: more are hardly seen.
NEIGHBOURS, PROBES, STEPS, EVERY = 15, 8, 100, 5
# Distance by which vectors that were placed on one spot are set apart; a map is about 100 wide.
APART = 0.05
BLOCK = 4_096


def lay_out_many(units: NDArray[np.float32], *, seed: int, progress: bool = False) -> Points:
    """Place vectors of length 1 on a map, float32 [n, 2]; the same seed gives the same bytes on one machine.

    Up to 3,000 vectors by `lay_out`. More would take t-SNE minutes, most of them for the rough places: these come from
    a sample, whose nearest vectors place the others. Steps of t-SNE then move all by their neighbours among all.

    :param units: vectors, float32 [n, d].
    :param progress: True for progress bars if standard error is a terminal.
    """
    rows = sampled(len(units), SAMPLE, seed)
    rough = lay_out(units[rows], seed=seed, progress=progress).points
    if len(rows) == len(units):
        return rough
    points = np.random.default_rng(seed).normal(scale=APART, size=(len(units), 2)).astype(np.float32)
    rest = np.setdiff1d(np.arange(len(units)), rows)
    points[rest] += Placing(units[rows], rough, nearest=3).place(units[rest])
    points[rows] += rough
    return _moved(points, *_neighbours(units, progress=progress), seed=seed, progress=progress)


def _neighbours(units: NDArray[np.float32], *, progress: bool) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the places of the nearest others of each vector, int32 [n, k], and their distances, the nearest first."""
    among = Placing(units, np.zeros((len(units), 2), dtype=np.float32), nearest=NEIGHBOURS + 1, probes=PROBES)
    nearest = np.empty((len(units), NEIGHBOURS), dtype=np.int32)
    distances = np.empty((len(units), NEIGHBOURS))
    blocks = range(0, len(units), BLOCK)
    for first in counted(blocks, "blocks") if progress else blocks:
        own = units[first : first + BLOCK]
        places = among.nearest(own)
        cosines = np.einsum("ij,ikj->ik", own, units[places])
        # The vector itself is no neighbour, wherever equal ones come in the order.
        cosines[places == np.arange(first, first + len(own))[:, None]] = np.inf
        order = np.argsort(-cosines, axis=1, kind="stable")[:, 1:]
        nearest[first : first + BLOCK] = np.take_along_axis(places, order, axis=1)
        cosines = np.take_along_axis(cosines, order, axis=1)
        distances[first : first + BLOCK] = np.sqrt(np.maximum(0, 2 - 2 * cosines.clip(-1, 1)))
    return nearest, distances


def _moved(
    points: Points, nearest: NDArray[np.int32], distances: NDArray[np.float64], *, seed: int, progress: bool
) -> Points:
    from openTSNE import TSNEEmbedding  # heavy, and not needed for a stored map
    from openTSNE.affinity import PerplexityBasedNN
    from openTSNE.nearest_neighbors import PrecomputedNeighbors

    bar = tqdm(total=STEPS, desc="map", unit="step", disable=None if progress else True, leave=False)
    with threadpool_limits(limits=1), moving(bar):
        index = PrecomputedNeighbors(nearest, distances)
        pull = PerplexityBasedNN(knn_index=index, perplexity=NEIGHBOURS / 3, n_jobs=1)
        embedding = TSNEEmbedding(
            points.astype(np.float64), pull, negative_gradient_method="fft", n_jobs=1, random_state=seed,
            callbacks=lambda *_: bar.update(EVERY) and None, callbacks_every_iters=EVERY,
        )  # fmt: skip
        moved = np.asarray(embedding.optimize(n_iter=STEPS, momentum=0.8))
    return np.asarray(moved - moved.mean(axis=0), dtype=np.float32)
