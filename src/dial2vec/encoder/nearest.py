"""Vectors of length 1, and exact nearest neighbours by cosine, in blocks."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dial2vec.errors import Dial2vecError

Float = TypeVar("Float", bound=np.floating)


def unit_rows(vectors: NDArray[Float]) -> NDArray[Float]:
    """Return the rows at length 1, [n, d] of the same type; a zero row stays zero, NaN stays NaN."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: NDArray[Float] = vectors / np.where(lengths == 0, lengths.dtype.type(1), lengths)
    return units


def nearest_others(units: NDArray[np.float32], *, k: int, block: int = 1024) -> NDArray[np.int32]:
    """Return the k nearest others of each row, int32 [n, k], nearest first; ties go by index.

    :param units: float32 rows of length 1, [n, d]; a zero row is equally near to all.
    :param k: number of neighbours, 1 to n - 1.
    :param block: rows at a time; memory is about three times `block` x n float32.
    :raises Dial2vecError: if k is out of range.
    """
    n = len(units)
    if not 1 <= k < n:
        raise Dial2vecError(
            f"found k = {k} for {n} vectors; expected 1 to {n - 1}: a vector is no neighbour of itself."
        )
    neighbours = np.empty((n, k), dtype=np.int32)
    for start in range(0, n, block):
        cosines = units[start : start + block] @ units.T
        rows = np.arange(len(cosines))
        cosines[rows, start + rows] = -np.inf
        among = np.argpartition(-cosines, k - 1, axis=1)[:, :k]
        # A partition keeps any of the ties at the edge; only rows with such ties are sorted, which is slow.
        smallest = np.take_along_axis(cosines, among, axis=1).min(axis=1, keepdims=True)
        tied = (cosines >= smallest).sum(axis=1) > k
        among[tied] = np.argsort(-cosines[tied], axis=1, kind="stable")[:, :k]
        among.sort(axis=1)
        order = np.argsort(-np.take_along_axis(cosines, among, axis=1), axis=1, kind="stable")
        neighbours[start : start + block] = np.take_along_axis(among, order, axis=1)
    return neighbours
