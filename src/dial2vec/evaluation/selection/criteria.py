"""Label-free criteria: how well the vectors of a candidate serve topics; higher is better.

Every criterion scales vectors to length 1 first. A row that is zero or not finite counts as zero, so a candidate that
diverged or collapsed gets a defined low figure and loses. Memory holds the cosines of all pairs: some 50 n² bytes for n
dialogues, 0.45 GB for 3,000.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score, silhouette_score

from dial2vec.evaluation.clustering import kmeans
from dial2vec.evaluation.distribution import normalised
from dial2vec.evaluation.ranking import stepped

# The three criteria fail on different candidates: a collapse onto few points raises the first two and not the third; a
# space without clusters may raise only the third.
CHOOSING = ("stability", "silhouette", "cross_side")
RUNS = 4
# The silhouette hardly moves between runs, so fewer are enough.
SILHOUETTE_RUNS = 2
# Mean squared distance from the centre below which unit vectors differ only by rounding.
NO_SPREAD = 1e-10

Vectors = NDArray[np.float32]
Matrix = NDArray[np.float64]
Relevance = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Views:
    """Vectors by one candidate of the dev dialogues with at least two speakers.

    :param whole: [n, d] float32, whole dialogues.
    :param first: [n, d] float32, only the first speaker's turns.
    :param second: [n, d] float32, only the turns of all other speakers.
    """

    whole: Vectors
    first: Vectors
    second: Vectors

    def __len__(self) -> int:
        """Return the number of dialogues."""
        return len(self.whole)

    def take(self, rows: NDArray[np.int64]) -> Views:
        """Return the views of the dialogues at these places."""
        return Views(self.whole[rows], self.first[rows], self.second[rows])


def n_clusters(n: int) -> int:
    """Return the number of clusters for n dialogues: one per 15 dialogues, from 2 to 20."""
    return max(2, min(20, n // 15))


def n_neighbours(n: int) -> int:
    """Return the number of neighbours among n dialogues: a tenth, from 1 to 15."""
    return max(1, min(15, n // 10))


def measure_criteria(views: Views, *, seed: int) -> dict[str, float]:
    """Return the criteria named in `CHOOSING`, from one set of clusters and cosines.

    :param views: vectors of at least 3 dialogues.
    :param seed: seed; run i of k-means takes `seed + i`.
    """
    units = finite_units(views.whole)
    clusterings = clusterings_of(units, clusters=n_clusters(len(views)), seed=seed, runs=RUNS)
    return {
        "stability": mean_agreement(clusterings),
        "silhouette": mean_silhouette(cosines_of(units), clusterings[:SILHOUETTE_RUNS]),
        "cross_side": cross_side(views.first, views.second, neighbours=n_neighbours(len(views))),
    }


def cross_side(first: Vectors, second: Vectors, *, neighbours: int) -> float:
    """Return how well either side's cosines rank the nearest dialogues by the other side, in [0, 1]; 0.5 is chance.

    The area under the ROC curve, averaged over dialogues and both directions. Both sides of a dialogue share its topic
    and little else, so dialogues that both find near share a topic; the style of one side gains nothing. Equal cosines
    count half; a collapsed side gives 0.5.

    :param first: [n, d] float32, first speakers' sides.
    :param second: [n, d] float32, the other sides of the same dialogues.
    :param neighbours: number of nearest dialogues, 1 to n - 1; ties with the last one count too.
    """
    ours, theirs = cosines_of(finite_units(first)), cosines_of(finite_units(second))
    forth = ranking_area(ours, nearest_rows(theirs, neighbours=neighbours))
    return (forth + ranking_area(theirs, nearest_rows(ours, neighbours=neighbours))) / 2


def finite_units(vectors: NDArray[np.floating]) -> Matrix:
    """Return [n, d] float64 unit rows; a row with an undefined or infinite value counts as zero."""
    finite = np.isfinite(vectors).all(axis=1, keepdims=True)
    return normalised(np.where(finite, vectors, 0))


def cosines_of(units: Matrix) -> Matrix:
    """Return [n, n] cosines with -2 on the diagonal, below all others, so no dialogue is near itself."""
    cosines = stepped(units @ units.T)
    np.fill_diagonal(cosines, -2)
    return cosines


def nearest_rows(cosines: Matrix, *, neighbours: int) -> Relevance:
    """Return [n, n]: the nearest dialogues of each row and all ties with the last one, so input order never matters."""
    near: Relevance = cosines >= np.partition(cosines, -neighbours, axis=1)[:, -neighbours, None]
    return near


def ranking_area(cosines: Matrix, relevant: Relevance) -> float:
    """Return the mean over rows of the area under the ROC curve; a row with all or none relevant counts 0.5.

    By mid-ranks (Mann and Whitney). Sorted rows stand end to end, 4 apart, so one binary search finds the ranks of the
    few relevant dialogues: five times faster than ranking all.
    """
    n = len(cosines)
    rows, columns = np.nonzero(relevant & ~np.eye(n, dtype=np.bool_))
    line = (np.sort(cosines, axis=1) + 4.0 * np.arange(n)[:, None]).ravel()
    values = cosines[rows, columns] + 4.0 * rows
    # Ranks in the row count from 1; the row's own dialogue comes first in the line and does not count.
    ranks = (np.searchsorted(line, values, "left") + np.searchsorted(line, values, "right") - 1) / 2 - n * rows
    hits = np.bincount(rows, minlength=n)
    pairs = hits * (n - 1 - hits)
    won = np.bincount(rows, weights=ranks, minlength=n) - hits * (hits + 1) / 2
    return float(np.divide(won, pairs, out=np.full(n, 0.5), where=pairs > 0).mean())


def spread(units: Matrix) -> float:
    """Return the mean squared distance from the centre, in [0, 1]."""
    return float(((units - units.mean(axis=0)) ** 2).sum(axis=1).mean())


def clusterings_of(units: Matrix, *, clusters: int, seed: int, runs: int) -> list[NDArray[np.int32]]:
    """Return `runs` clusterings; none if there are too few dialogues or different points for so many clusters."""
    if len(units) <= clusters or spread(units) < NO_SPREAD:
        return []
    clusterings = [kmeans(units, clusters, seed + run) for run in range(runs)]
    return clusterings if all(len(np.unique(clustering)) == clusters for clustering in clusterings) else []


def mean_agreement(clusterings: list[NDArray[np.int32]]) -> float:
    """Return the mean adjusted Rand index over all pairs of clusterings; 0 without a pair."""
    pairs = list(combinations(clusterings, 2))
    return float(np.mean([adjusted_rand_score(*pair) for pair in pairs])) if pairs else 0.0


def mean_silhouette(cosines: Matrix, clusterings: list[NDArray[np.int32]]) -> float:
    """Return the mean silhouette by cosine distance; 0 without clusterings."""
    distances = np.clip(1 - cosines, 0, 2)
    np.fill_diagonal(distances, 0)
    figures = [silhouette_score(distances, clustering, metric="precomputed") for clustering in clusterings]
    return float(np.mean(figures)) if figures else 0.0
