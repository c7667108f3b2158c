"""Tests of two sets of vectors: is their distribution the same, and how many of the second are far from the first."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dial2vec.evaluation.distribution import normalised

PERMUTATIONS = 999
# Permutations at a time, which limits memory to a few arrays of `BATCH` x n numbers.
BATCH = 250
# A new vector is far away if its nearest old one is farther than that of this share of old vectors among themselves.
FAR = 0.99

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Difference:
    """Result of the two-sample test.

    :param p_value: Probability of such a difference by chance alone, in [0.001, 1].
    :param effect: Size of the difference, in [0, 1]: 0 for none, 1 if each set is one point and the points differ.
    """

    p_value: float
    effect: float


@dataclass(frozen=True, slots=True)
class FarAway:
    """Distances of new vectors from old ones.

    :param distances: Distance of each new vector to its nearest old one, in [0, 2], [m].
    :param limit: Largest distance that is not far away.
    :param expected: Expected share of far vectors if nothing has changed: about 0.01, or 1 / (n + 1) for small n.
    :param share: Share of far vectors among the new ones.
    :param p_value: Probability of so many far vectors by chance alone, in (0, 1].
    """

    distances: Floats
    limit: float
    expected: float
    share: float
    p_value: float


def distances(old: np.ndarray, new: np.ndarray) -> Floats:
    """Return the distances between all vectors, scaled to length 1: [n + m, n + m] in [0, 2].

    :param old: Vectors [n, d] float32.
    :param new: Vectors [m, d] float32.
    """
    from scipy.spatial.distance import pdist, squareform

    return np.asarray(squareform(pdist(normalised(np.concatenate([old, new])))))


def energy_test(between: Floats, n: int, *, seed: int) -> Difference:
    """Test whether two sets have the same distribution, by the energy distance and `scipy.stats.permutation_test`.

    The energy distance is twice the mean distance between the sets minus the mean distances within each; in a Euclidean
    space it is 0 only for equal distributions. The effect is the square root of the energy distance divided by twice
    the mean distance between the sets, so that it grows in proportion to the share of different dialogues. Source:
    Székely and Rizzo 2013, "Energy statistics: a class of statistics based on distances".

    :param between: Distances by `distances`, [n + m, n + m].
    :param n: Number of old vectors; at least 2, and at least 2 fewer than all.
    :param seed: Random seed of the permutations.
    """
    from scipy.stats import permutation_test

    indices = np.arange(len(between))
    test = permutation_test(
        (indices[:n], indices[n:]),
        energy_of(between),
        vectorized=True,
        n_resamples=PERMUTATIONS,
        batch=BATCH,
        alternative="greater",
        random_state=np.random.default_rng([seed, 0]),
    )
    mean = float(between[:n, n:].mean())
    relative = float(test.statistic) / (2 * mean) if mean else 0.0
    return Difference(float(test.pvalue), math.sqrt(max(relative, 0.0)))


def energy_of(between: Floats) -> Callable[..., Floats]:
    """Return the function from the indices of old and new vectors, int64 [..., n] and [..., m], to energy distances.

    The estimate is unbiased: it leaves out the distance of a point to itself, and can be below 0.
    """
    total = float(between.sum())

    def energy(old: NDArray[np.int64], new: NDArray[np.int64], axis: int = -1) -> Floats:
        n, m = old.shape[axis], new.shape[axis]
        is_old = np.zeros((*old.shape[:-1], n + m))
        np.put_along_axis(is_old, old, 1.0, axis=axis)
        # One matrix product gives the sums over all pairs.
        sums = is_old @ between
        within_old = (sums * is_old).sum(axis=axis)
        across = sums.sum(axis=axis) - within_old
        within_new = total - within_old - 2 * across
        return np.asarray(2 * across / (n * m) - within_old / (n * (n - 1)) - within_new / (m * (m - 1)))

    return energy


def far_away(between: Floats, n: int) -> FarAway:
    """Find the new vectors that are farther from all old ones than old ones are from each other.

    The limit is the k-th smallest distance of an old vector to its nearest old neighbour, where k = min(n, 99 % of
    n + 1, rounded up). If nothing has changed, the number of new vectors beyond it has a beta-binomial distribution,
    whatever the distribution of the vectors is.

    :param between: Distances by `distances`, [n + m, n + m].
    :param n: Number of old vectors, at least 2.
    """
    from scipy.stats import betabinom

    among = between[:n, :n] + np.diag(np.full(n, np.inf))
    nearest = between[n:, :n].min(axis=1)
    k = min(n, math.ceil(FAR * (n + 1)))
    limit = float(np.partition(among.min(axis=1), k - 1)[k - 1])
    count = int((nearest > limit).sum())
    return FarAway(
        distances=nearest,
        limit=limit,
        expected=1 - k / (n + 1),
        share=count / len(nearest),
        p_value=float(betabinom.sf(count - 1, len(nearest), n + 1 - k, k)),
    )
