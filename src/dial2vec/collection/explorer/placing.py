"""Placing new vectors on a map without moving the old points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dial2vec.evaluation.geometry import Points

# Nearest dialogues that determine the place of a new one.
NEAREST = 10
# Vectors on a map from which pivots spare comparisons, number of pivots, and of those whose vectors are compared.
FEWEST_FOR_PIVOTS, PIVOTS, PROBES = 20_000, 400, 16
# Rows that are compared with pivots at a time, and with all vectors.
BLOCK, ROWS = 4096, 1024


class Placing:
    """Placing of new vectors on an existing map.

    Each goes to the median of its nearest by cosine among those that made the map. A mean could lie in an empty middle
    between distant neighbours. openTSNE's own placing, which starts from the median, was not better (docs/explorer.md).

    With many vectors on the map, each belongs to the nearest of some pivots, and a new vector is compared with those of
    its nearest pivots only (an inverted file, Jégou et al. 2011): a million are placed in minutes, not in half an hour.

    :param units: Vectors of length 1 that the map was fitted to, float32 [n, d], n at least 1.
    :param points: Their points, float32 [n, 2].
    :param nearest: Number of nearest vectors for the median.
    :param pivots: Number of pivots; 1 compares with all.
    :param probes: Pivots whose vectors are compared.
    """

    def __init__(
        self,
        units: NDArray[np.float32],
        points: Points,
        *,
        nearest: int = NEAREST,
        pivots: int | None = None,
        probes: int = PROBES,
    ) -> None:
        self.units, self.points, self.count = units, points, min(nearest, len(units))
        n_pivots = pivots or (PIVOTS if len(units) >= FEWEST_FOR_PIVOTS else 1)
        # Spread over the map's vectors, which are in no order of likeness. Equal ones would take probes for nothing.
        self.pivots = np.unique(units[np.linspace(0, len(units) - 1, n_pivots, dtype=np.int64)], axis=0)
        self.probes = min(probes, len(self.pivots))
        blocks = np.split(units, range(BLOCK, len(units), BLOCK))
        with threadpool_limits(limits=1):
            owners = np.concatenate([(rows @ self.pivots.T).argmax(axis=1) for rows in blocks])
        order = np.argsort(owners, kind="stable")
        self.members = np.split(order, np.searchsorted(owners[order], np.arange(1, len(self.pivots))))

    def place(self, new: NDArray[np.float32], *, block: int | None = None) -> Points:
        """Return the points of vectors of length 1, float32 [m, 2]; none depends on the other new vectors.

        :param new: Vectors, float32 [m, d].
        :param block: Number of rows at a time; memory is about 20 bytes x `block` x the vectors of a pivot.
        """
        placed = np.empty((len(new), 2), dtype=np.float32)
        at_once = block or (ROWS if len(self.pivots) == 1 else BLOCK)
        with threadpool_limits(limits=1):
            for first in range(0, len(new), at_once):
                nearest = self.nearest(new[first : first + at_once])
                placed[first : first + at_once] = np.median(self.points[nearest], axis=1)
        return placed

    def nearest(self, new: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the places of the nearest vectors of each row, int64 [m, count], in no order."""
        probed = np.argpartition(-(new @ self.pivots.T), self.probes - 1, axis=1)[:, : self.probes]
        best = np.full((len(new), self.count), -np.inf, dtype=np.float32)
        nearest = np.zeros((len(new), self.count), dtype=np.int64)
        for pivot in np.unique(probed):
            rows = np.flatnonzero((probed == pivot).any(axis=1))
            best[rows], nearest[rows] = self._nearer(best[rows], nearest[rows], new[rows], self.members[pivot])
        # The probed pivots may have fewer vectors than are counted.
        few = np.flatnonzero(np.isinf(best).any(axis=1))
        if len(few):
            nothing = np.full((len(few), self.count), -np.inf, dtype=np.float32)
            _, nearest[few] = self._nearer(nothing, nearest[few], new[few], np.arange(len(self.units)))
        return nearest

    def _nearer(
        self,
        best: NDArray[np.float32],
        nearest: NDArray[np.int64],
        new: NDArray[np.float32],
        members: NDArray[np.int64],
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the largest cosines, and their places, of those found so far and those of the members."""
        cosines = np.concatenate([best, new @ self.units[members].T], axis=1)
        among = np.argpartition(cosines, len(cosines[0]) - self.count, axis=1)[:, -self.count :]
        known = np.take_along_axis(nearest, np.minimum(among, self.count - 1), axis=1)
        places = np.where(among < self.count, known, members[np.maximum(among - self.count, 0)])
        return np.take_along_axis(cosines, among, axis=1), places
