"""Stability of clusters: would other dialogues of the same kind give the same ones? It proposes their number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from dial2vec.collection.clustering.partition import Groups, Vectors, assign, centres_of
from dial2vec.collection.collection_folder import sampled

# Sample size, number of random halves, and numbers of clusters to try.
SAMPLE, HALVES = 5000, 10
TRIED = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50)
# Smallest mean size of a cluster; stability says nothing about smaller ones.
LEAST = 15
# Few clusters are always more stable than many. So the largest number wins that is stable enough and at least as stable
# as its neighbours, not the most stable one.
ENOUGH = 0.7
# Lowest Jaccard index of two clusters that count as the same one.
LEAST_SHARED = 0.25


@dataclass(frozen=True, slots=True)
class Stability:
    """Stability of a number of clusters.

    :param k: number of clusters.
    :param agreement: mean adjusted Rand index between the clusters of all vectors and of random halves, at most 1.
    :param clusters: mean largest Jaccard index of each cluster with a cluster of a half, in [0, 1] (Hennig 2007,
        section 3): above 0.75 a cluster is stable, below 0.5 it is dissolved.
    """

    k: int
    agreement: float
    clusters: tuple[float, ...]


def measure_stability(units: Vectors, centres: Vectors, *, seed: int) -> Stability:
    """Cluster ten random halves of the vectors, and compare these clusters with those of all vectors.

    :param units: vectors of length 1, [n, d]; a sample of 5,000 is used.
    :param centres: centres of all vectors, [k, d].
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


def jaccards(groups: Groups, other: Groups, k: int, *, other_k: int | None = None) -> NDArray[np.float64]:
    """Return the Jaccard index of each group of one partition with each group of another, [k, other_k]."""
    both = np.zeros((k, other_k or k))
    np.add.at(both, (groups, other), 1)
    either = both.sum(axis=1, keepdims=True) + both.sum(axis=0, keepdims=True) - both
    return both / np.maximum(either, 1)


def match_groups(old: Groups, new: Groups, k: int, new_k: int) -> dict[int, int]:
    """Match new groups with old ones, one to one, so that matched groups share most vectors in total.

    :return: old group by new group; without pairs with a Jaccard index below 0.25.
    """
    shared, overlap = np.zeros((k, new_k)), jaccards(old, new, k, other_k=new_k)
    np.add.at(shared, (old, new), 1)
    pairs = zip(*linear_sum_assignment(-shared), strict=True)
    return {int(after): int(before) for before, after in pairs if overlap[before, after] >= LEAST_SHARED}


def propose_number(
    units: Vectors, *, seed: int, done: Callable[[int], object] = lambda _: None
) -> tuple[int, list[Stability]]:
    """Return the proposed number of clusters, and the stability of each number tried.

    The proposal is the largest number whose agreement is at least 0.7 and not below that of the numbers tried before
    and after it. If there is no such number, it is the one with the best agreement.

    :param done: called with 1 after each number.
    """
    results = []
    for k in numbers_to_try(len(units)):
        results.append(measure_stability(units, centres_of(units, k, seed=seed), seed=seed))
        done(1)
    return best_number(results), results


def best_number(results: Sequence[Stability]) -> int:
    """Return the number of clusters to propose.

    :param results: stability of each number, in ascending order of the numbers.
    """
    agreements = [-1.0, *(result.agreement for result in results), -1.0]
    peaks = [
        result.k
        for at, result in enumerate(results, start=1)
        if result.agreement >= max(ENOUGH, agreements[at - 1], agreements[at + 1])
    ]
    return max(peaks) if peaks else max(results, key=lambda result: result.agreement).k


def numbers_to_try(n: int) -> list[int]:
    """Return the numbers of clusters to try for n dialogues; [1] if there are few."""
    return [k for k in TRIED if k * LEAST <= n] or [1]
