"""The data of the page as JSON: places and colours of the points, and dialogues for a page without a server."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.explorer.colouring import GREY, colourings
from dial2vec.collection.explorer.groups_content import groups_content
from dial2vec.collection.explorer.maps import Maps
from dial2vec.collection.explorer.meaning import packed_meaning
from dial2vec.collection.explorer.packing import packed_column, packed_dialogues
from dial2vec.collection.explorer.reading import ReaderContent
from dial2vec.evaluation.geometry import cells_of, middle_of

SIMILAR = 10
OPENING_CHARACTERS, QUOTED_CHARACTERS = 90, 400
# How many cells of the map are seen as one place: the name of an area is in the middle of much of it, that of a fine
# topic at its densest spot.
WIDTHS = (4.0, 2.0, 1.0)


def content(collection: CollectionFolder, maps: Maps, rows: NDArray[np.int64]) -> dict[str, Any]:
    """Return the data of the map and the legend for JSON; arrays are base64 of their little-endian bytes.

    :param rows: rows of the collection in the order of the page, int64 [n].
    """
    table = collection.rows.take(rows)
    shown = [("trained", collection.manifest.model, maps.trained)]
    shown += [("start", maps.start_name, maps.start)] if maps.start is not None else []
    ways, groups = colourings(collection, rows), groups_content(collection, rows)
    unclear = {group["name"] for level in groups["groups"] or [] for group in level if group.get("unclear")}
    texts = [[group.get("described") or group["name"] for group in level] for level in groups["groups"] or []]
    return groups | {
        "members": [base64_of(members.astype("<i2")) for members in groups["members"]],
        "similarity": None if groups["similarity"] is None else base64_of(groups["similarity"]),
        "dialogues": len(collection),
        "ids": table["dialogue_id"].to_pylist(),
        "dates": ["" if date is None else f"{date:%Y-%m-%d}" for date in table["date"].to_pylist()],
        "maps": [
            {
                "title": title,
                "encoder": name,
                "points": base64_of(drawn.points[rows].astype("<f4")),
                "names": names_on_map(texts, groups["members"], drawn.points[rows]),
            }
            for title, name, drawn in shown
        ],
        "colourings": [
            {name: getattr(way, name) for name in ("title", "kind", "names", "counts", "marks")}
            | {"colours": [GREY if name in unclear else own for name, own in zip(way.names, way.colours, strict=True)]}
            | {"codes": base64_of(way.codes)}
            for way in ways
        ],
        "details": [_coded(way.groups) for way in ways if way.groups],
    }


def whole_content(collection: CollectionFolder, maps: Maps, rows: NDArray[np.int64]) -> dict[str, Any]:
    """Return the data of a page without a server: `content`, the dialogues, what the reader shows, and the vectors."""
    dialogues = list(collection.dialogues(rows.tolist()))
    return content(collection, maps, rows) | {
        "records": packed_dialogues(dialogues),
        "reading": packed_column(list(ReaderContent(collection).of(rows.tolist(), dialogues))),
        "meaning": packed_meaning(collection, rows),
    }


def to_json(data: dict[str, Any]) -> bytes:
    """Return data as JSON without blanks."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()


def quoted(dialogue: Dialogue, turn: object) -> list[str]:
    """Return speaker and text of a turn, cut to a few lines; [] if the dialogue has no turn of this number."""
    if type(turn) is not int or not 0 <= turn < len(dialogue.turns):
        return []
    return [dialogue.turns[turn].speaker[:OPENING_CHARACTERS], dialogue.turns[turn].text[:QUOTED_CHARACTERS]]


def _coded(groups: Sequence[str]) -> dict[str, Any]:
    # Not by an array of texts, in which each text takes the space of the longest.
    names = sorted(set(groups))
    places = {name: place for place, name in enumerate(names)}
    return {"names": names, "codes": base64_of(np.array([places[group] for group in groups], dtype="<i4"))}


def base64_of(values: NDArray[Any]) -> str:
    """Return the bytes of an array for JSON."""
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()


def names_on_map(
    texts: Sequence[Sequence[str]], members: Sequence[NDArray[np.int16]], points: NDArray[np.float32]
) -> list[dict[str, Any]]:
    """Return the names of all groups for JSON, those of a level in their order.

    A name has a `text`, its `level`, the `id` of its group (its place among all of the level), a place `x` and `y`
    (upwards) and the `size`, the number of its dialogues on the map. One that stands on two levels, as that of an area
    with one topic, is returned for the upper one alone.

    :param texts: names of the groups of each level: areas, topics, fine topics.
    :param members: index of each point's group in `texts` per level, int16 [n]; -1 for none.
    :param points: places on the map, float32 [n, 2].
    """
    names: list[dict[str, Any]] = []
    known: set[str] = set()
    cells = cells_of(points)
    for level, (own, groups) in enumerate(zip(texts, members, strict=True)):
        for id, text in enumerate(own):
            rows = np.flatnonzero(groups == id)
            if text not in known and len(rows):
                x, y = middle_of(points[rows], cells[rows], WIDTHS[level])
                names.append({"text": text, "level": level, "id": id, "x": x, "y": y, "size": len(rows)})
        known.update(own)
    return names
