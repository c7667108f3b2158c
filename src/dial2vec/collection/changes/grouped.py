"""The group of every dialogue of one or two collections, by the clusters of the first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection.clustering.clusters import Clusters, least_cosines, stored_clusters
from dial2vec.collection.clustering.partition import Groups, Vectors, assign
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.errors import CorpusError

# A row of a table by column. Tables are lists of them, as pandas is an extra.
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Grouped:
    """Dialogues with their groups.

    :param clusters: clusters of the first collection.
    :param groups: group of each dialogue, as its place in `clusters.clusters`, int32 [n].
    :param similarity: cosine of each dialogue to the centre of its group, float32 [n]. For a dialogue from which the
        centre was computed, the centre is taken without it.
    """

    clusters: Clusters
    groups: Groups
    similarity: Vectors

    @property
    def ids(self) -> NDArray[np.int64]:
        """Return the ids of the groups, int64 [k]."""
        return np.array([cluster.id for cluster in self.clusters.clusters], dtype=np.int64)

    @property
    def names(self) -> list[str]:
        """Return the names of the groups."""
        return [cluster.name for cluster in self.clusters.clusters]

    def without_hidden(self, table: Iterable[Record], column: str = "group") -> list[Record]:
        """Return a table without the rows of hidden groups, which count in everything else.

        :param column: column with the ids of groups; a row without one stays.
        """
        hidden = {cluster.id for cluster in self.clusters.clusters if cluster.hidden}
        return [record for record in table if record[column] not in hidden]

    def closest(self, rows: NDArray[np.int64], n: int) -> NDArray[np.int64]:
        """Return the n of these rows that are closest to the centre of their group, the closest first."""
        return rows[np.argsort(-self.similarity[rows], kind="stable")[:n]]


def read_groups(collection: CollectionFolder) -> Grouped:
    """Return the group of every dialogue as `dial2vec cluster` wrote it; later dialogues go to the nearest centre.

    :raises ArtifactError: if the collection has no clusters, or damaged ones.
    """
    stored = stored_clusters(collection)
    nearest = assign(collection.adapted, stored.state.centres, known=stored.state.groups)
    return Grouped(stored.clusters, nearest.groups, nearest.similarity)


def nearest_groups(collection: CollectionFolder, other: CollectionFolder | None = None) -> Grouped:
    """Return the groups of all dialogues by one rule, so that those of two periods can be compared.

    If all dialogues were clustered together, these are their clusters. Otherwise every dialogue goes to the nearest
    centre, also the old ones: a community holds a few dialogues that are closer to another centre, and groups would
    seem to change because only the new dialogues follow the centres.

    :param other: second collection by the same encoder, whose dialogues come after those of the first.
    :raises ArtifactError: if the first collection has no clusters, or damaged ones.
    :raises CorpusError: if the collections have different encoders.
    """
    stored = stored_clusters(collection)
    if other is not None and other.manifest.fingerprint != collection.manifest.fingerprint:
        # A trained encoder has the name of its base encoder.
        kind = "other weights or settings of " if other.manifest.model == collection.manifest.model else ""
        raise CorpusError(
            f"{other.folder} has vectors of {other.manifest.model}, {collection.folder} those of "
            f"{kind}{collection.manifest.model}; expected one encoder. Index both with the same --model."
        )
    clusters, settled = stored.clusters, stored.clusters.settled
    centres, known = stored.state.centres, stored.state.groups
    together = other is None and settled == len(collection)
    least = least_cosines(clusters.limits, known[:settled])
    nearest = assign(collection.adapted, centres, known=known if together else None, least=least)
    similarity = nearest.similarity.copy()
    similarity[:settled] = _without_itself(
        collection.adapted[:settled], centres, known[:settled], nearest.groups[:settled], nearest.similarity[:settled]
    )
    if other is None:
        return Grouped(clusters, nearest.groups, similarity)
    more = assign(collection.adaptation(other.vectors) if collection.adaptation else other.vectors, centres)
    groups = np.concatenate([nearest.groups, more.groups])
    return Grouped(clusters, groups, np.concatenate([similarity, more.similarity]))


def _without_itself(
    units: Vectors, centres: Vectors, members: Groups, groups: Groups, similarity: Vectors
) -> NDArray[np.float32]:
    """Return the cosine of each vector to the centre of its group without this vector, [n].

    :param members: group whose centre each vector is part of.
    :param groups: group of each vector.
    """
    sums = np.zeros((len(centres), units.shape[1]))
    for group in range(len(centres)):
        sums[group] = units[members == group].sum(axis=0, dtype=np.float64)
    lengths = np.linalg.norm(sums, axis=1)[groups]
    # u·(S - u) / |S - u|, with u·S = |S| times the cosine and |u| = 1.
    inner = lengths * np.asarray(similarity, dtype=np.float64)
    rest = np.sqrt(np.maximum(lengths**2 - 2 * inner + 1, 0))
    alone = np.divide(inner - 1, rest, out=np.zeros_like(rest), where=rest > 1e-6)
    return np.where(members == groups, alone, similarity).astype(np.float32)
