"""All other dialogues by their cosine, for every dialogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dial2vec.evaluation.ranking import COSINE_STEP
from dial2vec.evaluation.relatedness import cosine_blocks


@dataclass(frozen=True, slots=True)
class NearestDialogues:
    """Nearest other dialogues of every dialogue.

    :param precisions: average precision of each query in (0, 1], float64 [n]; NaN if no other dialogue has its label.
    :param nearest: places of the most similar dialogues, the most similar first, int64 [n, k].
    :param cosines: cosines to these dialogues in [-1, 1], float64 [n, k].
    """

    precisions: np.ndarray
    nearest: np.ndarray
    cosines: np.ndarray


def rank_nearest(vectors: np.ndarray, labels: Sequence[str], *, depth: int = 10, block: int = 256) -> NearestDialogues:
    """Rank all other dialogues by cosine for every dialogue; hits come last among equals, as in `retrieval_scores`.

    The mean of the average precisions without NaN is the MAP of `retrieval_scores`.

    :param vectors: vectors of the dialogues, float32 [n, d]; a zero vector has cosine 0 to all.
    :param labels: n labels.
    :param depth: maximum number of nearest dialogues to keep.
    :param block: queries per block; memory is about six times `block` x n float64.
    """
    codes, counts = np.unique(np.asarray(labels), return_inverse=True, return_counts=True)[1:]
    depth = max(min(depth, len(codes) - 1), 0)
    ranks = np.arange(1, len(codes) + 1)
    precisions, nearest, similar = np.full(len(codes), np.nan), [], []
    for queries, cosines in cosine_blocks(vectors, block=block):
        rows = np.arange(len(queries))[:, None]
        same = codes[queries, None] == codes
        # The lowest bit, below the cosine step, marks a hit. The query itself comes last and is no hit.
        keys = 2 * np.rint(-cosines / COSINE_STEP).astype(np.int64) + same
        keys[rows[:, 0], queries] = np.iinfo(np.int64).max
        order = keys.argsort(axis=1, kind="stable")
        hits = same[rows, order]
        hits[:, -1] = False
        precision = (hits.cumsum(axis=1) / ranks * hits).sum(axis=1)
        has_hit = counts[codes[queries]] > 1
        precisions[queries[has_hit]] = precision[has_hit] / (counts[codes[queries[has_hit]]] - 1)
        nearest.append(order[:, :depth])
        similar.append(cosines[rows, order[:, :depth]])
    empty = [np.zeros((0, depth))]
    return NearestDialogues(
        precisions, np.concatenate(nearest or empty).astype(np.int64), np.concatenate(similar or empty)
    )
