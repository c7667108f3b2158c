"""Names on a map: the larger label first, and no name over another at any zoom."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dial2vec.evaluation.geometry import cells_of, middle_of

# Height of a line in units of the map, of which a side has 1,000; with 480 pixels a side, letters have 16 pixels.
LINE, GAP = 40, 4
LONGEST = 24
# Zooms at which a name may appear first. The script keeps the size of letters, so names only move apart.
ZOOMS = (1, 2, 4, 8, 16)
MOST_AT_FIRST = 24
# How many cells of the map are seen as one place.
WIDTH = 2.0


@dataclass(frozen=True, slots=True)
class MapName:
    """Name of a label on a map.

    :param text: name, shortened to 24 characters.
    :param label: place of the label in the legend.
    :param x: centre of the name, in units of the map.
    :param y: the same, downwards.
    :param width: upper bound of its width at zoom 1.
    :param zoom: zoom from which it is shown.
    """

    text: str
    label: int
    x: int
    y: int
    width: int
    zoom: int

    def covers(self, other: MapName, zoom: int) -> bool:
        """Return whether the two names would overlap, or come closer than a gap, at this zoom."""
        across = abs(self.x - other.x) * zoom < (self.width + other.width) / 2 + GAP
        return across and abs(self.y - other.y) * zoom < LINE + GAP


def names_of_labels(
    points: NDArray[np.int64], codes: NDArray[np.int64], names: Sequence[str], side: int
) -> list[MapName]:
    """Return the names that have a free place at some zoom, at the densest place of their label.

    :param points: places of the dialogues, from 0 to `side`, int64 [n, 2].
    :param codes: label of each, int64 [n].
    :param names: names of the labels, the most important first.
    :param side: side of the map.
    """
    waiting, cells = [], cells_of(points)
    for code, name in enumerate(names):
        text = _short(name)
        width = text_width(text)
        x, y = middle_of(points[codes == code], cells[codes == code], WIDTH)
        half = width // 2 + GAP
        waiting.append((text, code, _within(x, half, side - half), _within(y, LINE // 2, side - LINE // 2), width))
    placed: list[MapName] = []
    for zoom in ZOOMS:
        left = []
        for item in waiting:
            candidate = MapName(*item, zoom)
            full = zoom == 1 and len(placed) >= MOST_AT_FIRST
            if full or any(candidate.covers(other, zoom) for other in placed):
                left.append(item)
            else:
                placed.append(candidate)
        waiting = left
    return placed


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


def _within(value: float, low: int, high: int) -> int:
    return round(min(max(value, low), max(low, high)))
