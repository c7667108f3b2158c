"""Two sets of vectors: whether they come from one place, and how many of the second lie far away from the first."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dial2vec.evaluation.distribution import normalised

PERMUTATIONS = 999
# Of permutations at a time, so that memory stays some arrays of `BATCH` x n numbers.
BATCH = 250
# A dialogue is far away when its nearest one is farther than that of so many of the old ones among themselves.
FAR = 0.99

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Difference:
    """What the two-sample test found.

    :param p_value: how often chance alone makes two sets differ so much, in (0, 1]; at least 1 / 1000.
    :param effect: how much they differ, in [0, 1]: 0 not at all, 1 when each set is one point, and these are two.
    """

    p_value: float
    effect: float


@dataclass(frozen=True, slots=True)
class FarAway:
    """How far the new ones are from the old ones.

    :param distances: of each new one to its nearest old one, in [0, 2], [m].
    :param limit: the distance from which on one is far away.
    :param expected: share of the new ones that is far away where nothing has changed: 0.01, or 1 / (n + 1) where there
        are too few old ones for that.
    :param share: of the new ones that is.
    :param p_value: how often chance alone makes so many far away, in (0, 1].
    """

    distances: Floats
    limit: float
    expected: float
    share: float
    p_value: float


def distances(old: np.ndarray, new: np.ndarray) -> Floats:
    """Return the distances of all vectors, brought to length 1, from one another, [n + m, n + m] in [0, 2].

    :param old: [n, d] float32.
    :param new: [m, d] float32.
    """
    from scipy.spatial.distance import pdist, squareform

    return np.asarray(squareform(pdist(normalised(np.concatenate([old, new])))))


def energy_test(between: Floats, n: int, *, seed: int) -> Difference:
    """Test whether two sets come from one distribution, by their energy distance and `scipy.stats.permutation_test`.

    The energy distance is twice the mean distance between the sets less the mean distances within each; for points of
    a Euclidean space it is 0 only where the distributions are the same. The effect is its square root after division
    by twice the mean distance between the sets, so that it grows as the share of other dialogues does. Source: Székely
    and Rizzo 2013, "Energy statistics: a class of statistics based on distances".

    :param between: of `distances`, [n + m, n + m].
    :param n: how many of them are old, from 2 to all but 2.
    :param seed: of the permutations.
    """
    from scipy.stats import permutation_test

    places = np.arange(len(between))
    found = permutation_test(
        (places[:n], places[n:]),
        energy_of(between),
        vectorized=True,
        n_resamples=PERMUTATIONS,
        batch=BATCH,
        alternative="greater",
        random_state=np.random.default_rng([seed, 0]),
    )
    mean = float(between[:n, n:].mean())
    relative = float(found.statistic) / (2 * mean) if mean else 0.0
    return Difference(float(found.pvalue), math.sqrt(max(relative, 0.0)))


def energy_of(between: Floats) -> Callable[..., Floats]:
    """Return the function from the places of old and new ones, int64 [..., n] and [..., m], to their energy distance.

    It is an unbiased estimate: a point's distance to itself is left out, and it can be below 0.
    """
    total = float(between.sum())

    def energy(old: NDArray[np.int64], new: NDArray[np.int64], axis: int = -1) -> Floats:
        n, m = old.shape[axis], new.shape[axis]
        is_old = np.zeros((*old.shape[:-1], n + m))
        np.put_along_axis(is_old, old, 1.0, axis=axis)
        # Sums over all pairs by one product, whichever of them are old.
        reached = is_old @ between
        within_old = (reached * is_old).sum(axis=axis)
        across = reached.sum(axis=axis) - within_old
        within_new = total - within_old - 2 * across
        return np.asarray(2 * across / (n * m) - within_old / (n * (n - 1)) - within_new / (m * (m - 1)))

    return energy


def far_away(between: Floats, n: int) -> FarAway:
    """Find the new ones that are farther from all old ones than old ones are from one another.

    The limit is the k-th smallest distance of an old one to its nearest other, k the 99 % of n + 1, rounded up, at most
    n. Where nothing has changed, the number of new ones beyond it has a beta-binomial distribution, whatever the
    vectors are like.

    :param between: of `distances`, [n + m, n + m].
    :param n: how many of them are old, at least 2.
    """
    from scipy.stats import betabinom

    among = between[:n, :n] + np.diag(np.full(n, np.inf))
    found = between[n:, :n].min(axis=1)
    k = min(n, math.ceil(FAR * (n + 1)))
    limit = float(np.partition(among.min(axis=1), k - 1)[k - 1])
    count = int((found > limit).sum())
    return FarAway(
        distances=found,
        limit=limit,
        expected=1 - k / (n + 1),
        share=count / len(found),
        p_value=float(betabinom.sf(count - 1, len(found), n + 1 - k, k)),
    )
