"""Every dialogue ranks all others once; MAP, MRR, Spearman and uniformity use these comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dial2vec.evaluation.blocks import over_blocks
from dial2vec.evaluation.distribution import normalised

# Cosines are rounded to this step, so equal vectors tie exactly on every machine. Twice the number of steps from 1 to
# -1 is below 2^32, so that a step and a hit fit into one number of 32 bits.
COSINE_STEP = 1e-9
LAST_KEY = np.iinfo(np.uint32).max

Floats = NDArray[np.float64]
Keys = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Rankings:
    """Rankings of each dialogue as a query, float64 [n] throughout.

    :param correlations: Spearman's correlation of cosine with relevance, in [-1, 1]; ties share their average rank; 0
        if undefined: all or no others relevant, or all equally similar.
    :param precisions: average precision, hits last among equally similar others, in (0, 1]; NaN without a hit.
    :param reciprocals: 1 / rank of the first hit, in the same order, in (0, 1]; NaN without a hit.
    :param closeness: sum over all others of exp(-2 squared distance), in [0, n - 1], for `uniformity_of`.
    """

    correlations: Floats
    precisions: Floats
    reciprocals: Floats
    closeness: Floats


def stepped(cosines: Floats) -> Floats:
    """Return cosines in whole steps of `COSINE_STEP`: equal vectors tie exactly on every machine."""
    return np.rint(cosines / COSINE_STEP) * COSINE_STEP


def rank_others(vectors: np.ndarray, labels: Sequence[str | int], *, block: int | None = None) -> Rankings:
    """Rank all other dialogues by cosine for every dialogue; those of its label are its hits.

    Takes n^2 (d + log n) time, and per thread memory for `block` x n float64. Sources: Liu et al. 2022, section 4.1;
    the ties are ours.

    :param vectors: [n, d] float32; a zero vector has cosine 0 to everything.
    :param labels: n labels.
    :param block: queries at a time; None as in `over_blocks`.
    """
    units = normalised(vectors)
    codes = np.unique(np.asarray(labels), return_inverse=True)[1].astype(np.int32)
    twice_squares = 2 * (units**2).sum(axis=1)

    def work(queries: NDArray[np.int64]) -> Floats:
        rankings = np.empty((4, len(queries)))
        # Query by query after the product: a row stays in the cache of its processor.
        for place, (query, cosines) in enumerate(zip(queries.tolist(), units[queries] @ units.T, strict=True)):
            closeness = _closeness(cosines, twice_squares, query)
            rankings[:, place] = *_figures(_sorted_keys(cosines, query, codes)), closeness
        return rankings

    return Rankings(*np.concatenate([np.zeros((4, 0)), *over_blocks(work, len(units), block=block)], axis=1))


def _closeness(cosines: Floats, twice_squares: Floats, query: int) -> float:
    """Return the sum over all others of exp(-2 |u - v|^2), where |u - v|^2 is |u|^2 + |v|^2 - 2 u v."""
    exponents = cosines * 4
    exponents -= twice_squares
    exponents -= twice_squares[query]
    # The pair of the query with itself is exp(0).
    return float(np.exp(exponents, out=exponents).sum()) - 1


def _sorted_keys(cosines: Floats, query: int, codes: NDArray[np.int32]) -> Keys:
    """Return the others of a query, the most similar first, as whole numbers [n - 1].

    The cosine, in whole steps from 1 downwards, and the hit share one number (hit = lowest bit): sorting these numbers
    is several times faster than sorting indices, and puts hits last among ties.

    :param cosines: cosines to all [n]; overwritten.
    """
    cosines *= -1 / COSINE_STEP
    cosines += 1 / COSINE_STEP
    keys = np.rint(cosines, out=cosines).astype(np.uint32)
    keys <<= 1
    keys |= codes == codes[query]
    keys[query] = LAST_KEY
    keys.sort()
    return keys[:-1]


def _figures(keys: Keys) -> tuple[float, float, float]:
    """Return Spearman's correlation, average precision and reciprocal rank of a query."""
    # The lowest byte holds the hit; one byte per other is read faster than four.
    hits = (keys.astype(np.uint8) & 1).view(bool)
    places = np.flatnonzero(hits)
    correlation = _correlation(keys, hits, places)
    if not len(places):
        return correlation, float("nan"), float("nan")
    precision = float((np.arange(1, len(places) + 1) / (places + 1)).mean())
    return correlation, precision, 1 / (int(places[0]) + 1)


def _correlation(keys: Keys, hits: NDArray[np.bool_], places: NDArray[np.int64]) -> float:
    """Return Spearman's correlation of a query; relevance has two values, so its ranks are a linear map of it.

    With ranks counted from the most similar, Spearman is minus the Pearson correlation of the ranks with 0/1: for N
    others, m hits and ranks of variance sum V, `sum over hits of ((N - 1) / 2 - place) / sqrt(V m (N - m) / N)`.

    :param places: places of the hits, from 0, before ties are averaged.
    """
    n, n_hits = len(keys), len(places)
    moved, cubes = _ties(keys, hits)
    covariance = n_hits * (n - 1) / 2 - (int(places.sum()) + moved)
    # Whole numbers, so exactly 0 if all are tied.
    variance = (n * (n * n - 1) - cubes) / 12
    spread = variance * n_hits * (n - n_hits) / max(n, 1)
    return covariance / spread**0.5 if spread > 0 else 0.0


def _ties(keys: Keys, hits: NDArray[np.bool_]) -> tuple[float, int]:
    """Return the effects of a query's ties.

    :return: growth of the sum of the hits' places if equals share their mean place; sum of t^3 - t over groups of t
        equals.
    """
    # Sorted numbers of one step differ in the lowest bit at most.
    tied = (keys[1:] ^ keys[:-1]) < 2
    if not tied.any():
        return 0.0, 0
    # One entry per pair of equal neighbours; consecutive entries form a group.
    pairs = np.flatnonzero(tied)
    begins = np.flatnonzero(np.concatenate([[True], np.diff(pairs) != 1]))
    sizes = np.diff(np.concatenate([begins, [len(pairs)]])) + 1
    first = pairs[begins]
    # Edges: the first place of each group and the first place after it, so every second sum belongs to a group.
    edges = np.stack([first, first + sizes], axis=1).ravel()
    tied_hits = np.add.reduceat(np.append(hits, False), edges, dtype=np.int64)[::2]
    # The h hits of a group of t come last: counted from its first place, they sum to h (t - 1) - h (h - 1) / 2.
    last = tied_hits * (sizes - 1) - tied_hits * (tied_hits - 1) / 2
    return float((tied_hits * (sizes - 1) / 2 - last).sum()), int((sizes**3 - sizes).sum())
