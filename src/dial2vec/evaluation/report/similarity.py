"""Are two dialogues of one label more similar than two of different labels? The two distributions of the cosine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dial2vec.evaluation.relatedness import cosine_blocks

# Counted in steps of 0.0001, so that the overlap does not depend on the width of the bars, and drawn in bars of 0.02.
STEPS, BARS = 20_000, 100


@dataclass(frozen=True, slots=True)
class Similarities:
    """Cosines of all pairs of dialogues, by whether the pair shares its label.

    :param edges: [101] float64 from -1 to 1, the borders of the bars.
    :param same: [100] float64, share of the same-label pairs in each bar; sums to 1, or is 0 without such a pair.
    :param different: [100] float64, the same of pairs with different labels.
    :param overlap: share of same-label pairs below a threshold plus share of other pairs above it, at the threshold
        where this is least, in [0, 1]: 0 when one threshold parts them, 1 when none helps. It equals one minus the
        one-sided Kolmogorov-Smirnov distance of the two. NaN when there is no pair of either kind.
    """

    edges: np.ndarray
    same: np.ndarray
    different: np.ndarray
    overlap: float


def similarities(vectors: np.ndarray, labels: Sequence[str], *, block: int = 256) -> Similarities:
    """Count each pair of different dialogues once, by its cosine.

    :param vectors: [n, d] float32; a zero vector has cosine 0 to everything.
    :param labels: n labels.
    :param block: dialogues taken at a time; the memory is some four times `block` x n float64.
    """
    codes = np.unique(np.asarray(labels), return_inverse=True)[1]
    counts = np.zeros((2, STEPS))
    for queries, cosines in cosine_blocks(vectors, block=block):
        later = queries[:, None] < np.arange(len(codes))
        same = codes[queries, None] == codes
        for kind, pairs in enumerate((later & same, later & ~same)):
            steps = ((cosines[pairs] + 1) / 2 * STEPS).astype(np.int64)
            counts[kind] += np.bincount(np.clip(steps, 0, STEPS - 1), minlength=STEPS)
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
    below = shares.cumsum(axis=1)
    overlap = 1 - float((below[1] - below[0]).max(initial=0)) if totals.all() else float("nan")
    same_bars, different_bars = shares.reshape(2, BARS, -1).sum(axis=2)
    return Similarities(np.linspace(-1, 1, BARS + 1), same_bars, different_bars, overlap)
