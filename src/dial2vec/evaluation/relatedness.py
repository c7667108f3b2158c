"""Semantic relatedness: are dialogues of one label more similar than others, and how far can that figure rise?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from dial2vec.evaluation.distribution import normalised

# Cosines are rounded to this step, so that equal vectors tie exactly, in whatever order the machine adds products.
COSINE_STEP = 1e-10


def spearman(vectors: np.ndarray, labels: Sequence[str | int], *, block: int = 256) -> float:
    """Return the mean over queries of Spearman's correlation of cosine with relevance, in [-1, 1]; higher is better.

    Every dialogue is a query against all others; relevance is 1 for the same label and 0 otherwise. Ties share their
    average rank. A query for which it is undefined (all others relevant, none, or all equally similar) counts 0.
    Its upper end is not 1 but `spearman_ceiling`. Source: Liu et al. 2022, section 4.2, over all pairs instead of
    one random partner per dialogue.

    :param vectors: [n, d] float32; a zero vector has cosine 0 to everything.
    :param labels: n labels.
    :param block: queries taken at a time; the memory is some six times `block` x n float64.
    """
    return float(spearman_of_queries(vectors, labels, block=block).mean())


def spearman_of_queries(vectors: np.ndarray, labels: Sequence[str | int], *, block: int = 256) -> NDArray[np.float64]:
    """Return what `spearman` is the mean of: the correlation of each query, float64 [n] in [-1, 1]."""
    codes = np.unique(np.asarray(labels), return_inverse=True)[1]
    others = len(codes) - 1
    found = np.zeros(len(codes))
    for queries, cosines in cosine_blocks(vectors, block=block):
        # The query itself gets the lowest rank alone, so that the others are ranked 1 to n - 1 after subtracting 1.
        cosines[np.arange(len(queries)), queries] = -np.inf
        centred = rankdata(cosines, axis=1) - 1 - (others + 1) / 2
        relevant = codes[queries, None] == codes
        centred[np.arange(len(queries)), queries] = 0
        relevant[np.arange(len(queries)), queries] = False
        # Relevance has two values, so its ranks are a linear map of it: Spearman is Pearson of the ranks with 0/1.
        n_relevant = relevant.sum(axis=1)
        covariance = np.einsum("ij,ij->i", centred, relevant)
        spread = np.einsum("ij,ij->i", centred, centred) * n_relevant * (others - n_relevant) / others
        defined = spread > 0
        found[queries[defined]] = covariance[defined] / np.sqrt(spread[defined])
    return found


def spearman_ceiling(labels: Sequence[str | int]) -> float:
    """Return `spearman` of a perfect ranking: all of the query's label before all others, no two equally similar.

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
