"""Projection of many vectors onto a map, and placing of new vectors without moving the old points."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
from tqdm.auto import tqdm

from dial2vec.data.progress import moving, waiting
from dial2vec.evaluation.report.projection import (
    COMPONENTS_BEFORE_TSNE,
    FEWEST_FOR_TSNE,
    PERPLEXITY,
    project,
    turn_like,
)

Points = NDArray[np.float32]

# Nearest dialogues that determine the place of a new one.
NEAREST = 10
# Steps of t-SNE with early exaggeration, steps after it, and steps per update of the progress bar.
EARLY, LATE, EVERY = 250, 500, 5
# Number of vectors from which interpolation on a grid is faster than a tree.
FEWEST_FOR_GRID = 10_000


def lay_out_many(units: NDArray[np.float32], *, seed: int, progress: bool = False) -> Points:
    """Place vectors in two dimensions by t-SNE of their principal components; float32 [n, 2] around 0.

    The same seed gives the same bytes on one machine. One thread does all the work, because several threads would add
    in varying order. Source: Linderman et al. 2019 (FIt-SNE), by openTSNE.

    :param units: vectors of length 1, float32 [n, d]. If n is below 30, d is below 3 or all are equal, the points are
        the first two principal components.
    :param progress: True for a progress bar if standard error is a terminal.
    """
    coincide = np.ptp(units, axis=0).max(initial=0) < 1e-6
    if len(units) < FEWEST_FOR_TSNE or units.shape[1] < 3 or coincide:
        return project(units, seed).astype(np.float32)
    with waiting("map") if progress else nullcontext():
        from openTSNE import TSNE  # heavy, and not needed for a stored map

    steps = tqdm(total=EARLY + LATE, desc="map", unit="step", disable=None if progress else True, leave=False)
    with threadpool_limits(limits=1), moving(steps) as bar:
        reduced = PCA(min(COMPONENTS_BEFORE_TSNE, *units.shape), random_state=seed).fit_transform(units)
        tsne = TSNE(
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
        points = np.asarray(tsne.fit(reduced))
    return (points - points.mean(axis=0)).astype(np.float32)


def place(
    new: NDArray[np.float32], units: NDArray[np.float32], points: Points, *, nearest: int = NEAREST, block: int = 1024
) -> Points:
    """Place vectors on an existing map, each at the median of its nearest by cosine; float32 [m, 2].

    The place does not depend on other new vectors, and lies within the map. A mean could lie in an empty middle between
    distant neighbours. openTSNE's own placing, which starts from the median, was not better (docs/explorer.md).

    :param new: new vectors of length 1, float32 [m, d].
    :param units: vectors of length 1 that the map was fitted to, float32 [n, d], n at least 1.
    :param points: their points, float32 [n, 2].
    :param nearest: number of nearest vectors for the median.
    :param block: rows per block; memory is about 2 x `block` x n float32.
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
    """Turn, mirror and scale a map to match another map of the same dialogues; float32 [n, 2].

    The remaining differences come from the encoders. Source: Procrustes analysis (Schönemann 1966).
    """
    centre = other.mean(axis=0)
    turned = turn_like(points.astype(np.float64), other.astype(np.float64))
    own, target = np.linalg.norm(turned), np.linalg.norm(other - centre)
    return (turned * (target / own if own else 1) + centre).astype(np.float32)
