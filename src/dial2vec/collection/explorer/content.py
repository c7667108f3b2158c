"""What the page is given: where the points are, what they are coloured by, and what is asked for later."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection import Collection
from dial2vec.collection.explorer.colouring import colourings
from dial2vec.collection.explorer.maps import Maps
from dial2vec.dialogue import Dialogue
from dial2vec.encoder.nearest import nearest_others
from dial2vec.evaluation.report.excerpts import excerpt

SIMILAR = 10
OPENING_TURNS, OPENING_CHARACTERS = 2, 90


def content(collection: Collection, maps: Maps, rows: NDArray[np.int64]) -> dict[str, Any]:
    """Return what the page draws, as JSON: arrays of numbers are base64 of their bytes, the least significant first.

    :param rows: int64 [n], those of the collection that are on the page, in their order there.
    """
    table = collection.rows.take(rows)
    shown = [("trained", collection.manifest.model, maps.trained)]
    shown += [("start", maps.start_name, maps.start)] if maps.start is not None else []
    ways = colourings(collection, rows)
    return {
        "dialogues": len(collection),
        "ids": table["dialogue_id"].to_pylist(),
        "dates": ["" if date is None else f"{date:%Y-%m-%d}" for date in table["date"].to_pylist()],
        "maps": [
            {"title": title, "encoder": name, "points": _packed(one.points[rows].astype("<f4"))}
            for title, name, one in shown
        ],
        "colourings": [
            {
                "title": one.title,
                "names": one.names,
                "counts": one.counts,
                "colours": one.colours,
                "marks": one.marks,
                "codes": _packed(one.codes),
            }
            for one in ways
        ],
        "details": [_told(one.groups) for one in ways if one.groups],
    }


def whole_content(collection: Collection, maps: Maps, rows: NDArray[np.int64]) -> dict[str, Any]:
    """Return what a page without a server needs: `content`, the dialogues, and the ten most similar of each."""
    units = np.asarray(collection.vectors[rows])
    count = min(SIMILAR, len(rows) - 1)
    similar = nearest_others(units, k=count) if count else np.zeros((len(rows), 0), dtype=np.int32)
    # One column of neighbours at a time: all at once would be ten times the vectors.
    cosines = np.zeros((len(rows), count), dtype="<f4")
    for place in range(count):
        cosines[:, place] = (units * units[similar[:, place]]).sum(axis=1)
    return content(collection, maps, rows) | {
        "records": [one.to_record() for one in collection.dialogues(rows.tolist())],
        "similar": {
            "count": count,
            "rows": _packed(similar.astype("<i4")),
            "cosines": _packed(cosines),
        },
    }


def packed(found: dict[str, Any]) -> str:
    """Return content as text that can stand in any element of a page: base64 of packed JSON, which has no "<"."""
    return base64.b64encode(gzip.compress(to_json(found), mtime=0)).decode()


def to_json(found: dict[str, Any]) -> bytes:
    """Return content as JSON without blanks."""
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()


def openings(dialogues: Iterable[Dialogue]) -> list[list[list[str]]]:
    """Return the first turns of dialogues, `[[[speaker, text], ...], ...]`, cut to what a line of a list holds."""
    short = [excerpt(one, turns=OPENING_TURNS, characters=OPENING_CHARACTERS) for one in dialogues]
    return [[[turn.speaker, turn.text] for turn in one.turns] for one in short]


def _told(groups: Sequence[str]) -> dict[str, Any]:
    # Not by an array of texts, which gives each the room of the longest.
    names = sorted(set(groups))
    places = {name: place for place, name in enumerate(names)}
    return {"names": names, "codes": _packed(np.array([places[one] for one in groups], dtype="<i4"))}


def _packed(values: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()
