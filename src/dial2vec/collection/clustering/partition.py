"""Centres of groups of similar vectors, by spherical k-means, and the nearest centre of each vector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

from dial2vec.collection.collection_folder import sampled
from dial2vec.encoder.nearest import unit_rows

Vectors = NDArray[np.float32]
Groups = NDArray[np.int32]

# Sample size for k-means: one million vectors have the same centres as 50,000 of them.
SAMPLE = 50_000
STARTS = 3
BLOCK = 65_536


@dataclass(frozen=True, slots=True)
class Assignment:
    """The centre of each vector.

    :param groups: number of the centre, int32 [n].
    :param similarity: cosine to that centre, float32 [n].
    :param margin: `similarity` minus the largest cosine to another centre, float32 [n]; below 0 only if a community
        holds a dialogue that is nearer to the centre of another one; with one centre equal to `similarity`.
    """

    groups: Groups
    similarity: Vectors
    margin: Vectors


def assign(
    units: Vectors, centres: Vectors, *, known: Groups | None = None, least: NDArray[np.float64] | None = None
) -> Assignment:
    """Assign vectors of length 1 to their nearest centres of length 1, in blocks; ties go to the first centre.

    :param known: centres of the first vectors, int32 [at most n], which they keep even if another one is nearer.
    :param least: cosine below which a vector goes to another centre, float64 [k]; -1 for some centres.
    """
    n = len(units)
    groups, similarity = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.float32)
    margin = np.zeros(n, dtype=np.float32)
    for first in range(0, n, BLOCK):
        cosines = units[first : first + BLOCK] @ centres.T
        rows, places = np.arange(len(cosines)), slice(first, first + len(cosines))
        groups[places] = (cosines if least is None else np.where(cosines < least, -2, cosines)).argmax(axis=1)
        if known is not None and first < len(known):
            groups[first : first + BLOCK][: len(known) - first] = known[first : first + BLOCK]
        similarity[places] = cosines[rows, groups[places]]
        cosines[rows, groups[places]] = -np.inf
        second = cosines.max(axis=1)
        margin[places] = similarity[places] - np.where(np.isfinite(second), second, 0)
    return Assignment(groups, similarity, margin)


def centres_of(units: Vectors, k: int, *, seed: int) -> Vectors:
    """Return k centres of length 1, [k, d], by k-means on a sample of at most 50,000, on one thread.

    Several threads would add in varying order, and a vector between two centres could change its group.

    :param units: vectors of length 1, [n, d], n at least k.
    """
    from sklearn.cluster import KMeans

    sample = units[sampled(len(units), SAMPLE, seed)]
    with threadpool_limits(limits=1):
        fitted = KMeans(k, random_state=seed, n_init=STARTS).fit(sample)
    return unit_rows(fitted.cluster_centers_)


def centres_of_groups(units: Vectors, groups: Groups, k: int | None = None) -> Vectors:
    """Return the mean direction of each group, float32 [k, d]; zeros for a group without vectors."""
    return unit_rows(sums_of_groups(units, groups, k))


def sums_of_groups(units: Vectors, groups: Groups, k: int | None = None) -> Vectors:
    """Return the sum of the vectors of each group, float32 [k, d]."""
    ones, places = np.ones(len(groups), dtype=np.float32), np.arange(len(groups))
    members = csr_matrix((ones, (groups, places)), shape=(k or int(groups.max()) + 1, len(groups)))
    return np.asarray(members @ units, dtype=np.float32)


def largest_first(labels: NDArray[np.int32]) -> Groups:
    """Number the groups by size, ties by their first member; no number is left out."""
    numbers, firsts, inverse, sizes = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    places = np.empty(len(numbers), dtype=np.int32)
    places[np.lexsort((firsts, -sizes))] = np.arange(len(numbers), dtype=np.int32)
    return places[inverse]
