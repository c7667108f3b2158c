"""Spans of traces: taken out of what is around them, with attributes as objects, however they were written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from conversations.formats.records import SHOWN, Record
from conversations.values.cells import unpacked
from conversations.vocabulary import word_list, word_set

AROUND = word_list("spans", "around")
IDS = word_set("spans", "ids")
PACKED = word_set("spans", "packed")
TYPES = word_set("spans", "types")
PAIR = {"key", "value", "type"}
ATTRIBUTES = word_list("spans", "attributes")
# Number of names of all attributes; the others are the first words of some.
TREES = 6


def unfolded(records: Iterator[Record]) -> Iterator[Record]:
    """Return the spans in records that are spans or hold some, each with the trace around it; others unchanged.

    The log records of a span, which hold a message each, are its events.
    """
    first = list(islice(records, SHOWN))
    records = chain(first, records)
    if not first or 2 * sum(are_spans(record.values) for record in first) < len(first):
        return records
    return _spans(records)


def _spans(records: Iterator[Record]) -> Iterator[Record]:
    logs: dict[str, Record] = {}
    for record in records:
        for span in list(_inside(record.values)) or [record.values]:
            values = tree(span)
            body = _decoded(values.get("body", values.get("Body")))
            # Spans in a table may have their attributes in columns.
            named = (inner for name in ATTRIBUTES[:TREES] if isinstance(inner := values.get(name), dict))
            values |= {"attributes": next(named, dict(values)), "events": list(map(_event, values.get("events") or []))}
            if body is None:
                yield record._replace(values=values)
                continue
            name = str(values.get("spanId") or values.get("SpanId") or values.get("span_id") or len(logs))
            event = _event(values | {"body": body if isinstance(body, dict) else {"content": body}})
            logs.setdefault(name, record._replace(values=values)).values["events"].append(event)
    yield from logs.values()


def are_spans(values: Any) -> bool:
    """Return whether a record is a span, or holds some."""
    return isinstance(values, dict) and (_is_span(values) or next(_inside(values), None) is not None)


def _inside(values: dict[str, Any], above: dict[str, Any] | None = None) -> Iterator[dict[str, Any]]:
    around = (above or {}) | {name: value for name, value in values.items() if name not in AROUND}
    ids = {name: around[name] for name in IDS & around.keys()}
    for inner in map(_decoded, (values[key] for key in AROUND if values.get(key))):
        items = [ids | item for item in (inner if isinstance(inner, list) else [inner]) if isinstance(item, dict)]
        spans = [{"trace": around} | item for item in items if _is_span(item)]
        yield from spans
        yield from (span for item in items if not _is_span(item) for span in _inside(item, around))
        if spans:
            # A row of MLflow has the spans, and the trace with all of them once more.
            return


def _is_span(values: dict[str, Any]) -> bool:
    """Return whether a record has the id of a trace, and attributes."""
    context = _decoded(values.get("context"))
    if IDS.isdisjoint(values) and (not isinstance(context, dict) or IDS.isdisjoint(context)):
        return False
    named = (_decoded(values.get(name)) for name in ATTRIBUTES)
    dotted = tuple(f"{name}." for name in ATTRIBUTES)
    return any(isinstance(value, dict) or _are_pairs(value) for value in named) or any(
        name.startswith(dotted) for name in values
    )


def _are_pairs(value: Any) -> bool:
    """Return whether a value is a list of objects with a key and a value, or of pairs as Parquet has them."""
    pairs = value if isinstance(value, list) else []
    return bool(pairs) and all(
        isinstance(pair, tuple) or (isinstance(pair, dict) and {"key"} <= pair.keys() <= PAIR) for pair in pairs
    )


def _event(event: Any) -> dict[str, Any]:
    """Return an event, or a log record, with its name as `event` and its attributes beside it."""
    event = event if isinstance(event, dict) else {}
    inner = next((inner for name in ATTRIBUTES[:TREES] if isinstance(inner := event.get(name), dict)), event)
    name = event.get("eventName") or event.get("name") or (inner.get("event") or {}).get("name")
    # Azure packs the content in an attribute.
    body = event.get("body") or _decoded(((inner.get("gen_ai") or {}).get("event") or {}).get("content")) or {}
    return inner | body | {"event": name}


def tree(value: Any) -> Any:
    """Return a value with pairs of keys and values as objects, dotted keys as objects in objects, and typed values."""
    if _are_pairs(value):
        pairs = (pair if isinstance(pair, tuple) else (pair["key"], pair.get("value")) for pair in value)
        return tree({str(key): inner for key, inner in pairs})
    if isinstance(value, list):
        return [tree(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value and value.keys() <= TYPES:
        inner = next((inner for inner in value.values() if inner is not None), None)
        return tree(inner.get("values", []) if isinstance(inner, dict) else inner)
    nested: dict[str, Any] = {}
    for key, inner in value.items():
        packed = key.rpartition(".")[2] in PACKED
        _put(nested, key.split("."), tree(_decoded(inner) if packed else inner))
    return nested


def _put(nested: dict[str, Any], path: Sequence[str], value: Any) -> None:
    for key in path[:-1]:
        inner = nested.get(key)
        nested[key] = nested = inner if isinstance(inner, dict) else {}
    known = nested.get(path[-1])
    if isinstance(known, dict):
        # The columns of a table have gaps.
        value = known | value if isinstance(value, dict) else known
    nested[path[-1]] = value


def _decoded(value: Any) -> Any:
    return unpacked(value) if isinstance(value, str) and value[:1] in ("[", "{") else value
