"""Retrieval: does a dialogue find the others of its label first?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dial2vec.evaluation.ranking import Rankings, rank_others


@dataclass(frozen=True, slots=True)
class RetrievalScores:
    """Ranking quality over all queries; higher is better.

    :param map: mean average precision, in (0, 1]; NaN without a query.
    :param mrr: mean of 1 / rank of the first hit, in (0, 1]; NaN without a query.
    :param queries: dialogues that were queries.
    :param left_out: dialogues that were no queries, because no other has their label.
    :param precisions: average precision of each dialogue as a query, float64 [n]; NaN if it was left out.
    """

    map: float
    mrr: float
    queries: int
    left_out: int
    precisions: NDArray[np.float64] = field(compare=False)


def retrieval_scores(vectors: np.ndarray, labels: Sequence[str | int], *, block: int | None = None) -> RetrievalScores:
    """Rank all other dialogues by cosine for every dialogue; a hit is one of the same label.

    Among equally similar dialogues the hits come last, so the order of the input never matters and vectors that
    collapsed to one point gain nothing. Source: Liu et al. 2022, section 4.1 (dialogue retrieval).

    :param vectors: [n, d] float32; a zero vector has cosine 0 to everything.
    :param labels: n labels.
    :param block: queries at a time; None as in `ranking.rank_others`.
    """
    return retrieval_of(rank_others(vectors, labels, block=block))


def retrieval_of(rankings: Rankings) -> RetrievalScores:
    """Return the result of `retrieval_scores` from rankings computed before."""
    is_query = ~np.isnan(rankings.precisions)
    n_queries = int(is_query.sum())
    return RetrievalScores(
        map=float(rankings.precisions[is_query].mean()) if n_queries else float("nan"),
        mrr=float(rankings.reciprocals[is_query].mean()) if n_queries else float("nan"),
        queries=n_queries,
        left_out=len(is_query) - n_queries,
        precisions=rankings.precisions,
    )
