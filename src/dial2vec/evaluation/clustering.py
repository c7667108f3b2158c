"""Domain categorisation: do k-means clusters of the vectors match the labels?"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from dial2vec.evaluation.blocks import in_threads

# Way of clustering: "ours" (`runs` runs of one start each), "paper" (10 of those: Liu et al. 2022, table 2), "release"
# (`published_runs` runs, each the best of 10 starts, as the published code calls scikit-learn).
Way = Literal["ours", "paper", "release"]
PAPER_RUNS = 10
RELEASE: dict[str, Any] = {"n_init": 10, "max_iter": 500, "tol": 1e-5}


@dataclass(frozen=True, slots=True)
class ClusterScores:
    """Agreement of clusters with labels over several seeded runs of k-means; higher is better throughout.

    :param purity: mean over runs, in (0, 1].
    :param purity_sd: population standard deviation of purity over runs, at least 0.
    :param ari: mean adjusted Rand index, at most 1; 0 is chance.
    :param nmi: mean normalised mutual information (arithmetic normaliser), in [0, 1].
    :param accuracy: mean share of dialogues in the right cluster under the best one-to-one match, in (0, 1].
    :param purities: purity of each run, in the order of their seeds.
    :param clusters: cluster of each dialogue in each run, int32 [runs, n].
    """

    purity: float
    purity_sd: float
    ari: float
    nmi: float
    accuracy: float
    purities: tuple[float, ...]
    clusters: NDArray[np.int32] = field(compare=False)


def cluster_scores(
    vectors: np.ndarray,
    labels: Sequence[str | int],
    *,
    runs: int | None = 10,
    seed: int,
    way: Way = "ours",
    n_clusters: int | None = None,
) -> ClusterScores:
    """Cluster the raw (not normalised) vectors and compare the clusters with the labels.

    Source: Liu et al. 2022, section 4.1 (domain categorisation), with as many clusters as the data set has domains;
    its published code takes the labels of the file. Clusters from elsewhere: `compare_clusters`.

    :param vectors: [n, d] float32.
    :param labels: n labels.
    :param runs: starts of k-means++ for the way "ours", at least 1; purity moves by points from start to start. None
        means `published_runs`.
    :param seed: seed of the first run; run i takes `seed + i`.
    :param way: way of clustering, one of `Way`.
    :param n_clusters: number of clusters; None is the number of different labels. At most n are made.
    """
    n = min(n_clusters or len(set(labels)), len(labels))
    if way == "paper":
        runs = PAPER_RUNS
    elif way == "release" or runs is None:
        runs = published_runs(len(labels))
    seeds = [seed + run for run in range(runs)]
    options = RELEASE if way == "release" else {}
    return compare_clusters(np.stack(_runs(vectors, n, seeds, **options)), labels)


def published_runs(n: int) -> int:
    """Return the runs of k-means in the code of Liu et al. 2022: 10, one less per 500 dialogues, at least 3."""
    return max(3, 10 - n // 500)


def compare_clusters(clusters: np.ndarray, labels: Sequence[str | int]) -> ClusterScores:
    """Compare clusters with labels.

    :param clusters: cluster of each dialogue in each run, whole numbers from 0, [runs, n].
    :param labels: n labels.
    """
    truth = np.unique(np.asarray(labels), return_inverse=True)[1]
    runs = clusters.astype(np.int32)
    per_run = [
        (
            purity(truth, run),
            adjusted_rand_score(truth, run),
            normalized_mutual_info_score(truth, run),
            accuracy(truth, run),
        )
        for run in runs
    ]
    means = np.mean(per_run, axis=0)
    purities = tuple(float(figures[0]) for figures in per_run)
    return ClusterScores(
        purity=float(means[0]),
        purity_sd=float(np.std(purities)),
        ari=float(means[1]),
        nmi=float(means[2]),
        accuracy=float(means[3]),
        purities=purities,
        clusters=runs,
    )


def purity(labels: ArrayLike, clusters: ArrayLike) -> float:
    """Return the share of dialogues with the commonest label of their cluster, in (0, 1]; higher is better.

    It grows with the number of clusters and is 1 if each dialogue is its own cluster.
    """
    table = contingency_matrix(labels, clusters)
    return float(table.max(axis=0).sum() / table.sum())


def accuracy(labels: ArrayLike, clusters: ArrayLike) -> float:
    """Return the share of dialogues in the cluster that the best one-to-one match gives to their label, in (0, 1].

    The match is the Hungarian one; with fewer clusters than labels some labels get none.
    """
    table = contingency_matrix(labels, clusters)
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum() / table.sum())


def kmeans(vectors: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    """Return the cluster of each vector, [n] int32 in 0 to n_clusters - 1, by one seeded run of k-means++.

    :param vectors: [n, d] float32, n at least `n_clusters`.
    """
    return _runs(vectors, n_clusters, [seed])[0]


def _runs(
    vectors: np.ndarray,
    n_clusters: int,
    seeds: Sequence[int],
    *,
    n_init: int = 1,
    max_iter: int = 300,
    tol: float = 1e-4,
) -> list[np.ndarray]:
    def run(seed: int) -> np.ndarray:
        means = KMeans(n_clusters, init="k-means++", n_init=n_init, max_iter=max_iter, tol=tol, random_state=seed)
        clusters: np.ndarray = means.fit_predict(vectors)
        return clusters

    with warnings.catch_warnings():
        # Vectors that collapsed onto fewer points than labels get a poor score, not a warning.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return list(in_threads(run, seeds))
