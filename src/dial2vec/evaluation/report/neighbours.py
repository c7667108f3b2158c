"""Nearest dialogues by the start and by the trained encoder: how many of them have the label of their dialogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dial2vec.evaluation.intervals import Gain, mean_gain
from dial2vec.evaluation.report.ranked import NearestDialogues

# Numbers of neighbours, the most preferred first; the first is taken that this share of the dialogues can fill.
DEPTHS = (10, 5, 3, 1)
FILLED = 0.9


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Number of neighbours that have the label of their dialogue, by two encoders.

    :param depth: number of nearest dialogues that count as neighbours: 10, 5, 3 or 1.
    :param counted: True for each dialogue whose label at least `depth` others have, bool [n].
    :param start: neighbours with the same label by the start, from 0 to `depth`, int64 [n].
    :param trained: neighbours with the same label by the trained encoder, likewise.
    """

    depth: int
    counted: NDArray[np.bool_]
    start: NDArray[np.int64]
    trained: NDArray[np.int64]

    @property
    def changes(self) -> tuple[int, int, int]:
        """Numbers of dialogues with more such neighbours than by the start, with fewer, and with as many."""
        difference = (self.trained - self.start)[self.counted]
        more, fewer = int((difference > 0).sum()), int((difference < 0).sum())
        return more, fewer, len(difference) - more - fewer

    @property
    def means(self) -> tuple[float, float]:
        """Mean number of neighbours with the same label by the start, and by the trained encoder."""
        return float(self.start[self.counted].mean()), float(self.trained[self.counted].mean())

    def gain(self, *, seed: int) -> Gain:
        """Return the gain of the trained encoder in points: 100 would be all neighbours instead of none."""
        return mean_gain((self.trained - self.start)[self.counted] / self.depth, seed=seed)


def neighbours_of(start: NearestDialogues, trained: NearestDialogues, labels: Sequence[str]) -> Neighbours:
    """Count the neighbours with the same label.

    The depth is the largest of 10, 5, 3 and 1 that 90 % of the dialogues can fill with others of their label; dialogues
    without any other of their label are left out of this share.

    :param start: nearest dialogues by the start, at least 10 of each or all others.
    :param trained: the same by the trained encoder.
    :param labels: n labels, one of them at least twice.
    """
    codes, counts = np.unique(np.asarray(labels), return_inverse=True, return_counts=True)[1:]
    others = counts[codes] - 1
    able = others[others > 0]
    depth = next(depth for depth in DEPTHS if (able >= depth).mean() >= FILLED)
    hits = [(codes[ranked.nearest[:, :depth]] == codes[:, None]).sum(axis=1) for ranked in (start, trained)]
    return Neighbours(depth, others >= depth, *hits)


def kept_neighbours(start: NearestDialogues, trained: NearestDialogues, *, depth: int = DEPTHS[0]) -> NDArray[np.int64]:
    """Return how many of the nearest dialogues of each are the same by both encoders, int64 [n].

    :param depth: number of nearest dialogues to compare.
    """
    pairs = zip(start.nearest[:, :depth], trained.nearest[:, :depth], strict=True)
    return np.array([len(np.intersect1d(*pair)) for pair in pairs], dtype=np.int64)
