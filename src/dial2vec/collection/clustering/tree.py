"""Ward's tree of dialogues, cut into areas and topics at the numbers that the plain vectors support."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dial2vec.collection.clustering.partition import (
    Groups,
    Vectors,
    assign,
    centres_of_groups,
    largest_first,
    sums_of_groups,
)
from dial2vec.collection.collection_folder import sampled

# Most dialogues in a tree, which compares all pairs, and most topics.
SAMPLE, MOST_TOPICS, MOST_AREAS = 5_000, 40, 8
# Smallest size of a group; the dialogues of a smaller one join the nearest other group.
SMALLEST = 5
# Weight of the gap in the tree, the logarithm of the ratio of two heights, beside the silhouette relative to its best.
GAP = 0.5
# At most so many groups among so many dialogues are too coarse for topics, if a division into at least twice as many
# keeps this share of the silhouette. All four were set on subsets of public corpora (docs/clusters.md).
FEW, AMONG, KEPT = 3, 300, 0.57


class Rows(Protocol):
    """Vectors, float32 [n, e], of which those of some rows are asked for."""

    def __getitem__(self, rows: NDArray[np.int64]) -> Vectors:
        """Return the vectors of some rows."""
        ...


@dataclass(frozen=True, slots=True)
class Levels:
    """Topics, and the divisions of the same tree that may be areas above them.

    :param topics: topic of each dialogue, int32 [n], from 0; the largest is number 0.
    :param rows: rows of the dialogues in the tree, int64 [m].
    :param areas: divisions of these dialogues into 2 to 8 groups, int32 [m] each, the best first.
    """

    topics: Groups
    rows: NDArray[np.int64]
    areas: tuple[Groups, ...]


def find_levels(units: Vectors, plain: Rows, *, seed: int) -> Levels:
    """Group dialogues into topics, and offer divisions into areas; all numbers come from the dialogues.

    Ward's method (Ward 1963) joins the vectors that are nearest, step by step; the tree has no seed. Its cut is chosen
    by the silhouette (Rousseeuw 1987) of the plain vectors, which nothing has smoothed, and by the gap in the tree's
    heights. Of more than 5,000 vectors a sample is joined, and the others go to the nearest centre.

    :param units: vectors of length 1 that are joined, float32 [n, d], n at least 2; adapted ones make better trees.
    :param plain: vectors of the encoder for the same dialogues, of length 1, that judge the cuts, float32 [n, e].
    :param seed: seed of the sample.
    """
    rows = sampled(len(units), SAMPLE, seed)
    tree = Tree(np.asarray(units[rows]), np.asarray(plain[rows]))
    number = tree.number_of_topics()
    topics, areas = tree.cut(number), tuple(tree.cut(k) for k in tree.numbers_of_areas(number))
    return Levels(largest_first(topics if len(rows) == len(units) else _spread(units, rows, topics)), rows, areas)


def best_cut(units: Vectors, plain: Rows, *, seed: int) -> Groups:
    """Return the best division of vectors into a few groups, int32 [n]; parameters are those of `find_levels`."""
    rows = sampled(len(units), SAMPLE, seed)
    tree = Tree(np.asarray(units[rows]), np.asarray(plain[rows]))
    groups = tree.cut(tree.best(2, MOST_AREAS))
    return largest_first(groups if len(rows) == len(units) else _spread(units, rows, groups))


def tree_centres(units: Vectors, k: int, *, seed: int) -> Vectors:
    """Return the centres of the tree's cut into k groups, [k, d] or fewer. `stability` calls this on halves."""
    del seed
    return centres_of_groups(units, Tree(units, units).cut(k))


class Tree:
    """Ward's tree of vectors, and the silhouettes of its cuts.

    :param units: vectors of length 1 that are joined, float32 [n, d].
    :param plain: vectors of length 1 that judge, float32 [n, e].
    """

    def __init__(self, units: Vectors, plain: Vectors) -> None:
        self.units, self.plain = units, plain
        self.n = len(units)
        with threadpool_limits(limits=1):
            self.merges = _ward(units)
        self.heights = np.maximum(self.merges[:, 2][::-1], 1e-12)
        self.silhouettes: dict[int, float] = {}

    def cut(self, k: int) -> Groups:
        """Return k groups, int32 [n]; fewer where vectors are equal or groups too small."""
        if k < 2 or self.n < 2:
            return np.zeros(self.n, dtype=np.int32)
        from scipy.cluster.hierarchy import fcluster

        groups = np.unique(fcluster(self.merges, k, criterion="maxclust"), return_inverse=True)[1].astype(np.int32)
        return without_small(self.units, groups)

    def number_of_topics(self) -> int:
        """Return the number of topics."""
        best = self.best(2, MOST_TOPICS)
        if best <= FEW and self.n >= AMONG:
            finer = self.best(2 * best, MOST_TOPICS)
            if self.silhouette(finer) >= KEPT * self.silhouette(best):
                return finer
        return best

    def numbers_of_areas(self, topics: int) -> list[int]:
        """Return the numbers of areas to try in turn: up to half as many as topics, the best first, then more."""
        half = min(MOST_AREAS, topics // 2)
        return [*self.ranked(2, half), *range(max(2, half + 1), min(MOST_AREAS, topics - 1) + 1)]

    def best(self, fewest: int, most: int) -> int:
        """Return the number of groups between two bounds at which the cut is best; 1 if there is no cut."""
        return next(iter(self.ranked(fewest, most)), 1)

    def ranked(self, fewest: int, most: int) -> list[int]:
        """Return the numbers of groups between two bounds, the best cut first; of equal ones, that of fewer groups."""
        numbers = np.arange(fewest, min(most, self.n // SMALLEST) + 1)
        if not len(numbers):
            return []
        silhouettes = np.array([self.silhouette(k) for k in numbers.tolist()])
        gaps = np.log(self.heights[numbers - 2] / self.heights[np.minimum(numbers - 1, self.n - 2)])
        scores = silhouettes / max(silhouettes.max(), 1e-12) + GAP * gaps
        return numbers[np.argsort(-scores, kind="stable")].tolist()  # type: ignore[no-any-return]

    def silhouette(self, k: int) -> float:
        """Return the silhouette of the cut into k groups."""
        if k not in self.silhouettes:
            self.silhouettes[k] = silhouette(self.plain, self.cut(k))
        return self.silhouettes[k]


def silhouette(units: Vectors, groups: Groups) -> float:
    """Return the mean silhouette by cosine distance (Rousseeuw 1987), in [-1, 1]; 0 for one group.

    The mean cosine to a group is the product with the sum of its vectors, so no pairs are compared.

    :param units: vectors of length 1, [n, d].
    """
    sizes = np.bincount(groups)
    if len(sizes) < 2:
        return 0.0
    cosines, rows = units @ sums_of_groups(units, groups).T, np.arange(len(units))
    within = 1 - (cosines[rows, groups] - (units * units).sum(axis=1)) / np.maximum(sizes[groups] - 1, 1)
    distances = 1 - cosines / sizes
    distances[rows, groups] = np.inf
    nearest = distances.min(axis=1)
    figures = (nearest - within) / np.maximum(np.maximum(nearest, within), 1e-12)
    return float(np.where(sizes[groups] == 1, 0, figures).mean())


def without_small(units: Vectors, groups: Groups) -> Groups:
    """Move the vectors of groups that are too small to the nearest other group; no number is left out."""
    sizes = np.bincount(groups)
    large = sizes >= SMALLEST
    if large.all() or not large.any():
        return groups
    moved, few = groups.copy(), ~large[groups]
    kept = np.flatnonzero(large)
    moved[few] = kept[(units[few] @ centres_of_groups(units, groups)[kept].T).argmax(axis=1)]
    return np.unique(moved, return_inverse=True)[1].astype(np.int32)


def _ward(units: Vectors) -> NDArray[np.float64]:
    """Return the merges of Ward's method as scipy writes them, [n - 1, 4]."""
    if len(units) < 2:
        # scipy refuses a tree of one vector, such as half of two.
        return np.zeros((0, 4))
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    squares = np.maximum(2 - 2 * (units @ units.T).astype(np.float64), 0)
    np.fill_diagonal(squares, 0)
    return np.asarray(linkage(squareform(np.sqrt(squares), checks=False), method="ward"))


def _spread(units: Vectors, rows: NDArray[np.int64], groups: Groups) -> Groups:
    """Return the groups of all vectors: those of a sample, and the nearest centre for the others."""
    everything = assign(units, centres_of_groups(np.asarray(units[rows]), groups)).groups
    everything[rows] = groups
    return everything
