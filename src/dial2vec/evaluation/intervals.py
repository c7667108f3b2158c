"""How far figures would move if other dialogues of the same kind had been at hand: bootstrap intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.cluster import contingency_matrix

from dial2vec.evaluation.scores import TaskScores

Interval = tuple[float, float]
DRAWS = 1000
# Weights of so many dialogues at a time, so that a hundred thousand of them take no gigabyte.
DRAWS_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Contributions:
    """What each of n dialogues adds to the figures of one encoder: every figure is 100 times the mean of its row.

    :param purity: share of the runs of k-means in which it has the commonest label of its cluster, float64 [n].
    :param spearman: Spearman's correlation with it as the query, float64 [n].
    :param map: average precision with it as the query, float64 [n]; NaN where no other has its label.
    """

    purity: NDArray[np.float64]
    spearman: NDArray[np.float64]
    map: NDArray[np.float64]

    def rows(self) -> dict[str, NDArray[np.float64]]:
        """Return the rows by the names of their figures."""
        return {"purity": self.purity, "spearman": self.spearman, "map": self.map}


@dataclass(frozen=True, slots=True)
class Gain:
    """By how much one encoder is above another on the same dialogues, in points.

    :param points: difference of the two figures.
    :param low: lower end of its interval.
    :param high: upper end.
    """

    points: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.points:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"


def contributions(judged: TaskScores, labels: Sequence[str | int]) -> Contributions:
    """Return what each dialogue adds to the figures.

    :param judged: by `evaluation.scores.task_scores`.
    :param labels: the n labels that it was judged by.
    """
    truth = np.unique(np.asarray(labels), return_inverse=True)[1]
    return Contributions(
        purity=_in_place(truth, judged.clusters.clusters),
        spearman=judged.relatedness,
        map=judged.retrieval.precisions,
    )


def intervals(of: Contributions, *, draws: int = DRAWS, seed: int, coverage: float = 0.95) -> dict[str, Interval]:
    """Return the percentile interval of purity, spearman and map, in points, rounded to 4 decimals.

    n dialogues are drawn with replacement, `draws` times. Clusters, the commonest label of each, and what each query
    ranks stay those of all dialogues: so each figure is a mean over dialogues, and the interval is about which of them
    one has, not about seeds of training or of k-means. (Looking for the commonest label anew in every draw would raise
    purity in all of them.) A figure without any dialogue is left out. Source: Efron 1979.

    :param draws: at least 1.
    :param coverage: share of the draws between the two ends, in (0, 1).
    """
    return _percentiles(of.rows(), draws=draws, seed=seed, coverage=coverage)


def gains(
    ours: Contributions, theirs: Contributions, *, draws: int = DRAWS, seed: int, coverage: float = 0.95
) -> dict[str, Gain]:
    """Return by how much `ours` is above `theirs` in each figure, with the interval of the paired bootstrap.

    Both encoders are measured on the same dialogues, and every draw takes the same dialogues for both: what is hard for
    both of them moves the difference little, so the interval is narrower than those of the two figures apart. Source:
    Efron & Tibshirani 1993, chapter 8; for the pairing, Berg-Kirkpatrick et al. 2012.

    :param ours: of n dialogues.
    :param theirs: of the same n dialogues in the same order.
    :param draws: at least 1.
    :param coverage: share of the draws between the two ends, in (0, 1).
    """
    rows = {name: row - theirs.rows()[name] for name, row in ours.rows().items()}
    found = _percentiles(rows, draws=draws, seed=seed, coverage=coverage)
    return {name: Gain(round(100 * float(np.nanmean(rows[name])), 4), *ends) for name, ends in found.items()}


def _percentiles(
    rows: Mapping[str, NDArray[np.float64]], *, draws: int, seed: int, coverage: float
) -> dict[str, Interval]:
    ends = [50 * (1 - coverage), 50 * (1 + coverage)]
    return {
        name: _points(np.percentile(found, ends)) for name, found in _means(rows, draws, seed).items() if found.size
    }


def _means(rows: Mapping[str, NDArray[np.float64]], draws: int, seed: int) -> dict[str, NDArray[np.float64]]:
    """Return the mean of every row in each draw; a draw with nothing but NaN of a row is left out there."""
    n = len(next(iter(rows.values())))
    rng = np.random.default_rng(seed)
    values = np.stack([np.nan_to_num(row) for row in rows.values()], axis=1)
    counted = np.stack([~np.isnan(row) for row in rows.values()], axis=1).astype(np.float64)
    sums, counts = [], []
    for first in range(0, draws, DRAWS_AT_ONCE):
        weights = rng.multinomial(n, np.full(n, 1 / n), size=min(DRAWS_AT_ONCE, draws - first)).astype(np.float64)
        sums.append(weights @ values)
        counts.append(weights @ counted)
    total, count = np.concatenate(sums), np.concatenate(counts)
    found = {}
    for at, name in enumerate(rows):
        some = count[:, at] > 0
        found[name] = total[some, at] / count[some, at]
    return found


def _in_place(truth: NDArray[np.int64], clusters: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the share of the runs of k-means in which a dialogue has the commonest label of its cluster, [n]."""
    found = np.zeros(len(truth))
    for run in clusters:
        found += contingency_matrix(truth, run).argmax(axis=0)[np.unique(run, return_inverse=True)[1]] == truth
    return found / len(clusters)


def _points(ends: NDArray[np.float64]) -> Interval:
    low, high = (round(100 * float(end), 4) for end in ends)
    return low, high
