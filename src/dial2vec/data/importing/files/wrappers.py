"""Wrappers that databases and interfaces put around values: typed values, edges and nodes, hits, keys as items."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from dial2vec.data.importing.files.records import SHOWN, Record
from dial2vec.data.importing.guessing.turns import is_turn

# Objects with one key that tells the type of their value: MongoDB's, and DynamoDB's with the type of its content.
EXTENDED = {"$oid", "$date", "$numberLong", "$numberInt", "$numberDouble", "$numberDecimal", "$uuid"}
TYPED = {"S": str, "N": str, "BOOL": bool, "M": dict, "L": list, "SS": list}
# Keys of an object that is the record itself, and those that stand around it.
INNER = {
    "_source": {"_index", "_type", "_id", "_score", "_source", "sort", "_version", "_seq_no", "_primary_term"},
    "node": {"node", "cursor"},
    "Item": {"Item", "Metadata", "Keys", "WriteTimestampMicros"},
    "attributes": {"id", "type", "attributes", "relationships", "links", "meta"},
}
# Firebase's keys of pushed items.
PUSHED = re.compile(r"-[\w-]{19}")


def unwrapped(records: Iterator[Record]) -> Iterator[Record]:
    """Return records without wrappers, if the first of them have some."""
    first = list(islice(records, SHOWN))
    records = chain(first, records)
    if all(without_wrappers(record.values) == record.values for record in first):
        return records
    return (inner for record in records for inner in _inner(record))


def _inner(record: Record) -> Iterator[Record]:
    values = without_wrappers(record.values)
    for item in values if isinstance(values, list) else [values]:
        yield record._replace(values=item) if isinstance(item, dict) else record


def without_wrappers(value: Any) -> Any:
    """Return a value without the wrappers in it."""
    if isinstance(value, list):
        return list(map(without_wrappers, value))
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        [(key, inner)] = value.items()
        if key in EXTENDED or (key in TYPED and isinstance(inner, TYPED[key])):
            return without_wrappers(inner)
    if isinstance(edges := value.get("edges"), list) and all(
        isinstance(edge, dict) and "node" in edge for edge in edges
    ):
        return without_wrappers(edges)
    if value and (all(map(PUSHED.fullmatch, value)) or _is_numbered(value)):
        keys = sorted(value, key=int) if _is_numbered(value) else value
        return [without_wrappers(value[key]) for key in keys]
    turns = {key: turn for key, turn in value.items() if key != "dialogue_id"}
    if len(turns) < len(value) and _is_numbered(turns):
        return {"dialogue_id": value["dialogue_id"], "turns": without_wrappers(turns)}
    for key, around in INNER.items():
        if isinstance(inner := value.get(key), dict) and value.keys() <= around:
            related = (value.get("relationships") or {}).items()
            ids = {f"{name}_id": data["id"] for name, end in related if "id" in (data := (end or {}).get("data") or {})}
            own = {name: value[name] for name in ("_id", "id") if name in value}
            return own | ids | without_wrappers(inner)
    return {key: without_wrappers(inner) for key, inner in value.items()}


def _is_numbered(value: dict[str, Any]) -> bool:
    """Return whether an object is a list of turns that have their numbers for keys: {"0": {...}, "1": {...}}."""
    numbers = sorted(int(key) for key in value if key.isdecimal() and len(key) < 7)
    counted = len(numbers) == len(value) > 1 and numbers in (list(range(len(value))), list(range(1, len(value) + 1)))
    return counted and all(isinstance(turn, dict) and is_turn(turn) for turn in value.values())
