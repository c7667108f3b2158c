"""How far figures would move if other dialogues of the same kind had been at hand: bootstrap intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.cluster import contingency_matrix

from dial2vec.evaluation.scores import Judged

Interval = tuple[float, float]


def intervals(
    judged: Judged, labels: Sequence[str | int], *, draws: int = 1000, seed: int, coverage: float = 0.95
) -> dict[str, Interval]:
    """Return the percentile interval of purity, spearman and map, in points, rounded to 4 decimals.

    n dialogues are drawn with replacement, `draws` times. Clusters, the commonest label of each, and what each query
    ranks stay those of all dialogues: so each figure is a mean over dialogues, and the interval is about which of them
    one has, not about seeds of training or of k-means. (Looking for the commonest label anew in every draw would raise
    purity in all of them.) Source: Efron 1979.

    :param judged: by `evaluation.scores.judge`.
    :param labels: the n labels that it was judged by.
    :param draws: at least 1.
    :param coverage: share of the draws between the two ends, in (0, 1).
    """
    n, truth = len(labels), np.unique(np.asarray(labels), return_inverse=True)[1]
    weights = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=draws).astype(np.float64)
    queries = ~np.isnan(judged.retrieval.precisions)
    drawn = {
        "purity": weights @ _in_place(truth, judged.clusters.clusters) / n,
        "spearman": weights @ judged.relatedness / n,
    }
    if queries.any():
        times = weights[:, queries]
        # Of two dialogues that are queries a draw can hold neither; the mean of nothing is left out.
        some = times.sum(axis=1) > 0
        drawn["map"] = times[some] @ judged.retrieval.precisions[queries] / times[some].sum(axis=1)
    ends = [50 * (1 - coverage), 50 * (1 + coverage)]
    return {name: _points(np.percentile(found, ends)) for name, found in drawn.items()}


def _in_place(truth: NDArray[np.int64], clusters: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the share of the runs of k-means in which a dialogue has the commonest label of its cluster, [n]."""
    found = np.zeros(len(truth))
    for run in clusters:
        found += contingency_matrix(truth, run).argmax(axis=0)[np.unique(run, return_inverse=True)[1]] == truth
    return found / len(clusters)


def _points(ends: NDArray[np.float64]) -> Interval:
    low, high = (round(100 * float(end), 4) for end in ends)
    return low, high
