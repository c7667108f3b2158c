"""Dialogues and numbers in few bytes, for a page without a server; `unpacking.js` reads them."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue

# Characters of base 85 that have a meaning in HTML, and those that take their place.
MARKUP, PLAIN = b"<>&", b",:."


def packed(data: dict[str, Any]) -> str:
    """Return data as gzipped JSON in base 85: it has no "<" and no "&", so it is safe in any element of a page.

    Base 85 takes 5 characters for 4 bytes, base 64 takes 4 for 3: a sixteenth more.
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    # Half of a surrogate pair, which JSON can hold, is no UTF-8.
    return dense(gzip.compress(text.encode("utf-8", "replace"), mtime=0))


def dense(content: bytes) -> str:
    """Return bytes in base 85, without characters that have a meaning in HTML."""
    return base64.b85encode(content).translate(bytes.maketrans(MARKUP, PLAIN)).decode()


def json_of_packed(content: str) -> bytes:
    """Return the JSON of which `packed` made this."""
    return gzip.decompress(base64.b85decode(content.encode().translate(bytes.maketrans(PLAIN, MARKUP))))


def packed_dialogues(dialogues: Iterable[Dialogue]) -> dict[str, Any]:
    """Return dialogues for JSON: the `texts` of all turns, one dialogue after the other, and all else.

    :return: `texts`, and `records`, the column (`packed_column`) of `Dialogue.to_record` with the speaker of each turn
        in place of the turn.
    """
    texts: list[str] = []
    records = []
    for record in (dialogue.to_record() for dialogue in dialogues):
        texts += [turn["text"] for turn in record["turns"]]
        records.append(record | {"turns": [turn["speaker"] for turn in record["turns"]]})
    return {"texts": texts, "records": packed_column(records)}


def packed_column(values: Sequence[Any]) -> dict[str, Any]:
    """Return values for JSON as a column, so that a key or a frequent value is there once.

    :param values: values of JSON.
    :return: `keys`, the column of the keys of each object, and `columns`, a column for each key, if all values are
        objects or None. Otherwise the distinct `values`, and in `codes` the index of each, -1 for None; or just all
        `values`, if most are distinct.
    """
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, dict) for value in known):
        keys = dict.fromkeys(key for value in known for key in value)
        columns = {key: packed_column([None if value is None else value.get(key) for value in values]) for key in keys}
        return {"keys": packed_column([None if value is None else list(value) for value in values]), "columns": columns}
    # By their JSON, because True equals 1, and a list is no key.
    texts = [json.dumps(value) for value in values]
    distinct = {text: value for text, value in zip(texts, values, strict=True) if value is not None}
    if 2 * len(distinct) > len(values):
        return {"values": list(values)}
    places = {text: place for place, text in enumerate(distinct)}
    return {"values": list(distinct.values()), "codes": [places.get(text, -1) for text in texts]}


def packed_numbers(codes: NDArray[np.int64]) -> str:
    """Return whole numbers from -16,384 to 16,383 in few bytes, [m, k].

    Each number is doubled and, if it is negative, turned around, so that small ones have a high byte of 0. The low
    bytes are followed by the high bytes, both column by column, and deflated. The page's gzip makes up for base 64.
    """
    unsigned = ((codes << 1) ^ (codes >> 63)).T.astype("<u2")
    planes = np.ascontiguousarray(unsigned).view(np.uint8).reshape(-1, 2).T
    return base64.b64encode(zlib.compress(np.ascontiguousarray(planes).tobytes(), 9)).decode()
