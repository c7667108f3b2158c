"""Bootstrap intervals: how far figures would move with other dialogues of the same kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dial2vec.evaluation.scores import TaskScores

Interval = tuple[float, float]
DRAWS = 1000
# Draws held at a time, so that 100,000 dialogues take less than a gigabyte.
DRAWS_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Contributions:
    """Shares of n dialogues in the figures of one encoder: each figure is 100 times the mean of its row.

    :param purity: share of k-means runs in which the dialogue has the commonest label of its cluster, float64 [n].
    :param spearman: Spearman's correlation with the dialogue as query, float64 [n].
    :param map: average precision with the dialogue as query, float64 [n]; NaN if no other has its label.
    """

    purity: NDArray[np.float64]
    spearman: NDArray[np.float64]
    map: NDArray[np.float64]

    def rows(self) -> dict[str, NDArray[np.float64]]:
        """Return the rows by the names of their figures."""
        return {"purity": self.purity, "spearman": self.spearman, "map": self.map}


@dataclass(frozen=True, slots=True)
class Gain:
    """Gain of one encoder over another on the same dialogues, in points.

    :param points: difference of the two figures.
    :param low: lower end of the interval.
    :param high: upper end of the interval.
    """

    points: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.points:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"


def contributions(scores: TaskScores, labels: Sequence[str | int]) -> Contributions:
    """Return the share of each dialogue in the figures.

    :param scores: result of `evaluation.scores.task_scores`.
    :param labels: the n labels of that call.
    """
    truth = np.unique(np.asarray(labels), return_inverse=True)[1]
    return Contributions(
        purity=_in_place(truth, scores.clusters.clusters),
        spearman=scores.relatedness,
        map=scores.retrieval.precisions,
    )


def intervals(of: Contributions, *, seed: int) -> dict[str, Interval]:
    """Return the 95 % percentile interval of purity, spearman and map, in points, rounded to 4 decimals.

    n dialogues are drawn with replacement, `DRAWS` times. Clusters, their commonest labels and the rankings stay those
    of all dialogues, so each figure is a mean over dialogues. The interval covers the choice of dialogues, not seeds of
    training or k-means. (A new commonest label in each draw would always raise purity.) A figure without any
    dialogue is left out. Source: Efron 1979.
    """
    return _percentiles(of.rows(), seed=seed)


def gains(ours: Contributions, theirs: Contributions, *, seed: int, coverage: float = 0.95) -> dict[str, Gain]:
    """Return the gain of `ours` over `theirs` in each figure, with the interval of the paired bootstrap.

    Every draw takes the same dialogues for both encoders. A dialogue that is hard for both moves the difference little,
    so the interval is narrower than those of the two figures. Source: Efron & Tibshirani 1993, chapter 8; pairing:
    Berg-Kirkpatrick et al. 2012.

    :param ours: contributions of n dialogues.
    :param theirs: contributions of the same n dialogues in the same order.
    :param coverage: share of the draws between the two ends, in (0, 1).
    """
    rows = {name: row - theirs.rows()[name] for name, row in ours.rows().items()}
    both_ends = _percentiles(rows, seed=seed, coverage=coverage)
    return {name: Gain(round(100 * float(np.nanmean(rows[name])), 4), *ends) for name, ends in both_ends.items()}


def mean_gain(differences: NDArray[np.float64], *, seed: int) -> Gain:
    """Return 100 times the mean of paired differences, with its bootstrap interval, as `gains` does for figures.

    :param differences: difference of the two encoders for each dialogue, float64 [n], n at least 1.
    """
    ends = _percentiles({"mean": differences}, seed=seed)["mean"]
    return Gain(round(100 * float(differences.mean()), 4), *ends)


def _percentiles(rows: Mapping[str, NDArray[np.float64]], *, seed: int, coverage: float = 0.95) -> dict[str, Interval]:
    ends = [50 * (1 - coverage), 50 * (1 + coverage)]
    return {name: _points(np.percentile(means, ends)) for name, means in _means(rows, seed).items() if means.size}


def _means(rows: Mapping[str, NDArray[np.float64]], seed: int) -> dict[str, NDArray[np.float64]]:
    """Return the means of every row over the draws; a draw with only NaN in a row is left out for that row."""
    n = len(next(iter(rows.values())))
    rng = np.random.default_rng(seed)
    values = np.stack([np.nan_to_num(row) for row in rows.values()], axis=1)
    counted = np.stack([~np.isnan(row) for row in rows.values()], axis=1).astype(np.float64)
    sums, counts = [], []
    for first in range(0, DRAWS, DRAWS_AT_ONCE):
        weights = rng.multinomial(n, np.full(n, 1 / n), size=min(DRAWS_AT_ONCE, DRAWS - first)).astype(np.float64)
        sums.append(weights @ values)
        counts.append(weights @ counted)
    total, count = np.concatenate(sums), np.concatenate(counts)
    means = {}
    for place, name in enumerate(rows):
        some = count[:, place] > 0
        means[name] = total[some, place] / count[some, place]
    return means


def _in_place(truth: NDArray[np.int64], clusters: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the share of k-means runs in which a dialogue has the commonest label of its cluster, [n]."""
    # The registry imports this module too, and a student's server has no scikit-learn.
    from sklearn.metrics.cluster import contingency_matrix

    hits = np.zeros(len(truth))
    for run in clusters:
        hits += contingency_matrix(truth, run).argmax(axis=0)[np.unique(run, return_inverse=True)[1]] == truth
    return hits / len(clusters)


def _points(ends: NDArray[np.float64]) -> Interval:
    low, high = (round(100 * float(end), 4) for end in ends)
    return low, high
