"""Would the clusters be the same on other dialogues of the same kind? By which their number is proposed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from dial2vec.collection.clustering.partition import Groups, Vectors, assign, centres_of, sampled

# Vectors that are looked at, halves of them that are clustered, numbers of clusters that are tried.
SAMPLE, HALVES = 5000, 10
TRIED = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50)
# Dialogues of a cluster, on average, below which nothing can be said of it.
LEAST = 15
# Few clusters are always more stable than many, so it is not the best number that is taken, but the largest one that
# is stable enough and fares better than its neighbours.
ENOUGH = 0.7
# Jaccard index below which two clusters are not the same one.
LEAST_SHARED = 0.25


@dataclass(frozen=True, slots=True)
class Stability:
    """How a number of clusters fared.

    :param k: the number.
    :param agreement: mean adjusted Rand index between the clusters of all and those of a half of them, at most 1.
    :param clusters: of each cluster the mean largest Jaccard index with one of a half's, in [0, 1] (Hennig 2007,
        section 3): above 0.75 a cluster is there, below 0.5 it is dissolved.
    """

    k: int
    agreement: float
    clusters: tuple[float, ...]


def measure_stability(units: Vectors, centres: Vectors, *, seed: int) -> Stability:
    """Cluster ten random halves of the vectors, and compare.

    :param units: vectors of length 1, [n, d]; a sample of 5,000 is looked at.
    :param centres: [k, d], of all.
    """
    from sklearn.metrics import adjusted_rand_score

    sample = np.asarray(units[sampled(len(units), SAMPLE, seed)])
    whole = assign(sample, centres).groups
    k = len(centres)
    agreements, overlaps = [], []
    for half in range(HALVES):
        rows = np.random.default_rng([seed, half]).choice(len(sample), max(k, len(sample) // 2), replace=False)
        other = assign(sample, centres_of(sample[rows], k, seed=seed + half)).groups
        agreements.append(adjusted_rand_score(whole, other))
        overlaps.append(jaccards(whole, other, k).max(axis=1))
    return Stability(k, float(np.mean(agreements)), tuple(np.mean(overlaps, axis=0).tolist()))


def jaccards(one: Groups, other: Groups, k: int, *, other_k: int | None = None) -> NDArray[np.float64]:
    """Return the Jaccard index of each group of one partition with each of another, [k, other k]."""
    both = np.zeros((k, other_k or k))
    np.add.at(both, (one, other), 1)
    either = both.sum(axis=1, keepdims=True) + both.sum(axis=0, keepdims=True) - both
    return both / np.maximum(either, 1)


def match_groups(one: Groups, other: Groups, k: int, other_k: int) -> dict[int, int]:
    """Return which group of `one` each group of `other` is, at most one each: those that share most in all.

    A group that shares little with any, a Jaccard index below 0.25, is none of them.
    """
    shared, overlap = np.zeros((k, other_k)), jaccards(one, other, k, other_k=other_k)
    np.add.at(shared, (one, other), 1)
    pairs = zip(*linear_sum_assignment(-shared), strict=True)
    return {int(new): int(old) for old, new in pairs if overlap[old, new] >= LEAST_SHARED}


def propose_number(
    units: Vectors, *, seed: int, done: Callable[[int], object] = lambda _: None
) -> tuple[int, list[Stability]]:
    """Return the number of clusters to take, and how each that was tried fared.

    It is the largest number whose agreement is at least 0.7 and no less than that of the numbers tried before and after
    it; where there is none, the one with the best agreement.

    :param done: called after each number with 1.
    """
    found = []
    for k in numbers_to_try(len(units)):
        found.append(measure_stability(units, centres_of(units, k, seed=seed), seed=seed))
        done(1)
    return best_number(found), found


def best_number(found: Sequence[Stability]) -> int:
    """Return the number of clusters that these figures, by their numbers, speak for."""
    agreements = [-1.0, *(one.agreement for one in found), -1.0]
    peaks = [
        one.k
        for at, one in enumerate(found, start=1)
        if one.agreement >= max(ENOUGH, agreements[at - 1], agreements[at + 1])
    ]
    return max(peaks) if peaks else max(found, key=lambda one: one.agreement).k


def numbers_to_try(n: int) -> list[int]:
    """Return the numbers of clusters that n dialogues allow, at least one."""
    return [k for k in TRIED if k * LEAST <= n] or [1]
