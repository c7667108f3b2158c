"""Names of areas, topics and fine topics, and where they stand on the map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Cells along each side of the grid in which the middle of a group is found, and how many of them are seen as one place:
# the name of an area is in the middle of much of it, that of a fine topic at its densest spot.
CELLS = 48
WIDTHS = (4.0, 2.0, 1.0)


@dataclass(frozen=True, slots=True)
class MapName:
    """The name of a group of dialogues on the map.

    :param text: name.
    :param level: 0 for an area, 1 for a topic, 2 for a fine topic.
    :param id: place of the group among all of its level, from 0.
    :param x: place on the map, in its units.
    :param y: the same, upwards.
    :param size: number of its dialogues on the map.
    """

    text: str
    level: int
    id: int
    x: float
    y: float
    size: int


def names_on_map(
    texts: Sequence[Sequence[str]], members: Sequence[NDArray[np.int16]], points: NDArray[np.float32]
) -> list[MapName]:
    """Return the names of all groups, those of a level in their order.

    A name that stands on two levels, as that of an area with one topic, is returned for the upper one alone.

    :param texts: names of the groups of each level: areas, topics, fine topics.
    :param members: index of each point's group in `texts` per level, int16 [n]; -1 for none.
    :param points: places on the map, float32 [n, 2].
    """
    names: list[MapName] = []
    known: set[str] = set()
    cells = _cells(points)
    for level, (own, groups) in enumerate(zip(texts, members, strict=True)):
        for id, text in enumerate(own):
            rows = np.flatnonzero(groups == id)
            if text not in known and len(rows):
                x, y = _middle(points[rows], cells[rows], WIDTHS[level])
                names.append(MapName(text, level, id, x, y, len(rows)))
        known.update(own)
    return names


def _cells(points: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the column and the row of each point in the grid, int64 [n, 2]."""
    low, extent = points.min(axis=0), max(float(np.ptp(points, axis=0).max()), 1e-9)
    return np.minimum(((points - low) / extent * CELLS).astype(np.int64), CELLS - 1)


def _middle(points: NDArray[np.float32], cells: NDArray[np.int64], width: float) -> tuple[float, float]:
    """Return the mean of the points around the densest place: a group of two parts is named at one.

    :param width: standard deviation of the bell by which points count around a place, in cells.
    """
    apart = np.arange(CELLS) - np.arange(CELLS)[:, None]
    near = np.exp(-0.5 * (apart / width) ** 2)
    counts = np.zeros((CELLS, CELLS))
    np.add.at(counts, (cells[:, 0], cells[:, 1]), 1)
    column, row = np.unravel_index((near @ counts @ near).argmax(), counts.shape)
    weights = near[column, cells[:, 0]] * near[row, cells[:, 1]]
    x, y = weights @ points / weights.sum()
    return float(x), float(y)
