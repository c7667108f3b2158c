"""Levels of groups: a handful of areas above the topics, and fine topics below them; they nest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection.clustering.communities import centres_of_groups, communities
from dial2vec.collection.clustering.partition import Groups, Vectors
from dial2vec.collection.collection_folder import sampled
from dial2vec.data.terms import Term

# From this many topics on there are areas; below it, each topic is an area.
FEW_TOPICS, MOST_AREAS = 5, 8
# Smallest size of a topic that is divided, and the number of its dialogues that are compared with each other.
DIVIDED, COMPARED = 60, 5_000
# How often `divide_topics` calls `done`.
TENTHS = 10


@dataclass(frozen=True, slots=True)
class Area:
    """Topics that are close to each other.

    :param id: number from 0.
    :param name: first terms of the area.
    :param size: number of dialogues.
    """

    id: int
    name: str
    terms: tuple[Term, ...]
    size: int


@dataclass(frozen=True, slots=True)
class FineTopic:
    """A part of a cluster.

    :param id: number from 0.
    :param cluster: id of the cluster that holds the fine topic.
    :param name: first terms of the fine topic.
    :param size: number of dialogues.
    """

    id: int
    cluster: int
    name: str
    terms: tuple[Term, ...]
    size: int


def areas_of(centres: Vectors) -> Groups:
    """Join topics to areas by average linkage, int32 [k]; about as many areas as the root of the number of topics.

    :param centres: centres of the topics, vectors of length 1, [k, d].
    """
    k = len(centres)
    if k < FEW_TOPICS:
        return np.arange(k, dtype=np.int32)
    from scipy.cluster.hierarchy import fcluster, linkage

    tree = linkage(centres.astype(np.float64), method="average", metric="cosine")
    numbers = fcluster(np.maximum(tree, 0), t=min(MOST_AREAS, max(2, round(k**0.5))), criterion="maxclust")
    _, first, areas = np.unique(numbers, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first)).astype(np.int32)[areas]


def divide_topics(
    units: Vectors, groups: Groups, k: int, *, seed: int, done: Callable[[int], object] = lambda _: None
) -> tuple[Vectors, Groups]:
    """Divide each topic into its own communities.

    :param groups: topic of each vector, int32 [n], from 0 to k - 1.
    :param done: called ten times with 1.
    :return: centres of the fine topics [m, d], and the topic of each fine topic, int32 [m].
    """
    centres: list[Vectors] = []
    parents: list[int] = []
    for topic in range(k):
        rows = np.flatnonzero(groups == topic)
        own = np.asarray(units[rows[sampled(len(rows), COMPARED, seed)]])
        if len(own):
            parts = communities(own, seed=seed) if len(own) >= DIVIDED else np.zeros(len(own), dtype=np.int32)
            centres.append(centres_of_groups(own, parts))
            parents += [topic] * len(centres[-1])
        for _ in range(TENTHS * topic // k, TENTHS * (topic + 1) // k):
            done(1)
    stacked = np.concatenate(centres) if centres else np.zeros((0, units.shape[1]), dtype=np.float32)
    return stacked, np.array(parents, dtype=np.int32)


def assign_fine(units: Vectors, groups: Groups, centres: Vectors, parents: NDArray[np.int32]) -> Groups:
    """Assign each vector to the nearest fine topic of its topic, int32 [n].

    :param parents: topic of each fine topic, [m]; each topic with vectors has at least one.
    """
    fine: Groups = np.zeros(len(units), dtype=np.int32)
    for topic in np.unique(groups):
        rows, own = np.flatnonzero(groups == topic), np.flatnonzero(parents == topic)
        for first in range(0, len(rows), 65_536):
            part = rows[first : first + 65_536]
            fine[part] = own[(units[part] @ centres[own].T).argmax(axis=1)]
    return fine
