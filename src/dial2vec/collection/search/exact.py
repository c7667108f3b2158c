"""The nearest vectors by looking at every one of them, block by block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Rows of a block: 100 MB at d = 384.
BLOCK = 65_536


def nearest_rows(
    vectors: NDArray[np.float32], query: NDArray[np.float32], k: int, *, rows: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the rows of the k largest inner products, best first, and these; of equal ones the first row comes first.

    Memory is that of a block, whatever the number of vectors.

    :param vectors: [n, d] float32, may be mapped from a file.
    :param query: [d] float32.
    :param k: how many; fewer are returned where there are fewer.
    :param rows: only these, ascending; None is all.
    :return: int64 [m] and float32 [m].
    """
    n = len(vectors) if rows is None else len(rows)
    best, scores = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        chosen = np.arange(first, last) if rows is None else rows[first:last]
        found = (vectors[first:last] if rows is None else vectors[chosen]) @ query
        best, scores = np.concatenate([best, chosen]), np.concatenate([scores, found])
        if len(best) > k:
            # Everything that equals the last one that fits stays until rows decide.
            keep = scores >= np.partition(scores, -k)[-k]
            best, scores = best[keep], scores[keep]
    order = np.lexsort((best, -scores))[:k]
    return best[order], scores[order]


def unit_vector(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a vector at length 1; a zero vector stays zero."""
    length = np.linalg.norm(vector)
    return vector / length if length > 0 else vector
