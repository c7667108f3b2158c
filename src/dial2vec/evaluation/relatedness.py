"""Semantic relatedness: are dialogues of one label more similar than others? And the ceiling of that figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dial2vec.evaluation.distribution import normalised
from dial2vec.evaluation.ranking import COSINE_STEP, rank_others


def spearman(vectors: np.ndarray, labels: Sequence[str | int], *, block: int | None = None) -> float:
    """Return the mean over queries of Spearman's correlation of cosine with relevance, in [-1, 1]; higher is better.

    Every dialogue is a query against all others; relevance is 1 for the same label and 0 otherwise. Ties share their
    average rank. It counts 0 if it is undefined: all or no others relevant, or all equally similar.
    Its maximum is not 1 but `spearman_ceiling`. Source: Liu et al. 2022, section 4.1, over all pairs instead of
    one random partner per dialogue.

    :param vectors: [n, d] float32; a zero vector has cosine 0 to everything.
    :param labels: n labels.
    :param block: queries at a time; None as in `ranking.rank_others`.
    """
    return float(rank_others(vectors, labels, block=block).correlations.mean())


def spearman_ceiling(labels: Sequence[str | int]) -> float:
    """Return `spearman` of a perfect ranking: all dialogues of the query's label first, no two equally similar.

    With N others of which m are relevant, the relevant ones hold the ranks N - m + 1 to N, and Spearman is
    `sqrt(3 m (N - m) / (N^2 - 1))`, at most 0.87 and small for many labels. It depends on the label sizes alone.
    Only vectors with tied cosines (collapsed onto their labels) could exceed it.

    :param labels: n labels, n at least 3.
    """
    counts = np.unique(np.asarray(labels), return_counts=True)[1].astype(np.float64)
    others, relevant = counts.sum() - 1, counts - 1
    per_label = np.sqrt(3 * relevant * (others - relevant) / (others**2 - 1))
    return float((counts * per_label).sum() / counts.sum())


def cosine_blocks(vectors: np.ndarray, *, block: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield indices of queries [b] and their cosines to all dialogues [b, n] float64, in steps of `COSINE_STEP`."""
    units = normalised(vectors)
    for start in range(0, len(units), block):
        queries = np.arange(start, min(start + block, len(units)))
        yield queries, np.rint(units[queries] @ units.T / COSINE_STEP) * COSINE_STEP
