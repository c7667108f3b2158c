"""Label-free criteria: one number for how well a candidate's vectors serve topics, higher being better unless said.

Every criterion looks at directions only: vectors are brought to length 1 first. A row that is zero or not finite counts
as zero, so a candidate that diverged or collapsed gets a defined low figure and loses. Cosines of all pairs are held at
once: n dialogues need some 50 n² bytes, 0.45 GB for 3,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, svdvals
from sklearn.feature_extraction.text import TfidfVectorizer
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
# Keeps the within-dialogue scatter invertible; in units of the mean eigenvalue of both scatters together.
LIDAR_RIDGE = 1e-4

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


def measure(views: Views, *, seed: int) -> dict[str, float]:
    """Return the criteria named in `CHOOSING`, from one set of clusters and cosines.

    :param views: of at least 3 dialogues.
    :param seed: run i of k-means is seeded by `seed + i`.
    """
    units = _units(views.whole)
    clusterings = _clusterings(units, clusters=n_clusters(len(views)), seed=seed, runs=RUNS)
    return {
        "stability": _mean_agreement(clusterings),
        "silhouette": _mean_silhouette(_cosines(units), clusterings[:SILHOUETTE_RUNS]),
        "cross_side": cross_side(views.first, views.second, neighbours=n_neighbours(len(views))),
    }


def measure_all(views: Views, *, start: Views, words: Relevance | None, seed: int) -> dict[str, float]:
    """Return every criterion by its name; for studies of which criterion tells what, not for choosing.

    :param views: of at least 3 dialogues.
    :param start: the views of the same dialogues by the encoder that training started from.
    :param words: what `lexical_neighbours` finds, [n, n]; None leaves out `lexical`.
    :param seed: seed of k-means.
    """
    clusters, neighbours = n_clusters(len(views)), n_neighbours(len(views))
    found = measure(views, seed=seed) | {
        "side_overlap": side_overlap(views.first, views.second, neighbours=neighbours),
        "own_other_side": own_other_side(views.first, views.second),
        "effective_rank": effective_rank(views.whole),
        "lidar": lidar(views.first, views.second),
        "cohesion": cohesion(views.whole, clusters=clusters, seed=seed),
        "start_agreement": start_agreement(views.whole, start.whole, neighbours=neighbours),
    }
    return found if words is None else found | {"lexical": lexical(views.whole, words)}


def stability(whole: Vectors, *, clusters: int, seed: int, runs: int = RUNS) -> float:
    """Return how far k-means finds the same clusters from different starts, at most 1; 0 is chance.

    The mean adjusted Rand index over pairs of runs. Vectors with fewer different points than clusters, and no more
    dialogues than clusters, give 0: agreeing on a single cluster is no merit. Blind to what the clusters mean.
    Source: stability of clusterings as a criterion, von Luxburg 2010; adjusted Rand index, Hubert and Arabie 1985.

    :param whole: [n, d] float32.
    :param runs: runs of k-means with one start each, at least 2; run i is seeded by `seed + i`.
    """
    return _mean_agreement(_clusterings(_units(whole), clusters=clusters, seed=seed, runs=runs))


def silhouette(whole: Vectors, *, clusters: int, seed: int) -> float:
    """Return how much nearer dialogues are to their own cluster than to the next, in [-1, 1]; higher is better.

    The mean silhouette by cosine distance over two runs of k-means. 0 where `stability` has no clusters either. It is
    highest for a space shrunk onto few directions, so it must not decide alone. Source: Rousseeuw 1987.

    :param whole: [n, d] float32.
    """
    units = _units(whole)
    return _mean_silhouette(_cosines(units), _clusterings(units, clusters=clusters, seed=seed, runs=SILHOUETTE_RUNS))


def cohesion(whole: Vectors, *, clusters: int, seed: int) -> float:
    """Return the mean cosine within the clusters of k-means minus that between them, in [-2, 2]; higher is better.

    Pairs of different dialogues count once. 0 where `stability` has no clusters, or there is no pair of either kind.

    :param whole: [n, d] float32.
    """
    units = _units(whole)
    found = _clusterings(units, clusters=clusters, seed=seed, runs=1)
    if not found:
        return 0.0
    cosines = _cosines(units)[np.triu_indices(len(units), k=1)]
    within = (found[0][:, None] == found[0])[np.triu_indices(len(units), k=1)]
    return float(cosines[within].mean() - cosines[~within].mean()) if within.any() and not within.all() else 0.0


def cross_side(first: Vectors, second: Vectors, *, neighbours: int) -> float:
    """Return how well either side's cosines rank the nearest dialogues by the other side, in [0, 1]; 0.5 is chance.

    The area under the ROC curve, averaged over dialogues and both directions. Both sides of a dialogue share its topic
    and little else, so what both find near is near by topic: a space sharpened by the style of one side gains nothing.
    Equal cosines count half; a collapsed side gives 0.5.

    :param first: [n, d] float32, first speakers' sides.
    :param second: [n, d] float32, the other sides of the same dialogues.
    :param neighbours: how many are near, 1 to n - 1; all that are as near as the last of them count too.
    """
    one, other = _cosines(_units(first)), _cosines(_units(second))
    forth = _ranking_area(one, _nearest(other, neighbours=neighbours))
    return (forth + _ranking_area(other, _nearest(one, neighbours=neighbours))) / 2


def side_overlap(first: Vectors, second: Vectors, *, neighbours: int) -> float:
    """Return the share of the nearest dialogues that both sides have in common, in [0, 1]; higher is better.

    Chance is `neighbours / (n - 1)`, and collapsed sides give exactly that: where more dialogues tie than can be near,
    each counts as often as a random choice among them would find it.

    :param first: [n, d] float32.
    :param second: [n, d] float32.
    :param neighbours: 1 to n - 1.
    """
    one, other = (_nearest(_cosines(_units(side)), neighbours=neighbours) for side in (first, second))
    return float((neighbours * (one & other).sum(axis=1) / (one.sum(axis=1) * other.sum(axis=1))).mean())


def own_other_side(first: Vectors, second: Vectors) -> float:
    """Return the share of dialogues whose nearest second side is their own, in [0, 1]; ties share the point.

    This is the self-guided task itself. Do not choose by it: two dialogues of one topic are what it must tell apart,
    and candidates that got better at it got worse at topics on some corpora. Collapsed sides give 1/n.

    :param first: [n, d] float32.
    :param second: [n, d] float32.
    """
    cosines = _rounded(_units(first) @ _units(second).T)
    best = cosines.max(axis=1)
    return float(((cosines.diagonal() == best) / (cosines == best[:, None]).sum(axis=1)).mean())


def lexical(whole: Vectors, words: Relevance) -> float:
    """Return how well the cosines rank the dialogues that share words, in [0, 1]; 0.5 is chance, collapse gives 0.5.

    High for any sensible encoder, highest for one that only counts words: a warning when it falls, not a goal.

    :param whole: [n, d] float32.
    :param words: [n, n], what `lexical_neighbours` finds for the same dialogues.
    """
    return _ranking_area(_cosines(_units(whole)), words)


def lexical_neighbours(texts: Sequence[str], *, neighbours: int) -> Relevance:
    """Return which dialogues are nearest to each by TF-IDF, [n, n]; a dialogue is no neighbour of itself.

    Words of one dialogue and words of more than 30 % of the dialogues are left out. Dialogues that share no other word
    are not near, so a row may hold fewer than `neighbours`, or none.

    :param texts: n whole dialogues.
    :param neighbours: 1 to n - 1.
    """
    try:
        counted = TfidfVectorizer(sublinear_tf=True, min_df=2, max_df=0.3).fit_transform(texts)
    except ValueError:
        # No word is left: all are in one dialogue or in most, or there are too few dialogues for the limits.
        return np.zeros((len(texts), len(texts)), dtype=np.bool_)
    cosines = _cosines(counted.toarray())
    near: Relevance = _nearest(cosines, neighbours=neighbours) & (cosines > 0)
    return near


def start_agreement(whole: Vectors, start: Vectors, *, neighbours: int) -> float:
    """Return how well the cosines rank the nearest dialogues by the start, in [0, 1]; 1 for the start itself.

    How much of the start's neighbourhoods is kept: a guard against ruin, not a goal. Collapse gives 0.5.

    :param whole: [n, d] float32.
    :param start: [n, e] float32, the same dialogues by the encoder that training started from.
    :param neighbours: 1 to n - 1.
    """
    return _ranking_area(_cosines(_units(whole)), _nearest(_cosines(_units(start)), neighbours=neighbours))


def effective_rank(whole: Vectors) -> float:
    """Return how many directions the vectors use, from 1 to min(n - 1, d): exp of the entropy of singular values.

    Of unit vectors about their mean; collapse gives 1. Says little about topics: noise has the highest rank.
    Source: RankMe, Garrido et al. 2023 (there neither centred nor of unit length).

    :param whole: [n, d] float32.
    """
    units = _units(whole)
    if _spread(units) < NO_SPREAD:
        return 1.0
    return _exp_entropy(svdvals(units - units.mean(axis=0)))


def lidar(first: Vectors, second: Vectors) -> float:
    """Return how many directions tell dialogues apart beyond what tells the two sides apart, from 1 to min(n - 1, d).

    The effective rank of `W^-1/2 B W^-1/2` with B the scatter of the dialogues' means and W the scatter of the sides
    about them. As blind to topics as `own_other_side`, whose separation it measures; collapse gives 1.
    Source: LiDAR, Thilak et al. 2023, with the two sides as the views of one class.

    :param first: [n, d] float32.
    :param second: [n, d] float32.
    """
    one, other = _units(first), _units(second)
    means = (one + other) / 2
    if _spread(means) < NO_SPREAD:
        return 1.0
    about = means - means.mean(axis=0)
    between = about.T @ about / len(about)
    # Each side lies half the difference from the mean; two sides, one degree of freedom.
    within = (one - other).T @ (one - other) / (2 * len(one))
    d = len(between)
    ridge = LIDAR_RIDGE * (np.trace(between) + np.trace(within)) / d
    return _exp_entropy(np.maximum(eigh(between, within + ridge * np.eye(d), eigvals_only=True), 0))


def _units(vectors: NDArray[np.floating]) -> Matrix:
    finite = np.isfinite(vectors).all(axis=1, keepdims=True)
    return normalised(np.where(finite, vectors, 0))


def _rounded(cosines: Matrix) -> Matrix:
    # In whole steps equal vectors tie exactly, in whatever order the machine adds products.
    return np.rint(cosines / COSINE_STEP) * COSINE_STEP


def _cosines(units: Matrix) -> Matrix:
    """Return [n, n] cosines with -2 on the diagonal: below all others, so that no dialogue is near to itself."""
    cosines = _rounded(units @ units.T)
    np.fill_diagonal(cosines, -2)
    return cosines


def _nearest(cosines: Matrix, *, neighbours: int) -> Relevance:
    """Return [n, n], the nearest of each row with all that tie with the last: the order of the input never matters."""
    near: Relevance = cosines >= np.partition(cosines, -neighbours, axis=1)[:, -neighbours, None]
    return near


def _ranking_area(cosines: Matrix, relevant: Relevance) -> float:
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


def _spread(units: Matrix) -> float:
    """Return the mean squared distance from the centre, in [0, 1]."""
    return float(((units - units.mean(axis=0)) ** 2).sum(axis=1).mean())


def _clusterings(units: Matrix, *, clusters: int, seed: int, runs: int) -> list[NDArray[np.int32]]:
    """Return `runs` clusterings; none when there are too few dialogues or different points for so many clusters."""
    if len(units) <= clusters or _spread(units) < NO_SPREAD:
        return []
    found = [kmeans(units, clusters, seed + run) for run in range(runs)]
    return found if all(len(np.unique(clustering)) == clusters for clustering in found) else []


def _mean_agreement(clusterings: list[NDArray[np.int32]]) -> float:
    pairs = list(combinations(clusterings, 2))
    return float(np.mean([adjusted_rand_score(*pair) for pair in pairs])) if pairs else 0.0


def _mean_silhouette(cosines: Matrix, clusterings: list[NDArray[np.int32]]) -> float:
    distances = np.clip(1 - cosines, 0, 2)
    np.fill_diagonal(distances, 0)
    figures = [silhouette_score(distances, clustering, metric="precomputed") for clustering in clusterings]
    return float(np.mean(figures)) if figures else 0.0


def _exp_entropy(values: Matrix) -> float:
    shares = values[values > 0] / values.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))
