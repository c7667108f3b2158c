"""Names on a map: the larger label first, and no name over another at any zoom."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dial2vec.evaluation.geometry import cells_of, middle_of

Whole = NDArray[np.int64]

# Height of a line in units of the map, of which a side has 1,000; with 480 pixels a side, letters have 16 pixels.
LINE, GAP = 40, 4
LONGEST = 24
# Zooms at which a name may appear first. The script keeps the size of letters, so names only move apart.
ZOOMS = (1, 2, 4, 8, 16)
MOST_AT_FIRST = 24
# How many cells of the map are seen as one place.
WIDTH = 2.0
# Distances of a name from its point in 16 directions, cost of a covered point in units of distance, and half a point.
FREE, COVERED, POINT = (0, 12, 30, 60, 100, 150, 200, 260), 16, 7
# A name that covers more at zoom 1 to 8 waits for the next one; a line leads from farther names to their point.
MOST_COVERED, FAR = 2, 50


@dataclass(frozen=True, slots=True)
class MapName:
    """Name of a label on a map.

    :param text: name, shortened to 24 characters.
    :param label: place of the label in the legend.
    :param x: centre of the name, in units of the map.
    :param y: the same, downwards.
    :param width: upper bound of its width at zoom 1.
    :param zoom: zoom from which it is shown.
    :param point: x and y of a point of its label to which a line leads; None if it is near.
    """

    text: str
    label: int
    x: int
    y: int
    width: int
    zoom: int
    point: tuple[int, ...] | None

    def covers(self, other: MapName, zoom: int) -> bool:
        """Return whether the two names would overlap, or come closer than a gap, at this zoom."""
        across = abs(self.x - other.x) * zoom < (self.width + other.width) / 2 + GAP
        return across and abs(self.y - other.y) * zoom < LINE + GAP


def names_of_labels(points: Whole, codes: Whole, names: Sequence[str], side: int) -> list[MapName]:
    """Return the names that have a free place at some zoom, near the densest place of their label.

    :param points: places of the dialogues, from 0 to `side`, int64 [n, 2].
    :param codes: label of each, int64 [n].
    :param names: names of the labels, the most important first.
    """
    waiting, cells = [], cells_of(points)
    for code, name in enumerate(names):
        own = points[codes == code]
        middle = np.array(middle_of(own, cells[codes == code], WIDTH))
        waiting.append((_short(name), code, own[((own - middle) ** 2).sum(1).argmin()]))
    placed: list[MapName] = []
    for zoom in ZOOMS:
        left = []
        for item in waiting:
            full = zoom == 1 and len(placed) >= MOST_AT_FIRST
            if not full and (placed_name := _place(item, zoom, points, placed, side)):
                placed.append(placed_name)
            else:
                left.append(item)
        waiting = left
    return placed


def _place(
    item: tuple[str, int, Whole], zoom: int, points: Whole, placed: Sequence[MapName], side: int
) -> MapName | None:
    """Return a name where it covers few points and is near its own, or None if there is no such place at this zoom."""
    text, label, point = item
    width = text_width(text)
    half = np.array([width / 2 + GAP, LINE / 2]) / zoom
    angles = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    ways = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    centres = np.concatenate([point + ways * (half + free / zoom) for free in FREE]).clip(half, side - half).round()
    covered = (np.abs(points[None] - centres[:, None]) < half + POINT / zoom).all(2).sum(1)
    away = np.linalg.norm(np.maximum(np.abs(centres - point) - half, 0), axis=1) * zoom
    for place in np.argsort(COVERED * covered + away, kind="stable"):
        if covered[place] > MOST_COVERED and zoom < ZOOMS[-1]:
            continue
        x, y = centres[place].astype(int).tolist()
        name = MapName(text, label, x, y, width, zoom, tuple(point.tolist()) if away[place] > FAR else None)
        if not any(name.covers(other, zoom) for other in placed):
            return name
    return None


def _short(name: str) -> str:
    """Return a name of at most 24 characters: of a list of words those that fit, and else its beginning."""
    if len(name) <= LONGEST:
        return name
    words, comma, _ = name[: LONGEST + 1].rpartition(", ")
    return words if comma else name[: LONGEST - 1].rstrip() + "…"


def text_width(text: str) -> int:
    """Return an upper bound of the width of a text in units of the map, in the sizes of common fonts."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    capitals = sum(character.isupper() or character in "mwMW_" for character in text)
    rest = len(text) - wide - capitals
    return round(0.8 * LINE * (1.05 * wide + 0.78 * capitals + 0.6 * rest))
