"""How far figures would move if other dialogues of the same kind had been at hand: bootstrap intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from dial2vec.evaluation.scores import Judged

Interval = tuple[float, float]


def intervals(
    judged: Judged, labels: Sequence[str | int], *, draws: int = 1000, seed: int, coverage: float = 0.95
) -> dict[str, Interval]:
    """Return the percentile interval of purity, spearman and map, in points, rounded to 4 decimals.

    n dialogues are drawn with replacement, `draws` times. A dialogue that is drawn twice counts twice in its cluster,
    and twice as a query; clusters and what each query ranks stay those of all dialogues. So the interval is about
    which dialogues one has, not about seeds of training or of k-means. Source: Efron 1979.

    :param judged: by `evaluation.scores.judge`.
    :param labels: the n labels that it was judged by.
    :param draws: at least 1.
    :param coverage: share of the draws between the two ends, in (0, 1).
    """
    n = len(labels)
    weights = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=draws).astype(np.float64)
    queries = ~np.isnan(judged.retrieval.precisions)
    drawn = {
        "purity": _purities(weights, np.unique(np.asarray(labels), return_inverse=True)[1], judged.clusters.clusters),
        "spearman": weights @ judged.relatedness / n,
    }
    if queries.any():
        times = weights[:, queries]
        # Of two dialogues that are queries a draw can hold neither; the mean of nothing is left out.
        some = times.sum(axis=1) > 0
        drawn["map"] = times[some] @ judged.retrieval.precisions[queries] / times[some].sum(axis=1)
    ends = [50 * (1 - coverage), 50 * (1 + coverage)]
    return {name: _points(np.percentile(found, ends)) for name, found in drawn.items()}


def _purities(
    weights: NDArray[np.float64], truth: NDArray[np.int64], clusters: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return the purity of each draw, [draws], as the mean over the runs of k-means."""
    n, n_labels = len(truth), int(truth.max()) + 1
    total = np.zeros(len(weights))
    for run in clusters:
        n_clusters = int(run.max()) + 1
        cell = csr_matrix((np.ones(n), (np.arange(n), run * n_labels + truth)), shape=(n, n_clusters * n_labels))
        counts = (cell.T @ weights.T).T.reshape(len(weights), n_clusters, n_labels)
        total += counts.max(axis=2).sum(axis=1) / n
    return total / len(clusters)


def _points(ends: NDArray[np.float64]) -> Interval:
    low, high = (round(100 * float(end), 4) for end in ends)
    return low, high
