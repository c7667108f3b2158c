"""The map of the test dialogues: points, legend and the texts that the page's script shows for a point."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dial2vec.dialogue import Dialogue
from dial2vec.evaluation.report.excerpts import excerpt
from dial2vec.evaluation.report.pictures import COLOURS
from dial2vec.evaluation.report.projection import lay_out, turn_like

# Above this t-SNE takes minutes and the page grows by some 400 bytes per dialogue.
MOST_POINTS = 2_500
# Width and height of a map in its own units; whole numbers keep the page small.
SIDE = 1_000
MARGIN = 20
OPENING_TURNS, OPENING_CHARACTERS = 3, 110
MARKS = ("disc", "square", "ring", "frame")


@dataclass(frozen=True, slots=True)
class Label:
    """One entry of the legend; ten colours by four marks, so the looks repeat after 40 labels.

    :param name: the label.
    :param count: dialogues on the map that have it.
    :param colour: such as "#3b82f6".
    :param mark: one of "disc", "square", "ring", "frame".
    """

    name: str
    count: int
    colour: str
    mark: str


@dataclass(frozen=True, slots=True)
class EncoderMap:
    """One of the maps.

    :param title: "Start" or "Trained".
    :param method: "t-SNE" or "PCA".
    :param layers: for each label of the legend, in order, the SVG path of its points.
    """

    title: str
    method: str
    layers: list[str]


@dataclass(frozen=True, slots=True)
class DialogueMaps:
    """All that the page needs for the section of the maps.

    :param maps: one per encoder.
    :param legend: the labels, sorted.
    :param script_data: JSON for the script, safe inside a `<script>` element: {"labels": [...], "dialogues": [[id,
        place of its label, [[speaker, text], ...], [x, y] on each map, ...], ...]}.
    :param shown: dialogues on the maps.
    :param left_out: dialogues beyond 2,500 that were drawn by lot to be left out.
    """

    maps: list[EncoderMap]
    legend: list[Label]
    script_data: str
    shown: int
    left_out: int


def dialogue_maps(
    dialogues: Sequence[Dialogue], labels: Sequence[str], vectors: dict[str, np.ndarray], *, seed: int
) -> DialogueMaps | None:
    """Lay the dialogues out once per encoder, each map turned to lie as close as it can to the first.

    :param dialogues: n dialogues; None is returned for n = 0.
    :param labels: their n labels.
    :param vectors: [n, d] float32 by the title of the map.
    :param seed: seed of the layout, and of the lot where there are more than 2,500 dialogues.
    """
    if not dialogues:
        return None
    shown = np.arange(len(dialogues))
    if len(shown) > MOST_POINTS:
        shown = np.sort(np.random.default_rng(seed).choice(len(dialogues), MOST_POINTS, replace=False))
    names, codes = np.unique(np.asarray(labels)[shown], return_inverse=True)
    layouts = {title: lay_out(rows[shown], seed=seed) for title, rows in vectors.items()}
    first = next(iter(layouts.values())).points
    places = {title: _fit(turn_like(layout.points, first)) for title, layout in layouts.items()}
    maps = [
        EncoderMap(title, layouts[title].method, [_path(points[codes == code]) for code in range(len(names))])
        for title, points in places.items()
    ]
    legend = [
        Label(str(name), int((codes == code).sum()), COLOURS[code % len(COLOURS)], _mark(code))
        for code, name in enumerate(names)
    ]
    records = [
        [dialogues[i].dialogue_id, int(code), _opening(dialogues[i]), *(p[k].tolist() for p in places.values())]
        for k, (i, code) in enumerate(zip(shown.tolist(), codes, strict=True))
    ]
    return DialogueMaps(maps, legend, _json(names.tolist(), records), len(shown), len(dialogues) - len(shown))


def _fit(points: np.ndarray) -> np.ndarray:
    """Return int64 [n, 2] within the square, the same scale in both directions, y downwards as on a page."""
    low, high = points.min(axis=0), points.max(axis=0)
    extent = float((high - low).max()) or 1.0
    centred = (points - (low + high) / 2) / extent * (SIDE - 2 * MARGIN)
    return np.rint(centred * (1, -1) + SIDE / 2).astype(np.int64)


def _path(points: np.ndarray) -> str:
    # A line without length shows as its cap alone, round or square, and is the shortest point that SVG can write.
    return "".join(f"M{x} {y}h0" for x, y in points)


def _mark(code: int) -> str:
    return MARKS[code // len(COLOURS) % len(MARKS)]


def _opening(dialogue: Dialogue) -> list[list[str]]:
    opening = excerpt(dialogue, turns=OPENING_TURNS, characters=OPENING_CHARACTERS)
    return [[turn.speaker, turn.text] for turn in opening.turns]


def _json(labels: list[str], records: list[list[object]]) -> str:
    text = json.dumps({"labels": labels, "dialogues": records}, ensure_ascii=False, separators=(",", ":"))
    # Inside a string "<" can be written as its code, and without "<" no text can end the script element.
    return text.replace("<", "\\u003c")
