"""Distribution of normalised vectors on the sphere: alignment and uniformity (Wang and Isola 2020)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dial2vec.encoder.nearest import unit_rows
from dial2vec.evaluation.blocks import over_blocks


def normalised(vectors: np.ndarray) -> np.ndarray:
    """Return [n, d] float64 rows of length 1; a zero row stays zero."""
    return unit_rows(np.asarray(vectors, dtype=np.float64))


def alignment(vectors: np.ndarray, labels: Sequence[str | int]) -> float:
    """Return the mean squared distance between normalised vectors of one label, in [0, 4]; lower is better.

    All pairs of different dialogues count once. NaN if no label occurs twice. A zero vector is 1 away from every
    other. Source: Wang and Isola 2020, section 3.1, with alpha 2 and same-label pairs as positives.

    :param vectors: [n, d] float32.
    :param labels: n labels.
    """
    same, n_same, _, _ = _pair_sums(vectors, labels)
    return same / n_same if n_same else float("nan")


def adjusted_alignment(vectors: np.ndarray, labels: Sequence[str | int]) -> float:
    """Return `alignment` minus the same mean over pairs of different labels, in [-4, 4]; lower is better.

    Drawing all vectors together does not lower it, unlike alignment. NaN if either kind has no pair.
    """
    same, n_same, different, n_different = _pair_sums(vectors, labels)
    return same / n_same - different / n_different if n_same and n_different else float("nan")


def uniformity(vectors: np.ndarray, *, block: int | None = None) -> float:
    """Return log mean exp(-2 squared distance) over pairs of normalised vectors, in [-8, 0]; lower is more even.

    0 means that all vectors coincide. Source: Wang and Isola 2020, section 3.1, with t = 2.

    :param vectors: [n, d] float32, n at least 2.
    :param block: rows at a time, as in `blocks.over_blocks`.
    """
    units = normalised(vectors)
    squares = (units**2).sum(axis=1)
    n = len(units)

    def work(rows: NDArray[np.int64]) -> float:
        # A pair is symmetric: only rows that come later are compared, and those of the block among themselves.
        closeness = units[rows] @ units[rows[0] :].T
        closeness *= 4
        closeness -= 2 * squares[rows[0] :]
        closeness -= 2 * squares[rows, None]
        np.exp(closeness, out=closeness)
        return float(closeness[:, : len(rows)].sum() + 2 * closeness[:, len(rows) :].sum())

    # Subtract the n pairs of a dialogue with itself; each is exp(0).
    return float(np.log((sum(over_blocks(work, n, block=block)) - n) / (n * (n - 1))))


def uniformity_of(closeness: NDArray[np.float64]) -> float:
    """Return `uniformity` from the sums of `ranking.Rankings.closeness`, [n], n at least 2."""
    n = len(closeness)
    return float(np.log(closeness.sum() / (n * (n - 1))))


def _pair_sums(vectors: np.ndarray, labels: Sequence[str | int]) -> tuple[float, int, float, int]:
    """Return the sum of squared distances and the number of pairs, first for same-label, then for other pairs.

    Over the pairs of a group, the squared distances sum to `m * sum |u|^2 - |sum u|^2`, so no pair is formed.
    """
    units = normalised(vectors)
    codes, counts = np.unique(np.asarray(labels), return_inverse=True, return_counts=True)[1:]
    squares = (units**2).sum(axis=1)
    sums = np.zeros((len(counts), units.shape[1]))
    np.add.at(sums, codes, units)
    per_label = counts * np.bincount(codes, weights=squares) - (sums**2).sum(axis=1)
    # Rounding can leave a coinciding group a hair below zero.
    same, n_same = max(float(per_label.sum()), 0.0), int((counts * (counts - 1)).sum()) // 2
    everything = len(units) * float(squares.sum()) - float((sums.sum(axis=0) ** 2).sum())
    return same, n_same, everything - same, len(units) * (len(units) - 1) // 2 - n_same
