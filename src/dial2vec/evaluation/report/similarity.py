"""Cosine distributions of pairs with the same label and with different labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dial2vec.evaluation.relatedness import cosine_blocks

# Pairs are counted in steps of 0.0001, so the overlap does not depend on the bars of 0.02.
STEPS, BARS = 20_000, 100


@dataclass(frozen=True, slots=True)
class Similarities:
    """Cosines of all pairs of dialogues, with the same label and with different labels.

    :param edges: borders of the bars from -1 to 1, float64 [101].
    :param same: share of the same-label pairs in each bar, float64 [100]; the sum is 1, or 0 without such pairs.
    :param different: share of the other pairs in each bar, likewise.
    :param overlap: share of same-label pairs below the best threshold plus share of other pairs above it, in [0, 1]:
        0 if a threshold separates them, 1 if none helps; NaN if either kind is missing. The overlap is one minus the
        one-sided Kolmogorov-Smirnov distance.
    """

    edges: np.ndarray
    same: np.ndarray
    different: np.ndarray
    overlap: float


def similarities(vectors: np.ndarray, labels: Sequence[str]) -> Similarities:
    """Count each pair of different dialogues once, by its cosine.

    :param vectors: vectors of the dialogues, float32 [n, d]; a zero vector has cosine 0 to all.
    :param labels: n labels.
    """
    codes = np.unique(np.asarray(labels), return_inverse=True)[1]
    counts = np.zeros((2, STEPS))
    for queries, cosines in cosine_blocks(vectors):
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
