"""Labels that k-means confuses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from dial2vec.evaluation.clustering import kmeans


@dataclass(frozen=True, slots=True)
class Confusion:
    """Labels against the same number of clusters.

    :param labels: k different labels, sorted.
    :param counts: number of dialogues with label i in cluster j, int64 [k, k]; cluster i is matched to label i.
    """

    labels: list[str]
    counts: np.ndarray

    @property
    def accuracy(self) -> float:
        """Share of dialogues in the cluster matched to their label, in (0, 1]."""
        return float(np.trace(self.counts) / self.counts.sum())


def confusion(vectors: np.ndarray, labels: Sequence[str], *, seed: int) -> Confusion:
    """Cluster the vectors in one k-means run and match each cluster to a label.

    Hungarian matching maximises the diagonal. Fewer distinct vectors than labels leave columns of 0.

    :param vectors: vectors of the dialogues, float32 [n, d].
    :param labels: n labels, n at least 1.
    :param seed: seed of k-means.
    """
    names, codes = np.unique(np.asarray(labels), return_inverse=True)
    counts = np.zeros((len(names), len(names)), dtype=np.int64)
    np.add.at(counts, (codes, kmeans(vectors, len(names), seed)), 1)
    matched = linear_sum_assignment(counts, maximize=True)[1]
    return Confusion([str(name) for name in names], counts[:, matched])
