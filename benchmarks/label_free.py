"""Label-free criteria that a study compared with those that choose (`dial2vec.evaluation.selection.criteria`).

Each returns one number for how well a candidate's vectors serve topics; higher is better unless the docstring says
otherwise. What the study found: docs/log.md. The study itself: criteria.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import eigh, svdvals
from sklearn.feature_extraction.text import TfidfVectorizer

from dial2vec.evaluation.selection.criteria import (
    NO_SPREAD,
    RUNS,
    SILHOUETTE_RUNS,
    Matrix,
    Relevance,
    Vectors,
    Views,
    clusterings_of,
    cosines_of,
    finite_units,
    mean_agreement,
    mean_silhouette,
    measure_criteria,
    n_clusters,
    n_neighbours,
    nearest_rows,
    ranking_area,
    rounded,
    spread,
)

# Keeps the within-dialogue scatter invertible; in units of the mean eigenvalue of both scatters together.
LIDAR_RIDGE = 1e-4


def measure_all(views: Views, *, start: Views, words: Relevance | None, seed: int) -> dict[str, float]:
    """Return every criterion by its name; for studies of which criterion tells what, not for choosing.

    :param views: of at least 3 dialogues.
    :param start: the views of the same dialogues by the encoder that training started from.
    :param words: what `lexical_neighbours` finds, [n, n]; None leaves out `lexical`.
    :param seed: seed of k-means.
    """
    clusters, neighbours = n_clusters(len(views)), n_neighbours(len(views))
    found = measure_criteria(views, seed=seed) | {
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
    return mean_agreement(clusterings_of(finite_units(whole), clusters=clusters, seed=seed, runs=runs))


def silhouette(whole: Vectors, *, clusters: int, seed: int) -> float:
    """Return how much nearer dialogues are to their own cluster than to the next, in [-1, 1]; higher is better.

    The mean silhouette by cosine distance over two runs of k-means. 0 where `stability` has no clusters either. It is
    highest for a space shrunk onto few directions, so it must not decide alone. Source: Rousseeuw 1987.

    :param whole: [n, d] float32.
    """
    units = finite_units(whole)
    return mean_silhouette(cosines_of(units), clusterings_of(units, clusters=clusters, seed=seed, runs=SILHOUETTE_RUNS))


def cohesion(whole: Vectors, *, clusters: int, seed: int) -> float:
    """Return the mean cosine within the clusters of k-means minus that between them, in [-2, 2]; higher is better.

    Pairs of different dialogues count once. 0 where `stability` has no clusters, or there is no pair of either kind.

    :param whole: [n, d] float32.
    """
    units = finite_units(whole)
    found = clusterings_of(units, clusters=clusters, seed=seed, runs=1)
    if not found:
        return 0.0
    cosines = cosines_of(units)[np.triu_indices(len(units), k=1)]
    within = (found[0][:, None] == found[0])[np.triu_indices(len(units), k=1)]
    return float(cosines[within].mean() - cosines[~within].mean()) if within.any() and not within.all() else 0.0


def side_overlap(first: Vectors, second: Vectors, *, neighbours: int) -> float:
    """Return the share of the nearest dialogues that both sides have in common, in [0, 1]; higher is better.

    Chance is `neighbours / (n - 1)`, and collapsed sides give exactly that: where more dialogues tie than can be near,
    each counts as often as a random choice among them would find it.

    :param first: [n, d] float32.
    :param second: [n, d] float32.
    :param neighbours: 1 to n - 1.
    """
    one, other = (nearest_rows(cosines_of(finite_units(side)), neighbours=neighbours) for side in (first, second))
    return float((neighbours * (one & other).sum(axis=1) / (one.sum(axis=1) * other.sum(axis=1))).mean())


def own_other_side(first: Vectors, second: Vectors) -> float:
    """Return the share of dialogues whose nearest second side is their own, in [0, 1]; ties share the point.

    This is the self-guided task itself. Do not choose by it: two dialogues of one topic are what it must tell apart,
    and candidates that got better at it got worse at topics on some corpora. Collapsed sides give 1/n.

    :param first: [n, d] float32.
    :param second: [n, d] float32.
    """
    cosines = rounded(finite_units(first) @ finite_units(second).T)
    best = cosines.max(axis=1)
    return float(((cosines.diagonal() == best) / (cosines == best[:, None]).sum(axis=1)).mean())


def lexical(whole: Vectors, words: Relevance) -> float:
    """Return how well the cosines rank the dialogues that share words, in [0, 1]; 0.5 is chance, collapse gives 0.5.

    High for any sensible encoder, highest for one that only counts words: a warning when it falls, not a goal.

    :param whole: [n, d] float32.
    :param words: [n, n], what `lexical_neighbours` finds for the same dialogues.
    """
    return ranking_area(cosines_of(finite_units(whole)), words)


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
    cosines = cosines_of(counted.toarray())
    near: Relevance = nearest_rows(cosines, neighbours=neighbours) & (cosines > 0)
    return near


def start_agreement(whole: Vectors, start: Vectors, *, neighbours: int) -> float:
    """Return how well the cosines rank the nearest dialogues by the start, in [0, 1]; 1 for the start itself.

    How much of the start's neighbourhoods is kept: a guard against ruin, not a goal. Collapse gives 0.5.

    :param whole: [n, d] float32.
    :param start: [n, e] float32, the same dialogues by the encoder that training started from.
    :param neighbours: 1 to n - 1.
    """
    return ranking_area(
        cosines_of(finite_units(whole)), nearest_rows(cosines_of(finite_units(start)), neighbours=neighbours)
    )


def effective_rank(whole: Vectors) -> float:
    """Return how many directions the vectors use, from 1 to min(n - 1, d): exp of the entropy of singular values.

    Of unit vectors about their mean; collapse gives 1. Says little about topics: noise has the highest rank.
    Source: RankMe, Garrido et al. 2023 (there neither centred nor of unit length).

    :param whole: [n, d] float32.
    """
    units = finite_units(whole)
    if spread(units) < NO_SPREAD:
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
    one, other = finite_units(first), finite_units(second)
    means = (one + other) / 2
    if spread(means) < NO_SPREAD:
        return 1.0
    about = means - means.mean(axis=0)
    between = about.T @ about / len(about)
    # Each side lies half the difference from the mean; two sides, one degree of freedom.
    within = (one - other).T @ (one - other) / (2 * len(one))
    d = len(between)
    ridge = LIDAR_RIDGE * (np.trace(between) + np.trace(within)) / d
    return _exp_entropy(np.maximum(eigh(between, within + ridge * np.eye(d), eigvals_only=True), 0))


def _exp_entropy(values: Matrix) -> float:
    shares = values[values > 0] / values.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))
