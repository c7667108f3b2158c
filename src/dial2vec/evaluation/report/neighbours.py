"""Nearest dialogues by the base and by the trained encoder: how many of them have the label of their dialogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dial2vec.evaluation.intervals import Gain, mean_gain
from dial2vec.evaluation.ranking import COSINE_STEP
from dial2vec.evaluation.relatedness import cosine_blocks

# Numbers of neighbours, the most preferred first; the first is taken that this share of the dialogues can fill.
DEPTHS = (10, 5, 3, 1)
FILLED = 0.9


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Number of neighbours that have the label of their dialogue, by two encoders.

    :param depth: number of nearest dialogues that count as neighbours: 10, 5, 3 or 1.
    :param counted: True for each dialogue whose label at least `depth` others have, bool [n].
    :param start: neighbours with the same label by the base encoder, from 0 to `depth`, int64 [n].
    :param trained: neighbours with the same label by the trained encoder, likewise.
    """

    depth: int
    counted: NDArray[np.bool_]
    start: NDArray[np.int64]
    trained: NDArray[np.int64]

    @property
    def changes(self) -> tuple[int, int, int]:
        """Numbers of dialogues with more such neighbours than by the base encoder, with fewer, and with as many."""
        difference = (self.trained - self.start)[self.counted]
        more, fewer = int((difference > 0).sum()), int((difference < 0).sum())
        return more, fewer, len(difference) - more - fewer

    @property
    def means(self) -> tuple[float, float]:
        """Mean number of neighbours with the same label by the base encoder, and by the trained encoder."""
        return float(self.start[self.counted].mean()), float(self.trained[self.counted].mean())

    def gain(self, *, seed: int) -> Gain:
        """Return the gain of the trained encoder in points: 100 would be all neighbours instead of none."""
        return mean_gain((self.trained - self.start)[self.counted] / self.depth, seed=seed)


def neighbours_of(start: NearestDialogues, trained: NearestDialogues, labels: Sequence[str]) -> Neighbours:
    """Count the neighbours with the same label.

    The depth is the largest of 10, 5, 3 and 1 that 90 % of the dialogues can fill with others of their label; dialogues
    without any other of their label are left out of this share.

    :param start: nearest dialogues by the base encoder, at least 10 of each or all others.
    :param trained: the same by the trained encoder.
    :param labels: n labels, one of them at least twice.
    """
    codes, counts = np.unique(np.asarray(labels), return_inverse=True, return_counts=True)[1:]
    others = counts[codes] - 1
    able = others[others > 0]
    depth = next(depth for depth in DEPTHS if (able >= depth).mean() >= FILLED)
    hits = [(codes[ranked.nearest[:, :depth]] == codes[:, None]).sum(axis=1) for ranked in (start, trained)]
    return Neighbours(depth, others >= depth, *hits)


def kept_neighbours(start: NearestDialogues, trained: NearestDialogues) -> NDArray[np.int64]:
    """Return how many of the nearest dialogues of each are the same by both encoders, int64 [n]."""
    pairs = zip(start.nearest, trained.nearest, strict=True)
    return np.array([len(np.intersect1d(*pair)) for pair in pairs], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class NearestDialogues:
    """Nearest other dialogues of every dialogue.

    :param precisions: average precision of each query in (0, 1], float64 [n]; NaN if no other dialogue has its label.
    :param nearest: places of the most similar dialogues, the most similar first, int64 [n, k].
    :param cosines: cosines to these dialogues in [-1, 1], float64 [n, k].
    """

    precisions: np.ndarray
    nearest: np.ndarray
    cosines: np.ndarray


def rank_nearest(vectors: np.ndarray, labels: Sequence[str]) -> NearestDialogues:
    """Rank all other dialogues by cosine for every dialogue; hits come last among equals, as in `retrieval_scores`.

    The mean of the average precisions without NaN is the MAP of `retrieval_scores`.

    :param vectors: vectors of the dialogues, float32 [n, d]; a zero vector has cosine 0 to all.
    :param labels: n labels.
    """
    codes, counts = np.unique(np.asarray(labels), return_inverse=True, return_counts=True)[1:]
    depth = max(min(DEPTHS[0], len(codes) - 1), 0)
    ranks = np.arange(1, len(codes) + 1)
    precisions, nearest, similar = np.full(len(codes), np.nan), [], []
    for queries, cosines in cosine_blocks(vectors):
        rows = np.arange(len(queries))[:, None]
        same = codes[queries, None] == codes
        # The lowest bit, below the cosine step, marks a hit. The query itself comes last and is no hit.
        keys = 2 * np.rint(-cosines / COSINE_STEP).astype(np.int64) + same
        keys[rows[:, 0], queries] = np.iinfo(np.int64).max
        order = keys.argsort(axis=1, kind="stable")
        hits = same[rows, order]
        hits[:, -1] = False
        precision = (hits.cumsum(axis=1) / ranks * hits).sum(axis=1)
        has_hit = counts[codes[queries]] > 1
        precisions[queries[has_hit]] = precision[has_hit] / (counts[codes[queries[has_hit]]] - 1)
        nearest.append(order[:, :depth])
        similar.append(cosines[rows, order[:, :depth]])
    empty = [np.zeros((0, depth))]
    return NearestDialogues(
        precisions, np.concatenate(nearest or empty).astype(np.int64), np.concatenate(similar or empty)
    )
