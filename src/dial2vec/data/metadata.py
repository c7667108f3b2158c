"""Kinds of metadata: whether a key holds numbers, times, categories or texts in a whole corpus; and typed columns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from conversations.dialogue import Value, moment_of

Kind = Literal["number", "time", "category", "text"]
# Key and value of each fact; values are JSON, because one key may hold numbers and texts.
PACKED = pa.map_(pa.string(), pa.string())
# Prefix of a key as the name of a column.
METADATA_PREFIX = "metadata."
MOST_CATEGORIES = 100
# `json.dumps` would make an encoder per value.
TO_JSON = json.JSONEncoder(ensure_ascii=False).encode
# Numbers in exports of texts; not 007, which is a code, and nothing longer than a float keeps.
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?")


@dataclass(slots=True)
class Evidence:
    """What the values of one key have in common so far."""

    count: int = 0
    is_number: bool = True
    is_whole: bool = True
    is_time: bool = True
    is_boolean: bool = True
    distinct: set[Value] = field(default_factory=set)

    def add(self, text: str, count: int) -> None:
        """Add a value, as JSON, that occurs `count` times."""
        self.count += count
        if self.is_settled:
            return
        value = json.loads(text)
        if len(self.distinct) <= MOST_CATEGORIES:
            self.distinct.add(value)
        number = _number(value) if self.is_number else None
        self.is_number = number is not None
        self.is_whole = self.is_whole and isinstance(number, int)
        self.is_time = self.is_time and isinstance(value, str) and "-" in value and moment_of(value) is not None
        self.is_boolean = self.is_boolean and isinstance(value, bool)

    @property
    def is_settled(self) -> bool:
        """True if further values change nothing: the key holds texts."""
        return not (self.is_number or self.is_time or self.is_boolean) and len(self.distinct) > MOST_CATEGORIES

    @property
    def kind(self) -> Kind:
        """Kind of the key: text if there are many values, and few of them repeat."""
        if self.is_number or self.is_time:
            return "number" if self.is_number else "time"
        few = len(self.distinct) <= MOST_CATEGORIES and 2 * len(self.distinct) <= self.count
        return "category" if few or self.is_boolean else "text"

    @property
    def type(self) -> pa.DataType:
        """Arrow type of the key's column."""
        if self.is_number:
            return pa.int64() if self.is_whole else pa.float64()
        if self.is_time:
            return pa.timestamp("us", tz="UTC")
        return pa.bool_() if self.is_boolean else pa.string()


def _number(value: Value) -> float | None:
    """Return a number, also one in a text; None for other values."""
    if isinstance(value, str):
        whole = float if "." in value else int
        return whole(value) if NUMBER.fullmatch(value) else None
    return None if isinstance(value, bool) else value


def packed_metadata(metadata: Iterable[Mapping[str, Value]]) -> pa.Array:
    """Return the metadata of dialogues as a column of type `PACKED`; null without metadata."""
    rows = [[(key, TO_JSON(value)) for key, value in facts.items()] or None for facts in metadata]
    return pa.array(rows, PACKED)


def with_fact(column: pa.ChunkedArray, key: str, values: pa.Array) -> pa.ChunkedArray:
    """Return a packed column with one more key; a dialogue that has the key already keeps its value.

    :param column: packed metadata of n dialogues.
    :param values: text of each dialogue for this key, string [n]; null adds nothing.
    """
    facts = column.combine_chunks()
    absent = pc.map_lookup(facts, pa.scalar(key), "first").is_null()
    new = np.flatnonzero(pc.and_(absent, values.is_valid()).to_numpy(zero_copy_only=False))
    codes = values.take(pa.array(new)).dictionary_encode()
    texts = pa.array([TO_JSON(value) for value in codes.dictionary.to_pylist()], pa.string()).take(codes.indices)
    offsets = facts.offsets.to_numpy().astype(np.int64)
    part = slice(offsets[0], offsets[-1])
    keys = pa.concat_arrays([facts.keys[part], pa.array([key], pa.string()).take(pa.array(np.zeros(len(new), int)))])
    owners = np.concatenate([np.repeat(np.arange(len(facts)), np.diff(offsets)), new])
    order = pa.array(np.argsort(owners, kind="stable"))
    ends = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=len(facts)))])
    items = pa.concat_arrays([facts.items[part], texts])
    return pa.chunked_array([pa.MapArray.from_arrays(pa.array(ends, pa.int32()), keys.take(order), items.take(order))])


def kinds_of(columns: Iterable[pa.ChunkedArray]) -> dict[str, Evidence]:
    """Return what is known of each key in packed columns of one corpus, the most frequent key first."""
    evidence: dict[str, Evidence] = {}
    for column in columns:
        for chunk in column.chunks:
            part = slice(chunk.offsets[0].as_py(), chunk.offsets[-1].as_py())
            pairs = pa.table({"key": chunk.keys[part], "value": chunk.items[part]})
            counted = pairs.group_by(["key", "value"]).aggregate([([], "count_all")])
            lists = (counted[name].to_pylist() for name in ("key", "value", "count_all"))
            for key, value, count in zip(*lists, strict=True):
                evidence.setdefault(key, Evidence()).add(value, count)
    return dict(sorted(evidence.items(), key=lambda item: (-item[1].count, item[0])))


def typed(column: pa.ChunkedArray, key: str, evidence: Evidence) -> pa.Array:
    """Return the values of one key in a packed column, in its own type; null without a value."""
    texts = pc.map_lookup(column, pa.scalar(key), "first").cast(pa.large_string()).combine_chunks()
    codes = texts.dictionary_encode()
    values = [_converted(json.loads(text), evidence) for text in codes.dictionary.to_pylist()]
    return pa.array(values, evidence.type).take(codes.indices)


def _converted(value: Value, evidence: Evidence) -> object:
    if evidence.is_number:
        number = _number(value)
        return number if evidence.is_whole or number is None else float(number)
    if evidence.is_time:
        return moment_of(str(value))
    return value if evidence.is_boolean or isinstance(value, str) else json.dumps(value)


def typed_columns(column: pa.ChunkedArray, kinds: Mapping[str, Evidence]) -> dict[str, pa.Array]:
    """Return the columns `metadata.<key>` of a table."""
    return {f"{METADATA_PREFIX}{key}": typed(column, key, evidence) for key, evidence in kinds.items()}
