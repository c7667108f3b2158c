"""MessagePack, in which LangGraph stores the states of agents: plain values, and objects as their fields."""

from __future__ import annotations

import struct
from typing import Any

# By the first byte: forms of numbers, and kinds of values with the bytes of their lengths
# (https://github.com/msgpack/msgpack/blob/master/spec.md).
NUMBERS = dict(zip(range(0xCA, 0xD4), ("f", "d", "B", "H", "I", "Q", "b", "h", "i", "q"), strict=True))
CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
SIZED = {0xC4 + at: (kind, 1 << at % 3) for at, kind in enumerate(3 * ["bytes"] + 3 * ["object"])}
SIZED |= {0xD9 + at: ("text", 1 << at) for at in range(3)}
SIZED |= {0xDC: ("list", 2), 0xDD: ("list", 4), 0xDE: ("map", 2), 0xDF: ("map", 4)}
FIXED = ((0x80, 0x90, "map"), (0x90, 0xA0, "list"), (0xA0, 0xC0, "text"))


def unpacked_bytes(data: bytes) -> Any:
    """Return the value of a map in MessagePack; None if the bytes are something else."""
    if not data or not (0x80 <= data[0] < 0x90 or data[0] in (0xDE, 0xDF)):
        return None
    try:
        value, end = _value(data, 0)
    except (IndexError, KeyError, ValueError, TypeError, struct.error, RecursionError):
        return None
    return value if end == len(data) else None


def _value(data: bytes, at: int) -> tuple[Any, int]:
    first, at = data[at], at + 1
    if first < 0x80 or first >= 0xE0:
        return first - (256 if first >= 0xE0 else 0), at
    if first in CONSTANTS:
        return CONSTANTS[first], at
    if form := NUMBERS.get(first):
        return struct.unpack_from(f">{form}", data, at)[0], at + struct.calcsize(form)
    if 0xD4 <= first <= 0xD8:
        return _sized(data, at, "object", 1 << first - 0xD4)
    if fixed := next(((kind, first - low) for low, high, kind in FIXED if low <= first < high), None):
        return _sized(data, at, *fixed)
    kind, length = SIZED[first]
    return _sized(data, at + length, kind, int.from_bytes(data[at : at + length], "big"))


def _sized(data: bytes, at: int, kind: str, size: int) -> tuple[Any, int]:
    if kind in ("text", "bytes"):
        return data[at : at + size].decode("utf-8", "strict" if kind == "text" else "replace"), at + size
    if kind == "object":
        # The type, then the module, the class and the fields of a Python object.
        inner = _value(data, at + 1)[0] if data[at + 1 : at + 2] else None
        return inner[2] if isinstance(inner, list) and len(inner) > 2 else inner, at + 1 + size
    items = []
    for _ in range(size * (2 if kind == "map" else 1)):
        item, at = _value(data, at)
        items.append(item)
    return (dict(zip(items[::2], items[1::2], strict=True)) if kind == "map" else items), at
