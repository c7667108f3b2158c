"""Candidates for a sentence: the sentences that BM25 finds for it."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection.search.words import K1, METHOD, B, bm25_words
from dial2vec.draws import rng_for


def bm25_candidates(texts: Sequence[str], queries: Sequence[int], *, n: int, seed: int) -> NDArray[np.int64]:
    """Return the indices of the n texts with the highest BM25 score for each query, without itself, int64 [q, n].

    Texts that share no word with the query are no candidates: missing candidates are -1. Equal scores are ordered at
    random by the seed. Source: Robertson and Zaragoza 2009, in Lucene's variant (Kamphuis et al. 2020).

    :param texts: different texts.
    :param queries: indices of the queries in `texts`.
    """
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)
    candidates = np.full((len(queries), n), -1, dtype=np.int64)
    tokens = [bm25_words(text) for text in texts]
    if not any(tokens):
        return candidates
    index = bm25s.BM25(method=METHOD, k1=K1, b=B)
    index.index(tokens, show_progress=False)
    drawn = rng_for(seed, "bm25").permutation(len(texts))
    for row, query in enumerate(queries):
        if not tokens[query]:
            continue
        scores = index.get_scores(tokens[query])
        scores[query] = 0
        sharing = np.flatnonzero(scores > 0)
        if len(sharing) > n:
            # Keep all that tie with the n-th, so that chance decides among equals.
            sharing = sharing[scores[sharing] >= np.partition(scores[sharing], -n)[-n]]
        best = sharing[np.lexsort((drawn[sharing], -scores[sharing]))][:n]
        candidates[row, : len(best)] = best
    return candidates
