"""Exact search for the nearest vectors, block by block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Rows of a block: 100 MB at d = 384.
BLOCK = 65_536


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
