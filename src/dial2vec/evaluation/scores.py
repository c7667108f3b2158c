"""All figures of one set of vectors, on the scale of the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dial2vec.errors import Dial2vecError
from dial2vec.evaluation.clustering import ClusterScores, Way, cluster_scores, compare_clusters
from dial2vec.evaluation.distribution import adjusted_alignment, alignment, uniformity_of
from dial2vec.evaluation.ranking import rank_others
from dial2vec.evaluation.relatedness import spearman_ceiling
from dial2vec.evaluation.retrieval import RetrievalScores, retrieval_of


@dataclass(frozen=True, slots=True)
class TaskScores:
    """Scores of one set of vectors on the three tasks, also per dialogue.

    :param relatedness: Spearman's correlation of each dialogue as a query, float64 [n].
    :param uniformity: `distribution.uniformity`, here from the cosines of the other tasks.
    """

    clusters: ClusterScores
    relatedness: NDArray[np.float64]
    retrieval: RetrievalScores
    uniformity: float


def task_scores(
    vectors: np.ndarray,
    labels: Sequence[str | int],
    *,
    runs: int | None,
    seed: int,
    clusters: np.ndarray | None = None,
    way: Way = "ours",
    n_clusters: int | None = None,
) -> TaskScores:
    """Score vectors on the three tasks; parameters and errors are those of `score`.

    :param clusters: cluster of each dialogue, [n], if the system makes its own; None means k-means.
    """
    _require_finite(vectors)
    rankings = rank_others(vectors, labels)
    return TaskScores(
        clusters=cluster_scores(vectors, labels, runs=runs, seed=seed, way=way, n_clusters=n_clusters)
        if clusters is None
        else compare_clusters(clusters[None], labels),
        relatedness=rankings.correlations,
        retrieval=retrieval_of(rankings),
        uniformity=uniformity_of(rankings.closeness),
    )


def score(
    vectors: np.ndarray,
    labels: Sequence[str | int],
    *,
    runs: int | None,
    seed: int,
    way: Way = "ours",
    n_clusters: int | None = None,
) -> dict[str, float]:
    """Return every figure by its name, rounded to 4 decimals.

    On the scale 0 to 100: purity, purity_sd (population standard deviation over the runs of k-means), spearman,
    spearman_ceiling, map, mrr, ari, nmi, accuracy. Raw: alignment, adjusted_alignment, uniformity.

    :param vectors: [n, d] float32, finite; a zero vector has cosine 0 to everything.
    :param labels: n labels, at least two different ones, one of them at least twice.
    :param runs: runs of k-means, at least 1; None as in `cluster_scores`.
    :param seed: seed of the first run; run i takes `seed + i`.
    :param way: way of k-means, as in `cluster_scores`.
    :param n_clusters: number of clusters, as in `cluster_scores`.
    :raises Dial2vecError: if a vector is not finite.
    """
    scores = task_scores(vectors, labels, runs=runs, seed=seed, way=way, n_clusters=n_clusters)
    return figures(scores, vectors, labels)


def figures(scores: TaskScores, vectors: np.ndarray, labels: Sequence[str | int]) -> dict[str, float]:
    """Return the figures of `score` from task scores computed before."""
    clusters, retrieval = scores.clusters, scores.retrieval
    shares = {
        "purity": clusters.purity,
        "purity_sd": clusters.purity_sd,
        "spearman": float(scores.relatedness.mean()),
        "spearman_ceiling": spearman_ceiling(labels),
        "map": retrieval.map,
        "mrr": retrieval.mrr,
        "ari": clusters.ari,
        "nmi": clusters.nmi,
        "accuracy": clusters.accuracy,
    }
    raw = {
        "alignment": alignment(vectors, labels),
        "adjusted_alignment": adjusted_alignment(vectors, labels),
        "uniformity": scores.uniformity,
    }
    return {name: round(100 * share, 4) for name, share in shares.items()} | {
        name: round(figure, 4) for name, figure in raw.items()
    }


def _require_finite(vectors: np.ndarray) -> None:
    broken = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(broken):
        raise Dial2vecError(
            f"{len(broken)} of {len(vectors)} vectors hold NaN or infinity, first in row {broken[0]}; expected finite"
            " numbers. The training diverged or the file is damaged: lower the learning rate or encode again."
        )
