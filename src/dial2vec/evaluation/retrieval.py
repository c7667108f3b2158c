"""Retrieval: does a dialogue find the others of its label first?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dial2vec.evaluation.relatedness import COSINE_STEP, cosine_blocks


@dataclass(frozen=True, slots=True)
class RetrievalScores:
    """Ranking quality over all queries; higher is better.

    :param map: mean average precision, in (0, 1]; NaN without a query.
    :param mrr: mean of 1 / rank of the first hit, in (0, 1]; NaN without a query.
    :param queries: dialogues that were queries.
    :param left_out: dialogues that could not be queries, because no other has their label.
    :param precisions: average precision of each dialogue as a query, float64 [n]; NaN where it was left out.
    """

    map: float
    mrr: float
    queries: int
    left_out: int
    precisions: NDArray[np.float64] = field(compare=False)


def retrieval_scores(vectors: np.ndarray, labels: Sequence[str | int], *, block: int = 256) -> RetrievalScores:
    """Rank all other dialogues by cosine for every dialogue; a hit is one of the same label.

    Among equally similar dialogues the hits come last. So the order of the input never matters, and vectors that
    collapsed to one point gain nothing from it. Source: Liu et al. 2022, section 4.2 (conversation retrieval).

    :param vectors: [n, d] float32; a zero vector has cosine 0 to everything.
    :param labels: n labels.
    :param block: queries taken at a time; the memory is some six times `block` x n float64.
    """
    codes, counts = np.unique(np.asarray(labels), return_inverse=True, return_counts=True)[1:]
    ranks = np.arange(1, len(codes) + 1)
    precisions = np.full(len(codes), np.nan)
    reciprocals = 0.0
    for queries, cosines in cosine_blocks(vectors, block=block):
        has_hit = counts[codes[queries]] > 1
        hits = _ranked_hits(cosines[has_hit], queries[has_hit], codes)
        found = np.cumsum(hits, axis=1)
        precisions[queries[has_hit]] = (found / ranks * hits).sum(axis=1) / found[:, -1]
        reciprocals += float((1 / (hits.argmax(axis=1) + 1)).sum())
    n_queries = int(counts[counts > 1].sum())
    return RetrievalScores(
        map=float(np.nansum(precisions)) / n_queries if n_queries else float("nan"),
        mrr=reciprocals / n_queries if n_queries else float("nan"),
        queries=n_queries,
        left_out=len(codes) - n_queries,
        precisions=precisions,
    )


def _ranked_hits(cosines: np.ndarray, queries: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return [b, n] 0/1: is the dialogue at each rank a hit? The query itself stands last and is none.

    The cosine, in whole steps, and the hit share one whole number (hit = lowest bit): sorting these numbers is
    several times faster than sorting indices, and puts hits last among ties.
    """
    keys = 2 * np.rint(-cosines / COSINE_STEP).astype(np.int64) + (codes[queries, None] == codes)
    keys[np.arange(len(queries)), queries] = np.iinfo(np.int64).max - 1
    keys.sort(axis=1)
    return keys & 1
