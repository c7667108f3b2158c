"""Exact search for the nearest vectors, block by block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dial2vec.errors import CorpusError

# Rows of a block: 100 MB at d = 384.
BLOCK = 65_536
# Shorter than this, what is left of a query is rounding and says nothing.
LEAST = 0.05


def nearest_rows(
    vectors: NDArray[np.float32], query: NDArray[np.float32], k: int, *, rows: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the rows with the k largest inner products, best first, and these products; ties are ordered by row.

    Memory depends on the size of a block, not on the number of vectors.

    :param vectors: [n, d] float32, may be mapped from a file.
    :param query: [d] float32.
    :param k: number of results.
    :param rows: rows to compare, ascending; None compares all.
    :return: int64 [m] and float32 [m], m at most k.
    """
    n = len(vectors) if rows is None else len(rows)
    best, scores = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        block = np.arange(first, last) if rows is None else rows[first:last]
        products = (vectors[first:last] if rows is None else vectors[block]) @ query
        best, scores = np.concatenate([best, block]), np.concatenate([scores, products])
        if len(best) > k:
            # Ties with the k-th score stay until all rows are known.
            keep = scores >= np.partition(scores, -k)[-k]
            best, scores = best[keep], scores[keep]
    order = np.lexsort((best, -scores))[:k]
    return best[order], scores[order]


def unit_vector(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a vector at length 1; a zero vector stays zero."""
    length = np.linalg.norm(vector)
    return vector / length if length > 0 else vector


def without(wanted: NDArray[np.float32], unwanted: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the direction of a query without what it shares with others, of length 1, float32 [d].

    The query's projection on the space of the unwanted vectors is taken off, so the result is orthogonal to each of
    them; their order and number do not matter. Neither subtracting a multiple of the vectors nor leaving out the
    dialogues that are close to them suits all kinds of questions better (docs/search.md, "More ways").

    :param wanted: vector of the query, of length 1, float32 [d].
    :param unwanted: vectors of what is not wanted, float32 [m, d].
    :raises CorpusError: if nothing is left of the query.
    """
    _, lengths, directions = np.linalg.svd(unwanted, full_matrices=False)
    kept = directions[lengths > 1e-4 * lengths.max(initial=0)]
    left = (wanted - kept.T @ (kept @ wanted)).astype(np.float32)
    if np.linalg.norm(left) < LEAST:
        raise CorpusError(
            "found the same meaning in the query and in what it should not be (--not), so nothing is left to search "
            "for; expected two that differ. Reword one of them."
        )
    return unit_vector(left)
