"""Stability of clusters: would other dialogues of the same kind give the same ones?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from dial2vec.collection.clustering.partition import Groups, Vectors, assign, centres_of
from dial2vec.collection.collection_folder import sampled

# Sample size, and number of random halves.
SAMPLE, HALVES = 5000, 10
# Smallest mean size of a cluster; stability says nothing about smaller ones.
LEAST = 15
# Lowest Jaccard index of two clusters that count as the same one.
LEAST_SHARED = 0.25


class CentreFinder(Protocol):
    """A way to find centres of length 1, [k, d], in vectors of length 1; `k` may be ignored."""

    def __call__(self, units: Vectors, k: int, *, seed: int) -> Vectors:
        """Return the centres."""


@dataclass(frozen=True, slots=True)
class Stability:
    """Stability of clusters.

    :param agreement: mean adjusted Rand index between the clusters of all vectors and of random halves, at most 1.
    :param clusters: mean largest Jaccard index of each cluster with a cluster of a half, in [0, 1] (Hennig 2007,
        section 3): above 0.75 a cluster is stable, below 0.5 it is dissolved.
    """

    agreement: float
    clusters: tuple[float, ...]


def measure_stability(
    units: Vectors,
    centres: Vectors,
    *,
    seed: int,
    groups: Groups | None = None,
    find: CentreFinder = centres_of,
    done: Callable[[int], object] = lambda _: None,
) -> Stability:
    """Cluster ten random halves of the vectors, and compare these clusters with those of all vectors.

    :param units: vectors of length 1, [n, d]; a sample of 5,000 is used.
    :param centres: centres of all vectors, [k, d].
    :param groups: cluster of each vector, int32 [n]; None takes the nearest centre.
    :param find: function that returns the centres of a half from its vectors, k and a seed.
    :param done: called with 1 after each half.
    """
    from sklearn.metrics import adjusted_rand_score

    chosen = sampled(len(units), SAMPLE, seed)
    sample = np.asarray(units[chosen])
    whole = assign(sample, centres).groups if groups is None else groups[chosen]
    k = len(centres)
    agreements, overlaps = [], []
    for half in range(HALVES):
        rows = np.random.default_rng([seed, half]).choice(
            len(sample), min(len(sample), max(k, len(sample) // 2)), replace=False
        )
        half_centres = find(sample[rows], k, seed=seed + half)
        other = assign(sample, half_centres).groups
        agreements.append(adjusted_rand_score(whole, other))
        overlaps.append(jaccards(whole, other, k, other_k=len(half_centres)).max(axis=1))
        done(1)
    return Stability(float(np.mean(agreements)), tuple(np.mean(overlaps, axis=0).tolist()))


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
