"""Wrappers that databases and interfaces put around values: typed values, edges and nodes, hits, keys as items."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from dial2vec.data.importing.files.records import SHOWN, Record

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
    if value and all(map(PUSHED.fullmatch, value)):
        return [without_wrappers(inner) for inner in value.values()]
    for key, around in INNER.items():
        if isinstance(inner := value.get(key), dict) and value.keys() <= around:
            related = (value.get("relationships") or {}).items()
            ids = {f"{name}_id": data["id"] for name, end in related if "id" in (data := (end or {}).get("data") or {})}
            own = {name: value[name] for name in ("_id", "id") if name in value}
            return own | ids | without_wrappers(inner)
    return {key: without_wrappers(inner) for key, inner in value.items()}
