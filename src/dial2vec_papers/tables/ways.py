"""Purity and Spearman by the rules of Liu et al. 2022 and of its published code, beside ours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dial2vec.evaluation.clustering import Way, cluster_scores
from dial2vec.evaluation.relatedness import spearman_of_partners

# Column -> way of k-means, and whether there are as many clusters as the corpus has labels, not the scored split.
PURITIES: dict[str, tuple[Way, bool]] = {
    "purity_paper": ("paper", True),
    "purity_paper_split": ("paper", False),
    "purity_release_corpus": ("release", True),
    "purity_release": ("release", False),
}
TITLES = {
    "purity_paper": "purity: the paper's",
    "purity_paper_split": "the paper's, labels of the split",
    "purity_release_corpus": "the release's, labels of the corpus",
    "purity_release": "purity: the release's",
    "spearman_partner": "Spearman: the paper's",
}
# One draw of partners, which is the paper's number, moves by points.
DRAWS = 10


def other_ways(
    vectors: np.ndarray, labels: Sequence[str], *, n_labels: int, seed: int, topics: bool = False
) -> dict[str, float]:
    """Return the figures of `TITLES`, in points.

    :param vectors: [n, d] float32.
    :param n_labels: number of labels in all splits of the corpus.
    :param topics: True if the system makes its own clusters; then there is no purity by k-means.
    """
    figures = {"spearman_partner": spearman_of_partners(vectors, labels, seed=seed, draws=DRAWS)}
    for name, (way, whole) in ({} if topics else PURITIES).items():
        n_clusters = max(n_labels, len(set(labels))) if whole else None
        figures[name] = cluster_scores(vectors, labels, seed=seed, way=way, n_clusters=n_clusters).purity
    return {name: round(100 * value, 4) for name, value in figures.items()}
