"""Logs of programs with named values in each line: `ts=10:05 role=user msg="Hello"`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from conversations.formats.encodings import Encoding, open_text
from conversations.formats.records import Record
from conversations.guessing.names import by_name, known_names

VALUE = re.compile(r'(?<!\S)([^\W\d][\w.]{0,40})=("(?:[^"\\]|\\.)*"|[^\s"]*)(?!\S)')
# What may stand before the first value: the time and the level.
ABOVE = re.compile(r"^\W{0,2}(\d[\dT:., Z+-]{7,40}?)[\]\s]")


def has_named_values(lines: Sequence[str]) -> bool:
    """Return whether nearly all lines have named values, among them a text and a speaker."""
    filled = [_values(line) for line in lines if line.strip()]
    spoken = [values for values in filled if known_names(list(values)) > 1 and by_name("text", list(values))]
    names = dict.fromkeys(name for values in spoken for name in values)
    return len(spoken) > 1 and 2 * len(spoken) > len(filled) and by_name("speaker", list(names)) is not None


def read_named_values(path: Path, encoding: Encoding) -> Iterator[Record]:
    """Yield the values of each line; a line without any has a problem."""
    with open_text(path, encoding) as text:
        for number, line in enumerate(text, start=1):
            if line.strip():
                values = _values(line)
                yield Record(number, values, "" if values else "the line has no named values")


def _values(line: str) -> dict[str, str]:
    values = {match[1]: _bare(match[2]) for match in VALUE.finditer(line)}
    above = ABOVE.match(line) if values and not by_name("time", list(values)) else None
    return {"time": above[1].strip()} | values if above else values


def _bare(value: str) -> str:
    if not value.startswith('"'):
        return value
    try:
        return str(json.loads(value))
    except ValueError:
        return value[1:-1]
