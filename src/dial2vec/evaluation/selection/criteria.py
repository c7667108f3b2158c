"""Label-free criteria: one number for how well a candidate's vectors serve topics, higher being better unless said.

Every criterion looks at directions only: vectors are brought to length 1 first. A row that is zero or not finite counts
as zero, so a candidate that diverged or collapsed gets a defined low figure and loses. Cosines of all pairs are held at
once: n dialogues need some 50 n² bytes, 0.45 GB for 3,000.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score, silhouette_score

from dial2vec.errors import Dial2vecError
from dial2vec.evaluation.clustering import kmeans
from dial2vec.evaluation.distribution import normalised
from dial2vec.evaluation.ranking import COSINE_STEP

# The three that choose. They fail on different candidates: a collapse onto few points pleases the first two and not the
# third, a space without clusters may please the third alone.
CHOOSING = ("stability", "silhouette", "cross_side")
RUNS = 4
# The silhouette hardly moves from run to run, so fewer runs are enough.
SILHOUETTE_RUNS = 2
# Mean squared distance from the centre below which unit vectors differ by rounding alone.
NO_SPREAD = 1e-10

Vectors = NDArray[np.float32]
Matrix = NDArray[np.float64]
Relevance = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Views:
    """The dev dialogues with two speakers or more, as one candidate encodes them.

    :param whole: [n, d] float32, whole dialogues.
    :param first: [n, d] float32, the first speaker's turns encoded apart.
    :param second: [n, d] float32, the turns of all other speakers encoded apart.
    :raises Dial2vecError: when the three do not have one shape [n, d].
    """

    whole: Vectors
    first: Vectors
    second: Vectors

    def __post_init__(self) -> None:
        """Check the shapes."""
        if not (self.whole.ndim == 2 and self.whole.shape == self.first.shape == self.second.shape):
            raise Dial2vecError(
                f"found whole dialogues {self.whole.shape}, first sides {self.first.shape} and second sides "
                f"{self.second.shape} among the views of a candidate; expected one shape [n, d]: encode the same "
                "dialogues three times, in the same order."
            )

    def __len__(self) -> int:
        """Return the number of dialogues."""
        return len(self.whole)

    def take(self, rows: NDArray[np.int64]) -> Views:
        """Return the views of the dialogues at these places."""
        return Views(self.whole[rows], self.first[rows], self.second[rows])


def n_clusters(n: int) -> int:
    """Return how many clusters are sought among n dialogues: one for 15 dialogues, from 2 to 20."""
    return max(2, min(20, n // 15))


def n_neighbours(n: int) -> int:
    """Return how many of n dialogues count as near to one: a tenth, from 1 to 15."""
    return max(1, min(15, n // 10))


def measure_criteria(views: Views, *, seed: int) -> dict[str, float]:
    """Return the criteria named in `CHOOSING`, from one set of clusters and cosines.

    :param views: of at least 3 dialogues.
    :param seed: run i of k-means is seeded by `seed + i`.
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
    and little else, so what both find near is near by topic: a space sharpened by the style of one side gains nothing.
    Equal cosines count half; a collapsed side gives 0.5.

    :param first: [n, d] float32, first speakers' sides.
    :param second: [n, d] float32, the other sides of the same dialogues.
    :param neighbours: how many are near, 1 to n - 1; all that are as near as the last of them count too.
    """
    one, other = cosines_of(finite_units(first)), cosines_of(finite_units(second))
    forth = ranking_area(one, nearest_rows(other, neighbours=neighbours))
    return (forth + ranking_area(other, nearest_rows(one, neighbours=neighbours))) / 2


def finite_units(vectors: NDArray[np.floating]) -> Matrix:
    """Return [n, d] float64 unit rows; a row with an undefined or infinite value counts as zero."""
    finite = np.isfinite(vectors).all(axis=1, keepdims=True)
    return normalised(np.where(finite, vectors, 0))


def rounded(cosines: Matrix) -> Matrix:
    """Return cosines in whole steps of `COSINE_STEP`: equal vectors tie exactly on every machine."""
    return np.rint(cosines / COSINE_STEP) * COSINE_STEP


def cosines_of(units: Matrix) -> Matrix:
    """Return [n, n] cosines with -2 on the diagonal: below all others, so that no dialogue is near to itself."""
    cosines = rounded(units @ units.T)
    np.fill_diagonal(cosines, -2)
    return cosines


def nearest_rows(cosines: Matrix, *, neighbours: int) -> Relevance:
    """Return [n, n], the nearest of each row with all that tie with the last: the order of the input never matters."""
    near: Relevance = cosines >= np.partition(cosines, -neighbours, axis=1)[:, -neighbours, None]
    return near


def ranking_area(cosines: Matrix, relevant: Relevance) -> float:
    """Return the mean over rows of the area under the ROC curve; a row with all or none relevant counts 0.5.

    By mid-ranks (Mann and Whitney). Rows are sorted and laid end to end, 4 apart, so that one binary search finds the
    ranks of the few relevant ones: five times faster than ranking all.
    """
    n = len(cosines)
    rows, columns = np.nonzero(relevant & ~np.eye(n, dtype=np.bool_))
    line = (np.sort(cosines, axis=1) + 4.0 * np.arange(n)[:, None]).ravel()
    values = cosines[rows, columns] + 4.0 * rows
    # Places in the line to ranks from 1 in the row: the row's own dialogue stands first and is not counted.
    ranks = (np.searchsorted(line, values, "left") + np.searchsorted(line, values, "right") - 1) / 2 - n * rows
    hits = np.bincount(rows, minlength=n)
    pairs = hits * (n - 1 - hits)
    won = np.bincount(rows, weights=ranks, minlength=n) - hits * (hits + 1) / 2
    return float(np.divide(won, pairs, out=np.full(n, 0.5), where=pairs > 0).mean())


def spread(units: Matrix) -> float:
    """Return the mean squared distance from the centre, in [0, 1]."""
    return float(((units - units.mean(axis=0)) ** 2).sum(axis=1).mean())


def clusterings_of(units: Matrix, *, clusters: int, seed: int, runs: int) -> list[NDArray[np.int32]]:
    """Return `runs` clusterings; none when there are too few dialogues or different points for so many clusters."""
    if len(units) <= clusters or spread(units) < NO_SPREAD:
        return []
    found = [kmeans(units, clusters, seed + run) for run in range(runs)]
    return found if all(len(np.unique(clustering)) == clusters for clustering in found) else []


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
