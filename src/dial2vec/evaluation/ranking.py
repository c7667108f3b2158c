"""Every dialogue ranks all others once; MAP, MRR and Spearman use these rankings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dial2vec.evaluation.blocks import over_blocks
from dial2vec.evaluation.distribution import normalised

# Cosines are rounded to this step, so equal vectors tie exactly on every machine.
COSINE_STEP = 1e-10

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rankings:
    """Rankings of each dialogue as a query, float64 [n] throughout.

    :param correlations: Spearman's correlation of cosine with relevance, in [-1, 1]; ties share their average rank; 0
        if undefined: all or no others relevant, or all equally similar.
    :param precisions: average precision, hits last among equally similar others, in (0, 1]; NaN without a hit.
    :param reciprocals: 1 / rank of the first hit, in the same order, in (0, 1]; NaN without a hit.
    """

    correlations: Floats
    precisions: Floats
    reciprocals: Floats


def rank_others(vectors: np.ndarray, labels: Sequence[str | int], *, block: int | None = None) -> Rankings:
    """Rank all other dialogues by cosine for every dialogue; those of its label are its hits.

    Takes n^2 (d + log n) time, and per thread memory for some six arrays of `block` x n numbers. Sources: Liu et
    al. 2022, section 4.1; the ties are ours.

    :param vectors: [n, d] float32; a zero vector has cosine 0 to everything.
    :param labels: n labels.
    :param block: queries at a time; None as in `over_blocks`.
    """
    units = normalised(vectors)
    codes = np.unique(np.asarray(labels), return_inverse=True)[1]

    def work(queries: NDArray[np.int64]) -> Rankings:
        return _figures(_sorted_keys(units[queries] @ units.T, queries, codes))

    parts = list(over_blocks(work, len(units), block=block))
    return Rankings(
        np.concatenate([np.zeros(0), *(part.correlations for part in parts)]),
        np.concatenate([np.zeros(0), *(part.precisions for part in parts)]),
        np.concatenate([np.zeros(0), *(part.reciprocals for part in parts)]),
    )


def _sorted_keys(cosines: Floats, queries: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the others of each query, the most similar first, as whole numbers [b, n - 1].

    The cosine, in whole steps, and the hit share one number (hit = lowest bit): sorting these numbers is several times
    faster than sorting indices, and puts hits last among ties.
    """
    cosines *= -1 / COSINE_STEP
    keys = np.rint(cosines, out=cosines).astype(np.int64)
    keys *= 2
    keys += codes[queries, None] == codes
    keys[np.arange(len(queries)), queries] = np.iinfo(np.int64).max
    keys.sort(axis=1)
    return keys[:, :-1]


def _figures(keys: NDArray[np.int64]) -> Rankings:
    n_queries = len(keys)
    hits = (keys & 1).astype(bool)
    counts = hits.sum(axis=1)
    rows, places = np.nonzero(hits)
    # The hits of a query are adjacent in `rows`: place of the first one, and number of hits before each.
    first = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
    before = np.arange(len(rows)) - first[rows]
    sums = np.bincount(rows, weights=(before + 1) / (places + 1), minlength=n_queries)
    sum_of_places: Floats = np.bincount(rows, weights=places, minlength=n_queries).astype(np.float64)
    has_hit = counts > 0
    nothing = np.full(n_queries, np.nan)
    reciprocals = nothing.copy()
    reciprocals[has_hit] = 1 / (places[first[has_hit]] + 1)
    return Rankings(
        _correlations(keys, hits, counts, sum_of_places),
        np.divide(sums, counts, out=nothing, where=has_hit),
        reciprocals,
    )


def _correlations(
    keys: NDArray[np.int64], hits: NDArray[np.bool_], counts: NDArray[np.int64], places: Floats
) -> Floats:
    """Return Spearman's correlation of each query; relevance has two values, so its ranks are a linear map of it.

    With ranks counted from the most similar, Spearman is minus the Pearson correlation of the ranks with 0/1: for N
    others, m hits and ranks of variance sum V, `sum over hits of ((N - 1) / 2 - place) / sqrt(V m (N - m) / N)`.

    :param places: sum of the hits' places, from 0, before ties are averaged.
    """
    n_queries, n = keys.shape
    moved, cubes = _ties(keys, hits)
    covariance = counts * (n - 1) / 2 - (places + moved)
    # Whole numbers, so exactly 0 if all are tied.
    variance = (n * (n * n - 1) - cubes) / 12
    spread = variance * counts * (n - counts) / max(n, 1)
    return np.divide(covariance, np.sqrt(spread), out=np.zeros(n_queries), where=spread > 0)


def _ties(keys: NDArray[np.int64], hits: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.int64]]:
    """Return the effects of ties for each query.

    :return: growth of the sum of the hits' places if equals share their mean place, [b]; sum of t^3 - t over groups of
        t equals, int64 [b].
    """
    n_queries, n = keys.shape
    steps = keys >> 1
    rows, places = np.nonzero(steps[:, 1:] == steps[:, :-1])
    moved, cubes = np.zeros(n_queries), np.zeros(n_queries, dtype=np.int64)
    if not len(rows):
        return moved, cubes
    # One entry per pair of equal neighbours; consecutive entries form a group.
    begins = np.flatnonzero(np.concatenate([[True], np.diff(rows * n + places) != 1]))
    sizes = np.diff(np.concatenate([begins, [len(rows)]])) + 1
    rows, places = rows[begins], places[begins]
    # Edges: the first place of each group and the first place after it, so every second sum belongs to a group.
    edges = np.stack([rows * n + places, rows * n + places + sizes], axis=1).ravel()
    tied_hits = np.add.reduceat(np.append(hits.ravel(), False), edges, dtype=np.int64)[::2]
    # The h hits of a group of t come last: counted from its first place, they sum to h (t - 1) - h (h - 1) / 2.
    last = tied_hits * (sizes - 1) - tied_hits * (tied_hits - 1) / 2
    np.add.at(moved, rows, tied_hits * (sizes - 1) / 2 - last)
    np.add.at(cubes, rows, sizes**3 - sizes)
    return moved, cubes
