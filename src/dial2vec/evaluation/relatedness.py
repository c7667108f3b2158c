"""Semantic relatedness: are dialogues of one label more similar than others? And the ceiling of that figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.stats import rankdata

from dial2vec.evaluation.distribution import normalised
from dial2vec.evaluation.ranking import COSINE_STEP, rank_others, stepped

# Queries at a time; whoever reads the cosines needs some times as many times n float64.
BLOCK = 256


def spearman(vectors: np.ndarray, labels: Sequence[str | int], *, block: int | None = None) -> float:
    """Return the mean over queries of Spearman's correlation of cosine with relevance, in [-1, 1]; higher is better.

    Every dialogue is a query against all others; relevance is 1 for the same label and 0 otherwise. Ties share their
    average rank. It counts 0 if it is undefined: all or no others relevant, or all equally similar.
    Its maximum is not 1 but `spearman_ceiling`. Source: the published code of Liu et al. 2022; the paper itself pairs
    each dialogue with one random other (section 4.1), which is `spearman_of_partners`.

    :param vectors: [n, d] float32; a zero vector has cosine 0 to everything.
    :param labels: n labels.
    :param block: queries at a time; None as in `ranking.rank_others`.
    """
    return float(rank_others(vectors, labels, block=block).correlations.mean())


def spearman_of_partners(vectors: np.ndarray, labels: Sequence[str | int], *, seed: int, draws: int = 1) -> float:
    """Return Spearman's correlation over n pairs, each dialogue with one random other, in [-1, 1]; higher is better.

    A pair has a cosine, and 1 for the same label or 0. Ties share their average rank. It is 0 if it is undefined: no
    pair, or every pair, has one label, or all are equally similar. With few pairs of one label it moves by points from
    draw to draw. Source: Liu et al. 2022, section 4.1.

    :param vectors: [n, d] float32, n at least 2; a zero vector has cosine 0 to everything.
    :param labels: n labels.
    :param draws: number of draws of partners, whose correlations are averaged, at least 1; the paper's is 1.
    """
    units, codes, n = normalised(vectors), np.unique(np.asarray(labels), return_inverse=True)[1], len(vectors)
    rng = np.random.default_rng(seed)
    correlations = []
    for _ in range(draws):
        partners = (np.arange(n) + rng.integers(1, n, size=n)) % n
        cosines = np.rint((units * units[partners]).sum(1) / COSINE_STEP)
        ranks = np.stack([rankdata(cosines), rankdata(codes == codes[partners])])
        centred = ranks - ranks.mean(1, keepdims=True)
        spread = float(np.sqrt((centred**2).sum(1).prod()))
        correlations.append(float(centred.prod(0).sum()) / spread if spread else 0.0)
    return float(np.mean(correlations))


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


def cosine_blocks(vectors: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield indices of queries [b] and their cosines to all dialogues [b, n] float64, in steps of `COSINE_STEP`."""
    units = normalised(vectors)
    for start in range(0, len(units), BLOCK):
        queries = np.arange(start, min(start + BLOCK, len(units)))
        yield queries, stepped(units[queries] @ units.T)
