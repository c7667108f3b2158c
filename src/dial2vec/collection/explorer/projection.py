"""Many vectors to points on a map that new ones join without moving the old."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
from tqdm.auto import tqdm

from dial2vec.evaluation.report.projection import (
    COMPONENTS_BEFORE_TSNE,
    FEWEST_FOR_TSNE,
    PERPLEXITY,
    project,
    turn_like,
)

Points = NDArray[np.float32]

# Nearest dialogues whose places say where a new one belongs.
NEAREST = 10
# Steps of t-SNE with its clusters drawn together, then as they are; and between two looks at how far it is.
EARLY, LATE, EVERY = 250, 500, 25
# From so many on, interpolating on a grid is faster than a tree.
FEWEST_FOR_GRID = 10_000


def lay_out_many(units: NDArray[np.float32], *, seed: int, progress: bool = False) -> Points:
    """Place vectors in two dimensions by t-SNE of their principal components; float32 [n, 2] around 0.

    The same seed gives the same bytes on one machine, whatever the number of processors: one thread does it all,
    because several add up in whatever order they finish. Source: Linderman et al. 2019 (FIt-SNE), by openTSNE.

    :param units: float32 [n, d] of length 1; with n under 30, d under 3 or all of them equal, two principal components
        are taken as they are.
    :param progress: show a progress bar, where standard error is a terminal.
    """
    coincide = np.ptp(units, axis=0).max(initial=0) < 1e-6
    if len(units) < FEWEST_FOR_TSNE or units.shape[1] < 3 or coincide:
        return project(units, seed).astype(np.float32)
    from openTSNE import TSNE  # heavy, and a map that is kept does not need it

    steps = tqdm(total=EARLY + LATE, unit="step", disable=None if progress else True, leave=False)
    with threadpool_limits(limits=1), steps as bar:
        reduced = PCA(min(COMPONENTS_BEFORE_TSNE, *units.shape), random_state=seed).fit_transform(units)
        way = TSNE(
            perplexity=min(PERPLEXITY, (len(units) - 1) / 3),
            initialization="pca",
            negative_gradient_method="fft" if len(units) >= FEWEST_FOR_GRID else "bh",
            early_exaggeration_iter=EARLY,
            n_iter=LATE,
            n_jobs=1,
            random_state=seed,
            callbacks=lambda *_: bar.update(EVERY) and None,
            callbacks_every_iters=EVERY,
        )
        points = np.asarray(way.fit(reduced))
    return (points - points.mean(axis=0)).astype(np.float32)


def place(
    new: NDArray[np.float32], units: NDArray[np.float32], points: Points, *, nearest: int = NEAREST, block: int = 1024
) -> Points:
    """Place vectors on a map that is there, each at the median of its nearest by cosine; float32 [m, 2].

    A point depends on no other new one, and never lies outside what the map spans. A mean would lie in the empty middle
    where some of the nearest are far off on the map; openTSNE's own placing, which moves on from the median, was no
    better (docs/explorer.md).

    :param new: float32 [m, d] of length 1.
    :param units: float32 [n, d] of length 1, n at least 1: what the map was made of.
    :param points: float32 [n, 2], where these are.
    :param nearest: how many of them count.
    :param block: rows taken at a time; the memory is some two times `block` x n float32.
    """
    placed = np.empty((len(new), 2), dtype=np.float32)
    count = min(nearest, len(units))
    with threadpool_limits(limits=1):
        for first in range(0, len(new), block):
            cosines = new[first : first + block] @ units.T
            among = np.argpartition(cosines, len(units) - count, axis=1)[:, len(units) - count :]
            placed[first : first + block] = np.median(points[among], axis=1)
    return placed


def aligned(points: Points, other: Points) -> Points:
    """Return a map turned, mirrored and brought to the size of another of the same dialogues; float32 [n, 2].

    What still differs is what the two encoders see differently. Source: Procrustes analysis (Schönemann 1966).
    """
    centre = other.mean(axis=0)
    turned = turn_like(points.astype(np.float64), other.astype(np.float64))
    own, target = np.linalg.norm(turned), np.linalg.norm(other - centre)
    return (turned * (target / own if own else 1) + centre).astype(np.float32)
