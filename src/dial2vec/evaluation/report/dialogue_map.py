"""Maps of the test dialogues: points, names, legend and the texts that the script shows for a point."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from conversations.words import cut
from dial2vec.data.terms import characteristic_terms, names_of
from dial2vec.evaluation.clustering import kmeans
from dial2vec.evaluation.distribution import normalised
from dial2vec.evaluation.excerpts import excerpt
from dial2vec.evaluation.geometry import HUES, cells_of, lay_out, middle_of, mixed, turned_like
from dial2vec.evaluation.selection.criteria import n_clusters

# With more, t-SNE takes minutes; each dialogue adds about 400 bytes to the page.
MOST_POINTS = 2_500
# Width and height of a map; coordinates are whole numbers to keep the page small.
SIDE = 1_000
MARGIN = 20
OPENING_TURNS, OPENING_CHARACTERS = 3, 110
# Height of a line of names in units of the map, distance between names, and characters of a name; and how many cells of
# the map are seen as one place.
LINE, GAP, LONGEST, WIDTH = 40, 4, 24, 2.0
# All hues, then all again lighter and darker.
COLOURS = [mixed(hue, part) for part in (0, 0.42, -0.33) for hue in HUES]


@dataclass(frozen=True, slots=True)
class Label:
    """Entry of the legend; eight colours in three shades, which repeat after 24 labels.

    :param count: number of dialogues on the map with this label.
    :param colour: colour such as "#3b82f6".
    """

    name: str
    count: int
    colour: str


@dataclass(frozen=True, slots=True)
class MapName:
    """Name of a label on a map, at the densest place of its points.

    :param label: place of the label in the legend.
    :param x: centre of the name, in units of the map.
    :param y: the same, downwards.
    :param width: upper bound of its width at zoom 1.
    :param zoom: zoom from which it overlaps no name of a larger label.
    """

    text: str
    label: int
    x: int
    y: int
    width: int
    zoom: float

    def apart_from(self, x: int, y: int, width: int) -> float:
        """Return the zoom from which another name at this place, of this width, does not overlap this one."""
        across, down = abs(self.x - x), abs(self.y - y)
        return min(((self.width + width) / 2 + GAP) / max(across, 1e-9), (LINE + GAP) / max(down, 1e-9))


@dataclass(frozen=True, slots=True)
class EncoderMap:
    """Map by one encoder.

    :param title: "Start" or "Trained".
    :param method: "t-SNE" or "PCA".
    :param layers: SVG path of the points of each label, in the order of the legend.
    """

    title: str
    method: str
    layers: list[str]
    names: list[MapName]


@dataclass(frozen=True, slots=True)
class DialogueMaps:
    """Maps of all encoders with their legend.

    :param maps: one map per encoder.
    :param kind: word for what the colours mean, "label" or "group".
    :param legend: labels, the largest first.
    :param script_data: JSON for the script, safe inside a `<script>` element: {"labels": [...], "dialogues": [[id,
        place of the label, [[speaker, text], ...], [x, y] on each map, ...], ...]}.
    :param shown: number of dialogues on the maps, at most 2,500, drawn at random.
    :param left_out: number of dialogues not on the maps.
    """

    maps: list[EncoderMap]
    kind: str
    legend: list[Label]
    script_data: str
    shown: int
    left_out: int


def dialogue_maps(
    dialogues: Sequence[Dialogue],
    labels: Sequence[str],
    vectors: dict[str, np.ndarray],
    *,
    seed: int,
    kind: str = "label",
) -> DialogueMaps | None:
    """Return one map per encoder, each turned to be as close as possible to the first; None without dialogues.

    :param dialogues: n dialogues.
    :param vectors: vectors, float32 [n, d], by title of the map.
    :param kind: word for what the labels are, "label" or "group".
    :param seed: seed of the layout and of the random draw from more than 2,500 dialogues.
    """
    if not dialogues:
        return None
    shown = np.arange(len(dialogues))
    if len(shown) > MOST_POINTS:
        shown = np.sort(np.random.default_rng(seed).choice(len(dialogues), MOST_POINTS, replace=False))
    names, codes = _by_size(np.asarray(labels)[shown])
    layouts = {title: lay_out(rows[shown], seed=seed) for title, rows in vectors.items()}
    first = next(iter(layouts.values())).points
    places = {title: _fit(turned_like(layout.points, first)) for title, layout in layouts.items()}
    maps = [
        EncoderMap(
            title=title,
            method=layouts[title].method,
            # A line of length 0 is the shortest SVG for a point: it shows only its round or square cap.
            layers=["".join(f"M{x} {y}h0" for x, y in points[codes == code]) for code in range(len(names))],
            names=names_of_labels(points, codes, names),
        )
        for title, points in places.items()
    ]
    legend = [Label(name, int((codes == code).sum()), COLOURS[code % len(COLOURS)]) for code, name in enumerate(names)]
    records = [
        [dialogues[i].dialogue_id, int(code), _opening(dialogues[i]), *(p[k].tolist() for p in places.values())]
        for k, (i, code) in enumerate(zip(shown.tolist(), codes, strict=True))
    ]
    return DialogueMaps(maps, kind, legend, _json(names, records), len(shown), len(dialogues) - len(shown))


def _by_size(labels: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return the different labels, the largest first, and the place of each label among them."""
    names, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return [str(name) for name in names[order]], places[codes]


def _fit(points: np.ndarray) -> np.ndarray:
    """Scale the points into the square, int64 [n, 2]: both axes alike, y downwards."""
    low, high = points.min(axis=0), points.max(axis=0)
    extent = float((high - low).max()) or 1.0
    centred = (points - (low + high) / 2) / extent * (SIDE - 2 * MARGIN)
    return np.rint(centred * (1, -1) + SIDE / 2).astype(np.int64)


def names_of_labels(points: np.ndarray, codes: np.ndarray, names: Sequence[str]) -> list[MapName]:
    """Return the name of each label on a map; the name of a smaller label waits until a zoom makes room for it.

    :param points: places of the dialogues, int64 [n, 2].
    :param codes: label of each, int64 [n].
    :param names: names of the labels, the largest first.
    """
    placed, cells = list[MapName](), cells_of(points)
    for label, name in enumerate(names):
        text = cut(name, LONGEST)
        half = text_width(text) // 2 + 1
        middle = middle_of(points[codes == label], cells[codes == label], WIDTH)
        # The page writes it a line higher, so that it does not hide a small group.
        x, y = np.clip(middle, (half, 3 * LINE // 2), (SIDE - half, SIDE - LINE // 2)).round().astype(int).tolist()
        zoom = max([1.0, *(other.apart_from(x, y, text_width(text)) for other in placed)])
        placed.append(MapName(text, label, x, y, text_width(text), zoom))
    return placed


def text_width(text: str) -> int:
    """Return an upper bound of the width of a text in units of the map, in the sizes of common fonts."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return round(0.8 * LINE * (1.05 * wide + 0.72 * (len(text) - wide)))


def _opening(dialogue: Dialogue) -> list[list[str]]:
    opening = excerpt(dialogue, turns=OPENING_TURNS, characters=OPENING_CHARACTERS)
    return [[turn.speaker, turn.text] for turn in opening.turns]


def _json(labels: list[str], records: list[list[object]]) -> str:
    text = json.dumps({"labels": labels, "dialogues": records}, ensure_ascii=False, separators=(",", ":"))
    # Without "<", no text can end the script element.
    return text.replace("<", "\\u003c")


def named_groups(dialogues: Sequence[Dialogue], vectors: NDArray[np.float32], *, seed: int) -> list[str]:
    """Return the name of each dialogue's group: the terms that are frequent in it and rare in the others.

    The groups are those of one k-means run on the directions of the vectors, one per 15 dialogues and at most 20.

    :param dialogues: n dialogues.
    :param vectors: their vectors, float32 [n, d].
    :param seed: seed of k-means.
    """
    if len(dialogues) < 2:
        return [names_of([[]], [1])[0] for _ in dialogues]
    clusters = kmeans(normalised(vectors).astype(np.float32), n_clusters(len(dialogues)), seed)
    # With few distinct vectors some groups stay empty.
    numbers, groups = np.unique(clusters, return_inverse=True)
    terms = characteristic_terms(dialogues, groups.tolist(), len(numbers))
    names = names_of(terms, range(1, len(numbers) + 1))
    return [names[group] for group in groups.tolist()]
