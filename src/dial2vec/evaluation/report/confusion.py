"""Which labels does k-means take for one another?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from dial2vec.evaluation.clustering import kmeans


@dataclass(frozen=True, slots=True)
class Confusion:
    """Labels against clusters, as many of the one as of the other.

    :param labels: the k different labels, sorted.
    :param counts: [k, k] int64, dialogues of label i in cluster j; cluster i is the one matched to label i.
    """

    labels: list[str]
    counts: np.ndarray

    @property
    def accuracy(self) -> float:
        """Share of dialogues in the cluster that is matched to their label, in (0, 1]."""
        return float(np.trace(self.counts) / self.counts.sum())


def confusion(vectors: np.ndarray, labels: Sequence[str], *, seed: int) -> Confusion:
    """Cluster the vectors as the figures do, in one run, and put each cluster under its label.

    The match is the Hungarian one: it puts as many dialogues as possible on the diagonal. Vectors that collapsed onto
    fewer points than labels leave columns of 0.

    :param vectors: [n, d] float32.
    :param labels: n labels, n at least 1.
    :param seed: seed of k-means.
    """
    names, codes = np.unique(np.asarray(labels), return_inverse=True)
    counts = np.zeros((len(names), len(names)), dtype=np.int64)
    np.add.at(counts, (codes, kmeans(vectors, len(names), seed)), 1)
    matched = linear_sum_assignment(counts, maximize=True)[1]
    return Confusion([str(name) for name in names], counts[:, matched])
