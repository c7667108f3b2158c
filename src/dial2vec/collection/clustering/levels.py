"""Levels of groups: a handful of areas above the topics, and fine topics below them; they nest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection.clustering.partition import Groups, Vectors, centres_of_groups
from dial2vec.collection.clustering.tree import Levels, Rows, best_cut
from dial2vec.collection.collection_folder import sampled
from dial2vec.data.terms import Term

# From this many topics on there are areas, none of which holds more than this share of the dialogues.
FEW_TOPICS, LARGEST = 5, 0.35
# Smallest size of a topic that is divided, and the number of its dialogues that are compared with each other.
DIVIDED, COMPARED = 60, 2_000
# How often `divide_topics` calls `done`.
TENTHS = 10


@dataclass(frozen=True, slots=True)
class Area:
    """Topics that are close to each other.

    :param id: number from 0.
    :param name: names of its largest topics that are unlike.
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
    :param name: a phrase that its dialogues say, or its first terms.
    """

    id: int
    cluster: int
    name: str
    terms: tuple[Term, ...]
    size: int


def areas_of_topics(topics: Groups, levels: Levels, k: int) -> Groups:
    """Return the area of each of k topics, int32 [k]; areas are numbered by their first topic.

    The first division is taken in which no area has more than 35 % of the dialogues. If there is none, or fewer than
    five topics, each topic is an area. A topic belongs to the area of most of its dialogues.

    :param topics: topic of each dialogue, int32 [n].
    """
    sizes, own = np.bincount(topics, minlength=k), topics[levels.rows]
    for areas in levels.areas if k >= FEW_TOPICS else ():
        shared = np.zeros((k, int(areas.max()) + 1))
        np.add.at(shared, (own, areas), 1)
        _, first, numbers = np.unique(shared.argmax(axis=1), return_index=True, return_inverse=True)
        if np.bincount(numbers, sizes).max() <= LARGEST * len(topics):
            return np.argsort(np.argsort(first)).astype(np.int32)[numbers]
    return np.arange(k, dtype=np.int32)


def divide_topics(
    units: Vectors, plain: Rows, groups: Groups, k: int, *, seed: int, done: Callable[[int], object] = lambda _: None
) -> tuple[Vectors, Groups]:
    """Divide each topic by its own tree.

    :param units: vectors that are joined, [n, d].
    :param plain: vectors that judge the divisions, [n, e].
    :param groups: topic of each vector, int32 [n], from 0 to k - 1.
    :param done: called ten times with 1.
    :return: centres of the fine topics [m, d], and the topic of each fine topic, int32 [m].
    """
    centres: list[Vectors] = []
    parents: list[int] = []
    for topic in range(k):
        rows = np.flatnonzero(groups == topic)
        rows = rows[sampled(len(rows), COMPARED, seed)]
        own = np.asarray(units[rows])
        if len(own):
            whole = np.zeros(len(own), dtype=np.int32)
            parts = best_cut(own, np.asarray(plain[rows]), seed=seed) if len(own) >= DIVIDED else whole
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
