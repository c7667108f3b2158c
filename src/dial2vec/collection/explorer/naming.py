"""Names of areas, topics and fine topics, and where they stand on the map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dial2vec.evaluation.geometry import cells_of, middle_of

# How many cells of the map are seen as one place: the name of an area is in the middle of much of it, that of a fine
# topic at its densest spot.
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
    cells = cells_of(points)
    for level, (own, groups) in enumerate(zip(texts, members, strict=True)):
        for id, text in enumerate(own):
            rows = np.flatnonzero(groups == id)
            if text not in known and len(rows):
                x, y = middle_of(points[rows], cells[rows], WIDTHS[level])
                names.append(MapName(text, level, id, x, y, len(rows)))
        known.update(own)
    return names
