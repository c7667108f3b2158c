"""Wrappers that databases and interfaces put around values: typed values, edges and nodes, hits, keys as items."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from conversations.formats.records import SHOWN, Record
from conversations.guessing.names import NAMES, by_name, known_names, plain
from conversations.guessing.turns import holds_turns, is_turn, names_speaker
from conversations.values.cells import as_name

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
# Levels of objects and lists of pages around dialogues.
PAGES = 2
# Firebase's keys of pushed items.
PUSHED = re.compile(r"-[\w-]{19}")


def unwrapped(records: Iterator[Record]) -> Iterator[Record]:
    """Return records without wrappers, if the first of them have some."""
    first = list(islice(records, SHOWN))
    records = chain(first, records)
    inner = [_wrapped(record.values) for record in first]
    pages = [items for values in inner if (items := _items(values))]
    # A conversation may go on on the next page.
    ids = [as_name(page[0].get(by_name("id", list(page[0])) or "")) for page in pages]
    if 2 * len(pages) > len(inner) and (
        any(map(_are_several, pages)) or len(set(ids) - {""}) < len(list(filter(None, ids)))
    ):
        return (item for record in records for item in _inner(record, paged=True))
    if all(values == record.values for record, values in zip(first, inner, strict=True)):
        return records
    return (item for record in records for item in _inner(record, paged=False))


def _inner(record: Record, *, paged: bool) -> Iterator[Record]:
    values = _wrapped(record.values)
    for item in values if isinstance(values, list) else (paged and _items(values)) or [values]:
        yield record._replace(values=item) if isinstance(item, dict) else record


def _wrapped(value: dict[str, Any]) -> Any:
    """Return a record without wrappers, with the fields of the only object in it if none of its own can be read."""
    value = without_wrappers(value)
    while isinstance(value, dict):
        inside = [key for key, inner in value.items() if isinstance(inner, dict)]
        lists = any(isinstance(inner, list) and inner for inner in value.values())
        if len(inside) != 1 or lists or known_names([key for key in value if key not in inside]):
            break
        value = {key: inner for key, inner in value.items() if key != inside[0]} | value[inside[0]]
    return value


def _items(value: Any, *, depth: int = PAGES) -> list[dict[str, Any]]:
    """Return the dialogues, or the turns of several dialogues, of a record that is a page of an answer; [] without.

    :param depth: Levels of objects and pages to look into.
    """
    lists = list(_lists_of_objects(value, depth)) if isinstance(value, dict) else []
    if len(lists) != 1:
        return []
    items = [_wrapped(item) for item in lists[0]]
    turns = [item for item in items if names_speaker(item) and by_name("text", list(item))]
    if turns:
        own = by_name("id", [name for name in value if name != "dialogue_id"])
        return items if by_name("id", list(turns[0])) and not own else []
    if any(holds_turns(inner) for item in items for inner in item.values()):
        return items
    inside = [_items(item, depth=depth - 1) for item in items] if depth else []
    return [item for page in inside for item in page] if inside and all(inside) else []


def _are_several(items: Sequence[dict[str, Any]]) -> bool:
    """Return whether the items of a page are dialogues, or turns of more than one."""
    name = by_name("id", list(items[0]))
    turns = any(names_speaker(item) and by_name("text", list(item)) for item in items)
    return not turns or len({as_name(item.get(name or "")) for item in items}) > 1


def _lists_of_objects(value: dict[str, Any], depth: int) -> Iterator[list[dict[str, Any]]]:
    for inner in value.values():
        if isinstance(inner, list) and inner and all(isinstance(item, dict) for item in inner):
            yield inner
        elif isinstance(inner, dict) and depth:
            yield from _lists_of_objects(inner, depth - 1)


def without_wrappers(value: Any) -> Any:
    """Return a value without the wrappers in it."""
    if isinstance(value, list):
        return list(map(without_wrappers, value))
    if not isinstance(value, dict):
        return value
    if (inner := _typed(value)) is not None:
        return without_wrappers(inner)
    if isinstance(edges := value.get("edges"), list) and all(
        isinstance(edge, dict) and "node" in edge for edge in edges
    ):
        return without_wrappers(edges)
    if value and (all(map(PUSHED.fullmatch, value)) or _are_turns(value)):
        return [without_wrappers(value[key]) for key in _in_order(value)]
    turns = {key: turn for key, turn in value.items() if key != "dialogue_id"}
    if len(turns) < len(value) and _are_turns(turns):
        return {"dialogue_id": value["dialogue_id"], "turns": without_wrappers(turns)}
    for key, around in INNER.items():
        if isinstance(inner := value.get(key), dict) and value.keys() <= around:
            related = (value.get("relationships") or {}).items()
            ids = {f"{name}_id": data["id"] for name, end in related if "id" in (data := (end or {}).get("data") or {})}
            own = {name: value[name] for name in ("_id", "id") if name in value}
            return own | ids | without_wrappers(inner)
    return {key: without_wrappers(inner) for key, inner in value.items()}


def _typed(value: dict[str, Any]) -> Any:
    """Return the value of an object that only tells its type, or how it is shown; None for other objects."""
    # ServiceNow writes a field as shown and as kept.
    if value.keys() <= {"display_value", "value", "link"}:
        return value.get("display_value")
    key, inner = next(iter(value.items()))
    return inner if len(value) == 1 and (key in EXTENDED or isinstance(inner, TYPED.get(key, ()))) else None


def _are_turns(value: dict[str, Any]) -> bool:
    """Return whether an object is a list of turns that have their numbers or ids for keys: {"m1": {...}, "m2": {...}}.

    A few of them may be blank. A single key has to have a digit, as ids have.
    """
    if not value or not all(isinstance(turn, dict) for turn in value.values()):
        return False
    if len(value) == 1 and not re.search(r"\d", next(iter(value))):
        return False
    known = any(plain(key) in group for key in value for group in NAMES.values())
    return not known and sum(map(is_turn, value.values())) >= 0.8 * len(value)


def _in_order(keys: Iterable[str]) -> list[str]:
    """Return keys in the order of the numbers at their ends, if all are such: "turn_10" follows "turn_9"."""
    keys = list(keys)
    ends = [re.fullmatch(r"(\D*)(\d{1,15})", key) for key in keys]
    if len({end[1] if end else None for end in ends}) > 1 or not ends[0]:
        return keys
    return sorted(keys, key=lambda key: int(re.sub(r"\D", "", key)))
