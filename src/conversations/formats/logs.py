"""Rows as programs print them: named values in each line, `role=user msg="Hello"`, or a line per column."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from conversations.formats.encodings import Encoding, open_text
from conversations.formats.records import Record
from conversations.guessing.names import by_name, columns_in, known_names
from conversations.vocabulary import patterns

FORMS = patterns("logs")


def has_named_values(lines: Sequence[str]) -> bool:
    """Return whether nearly all lines have named values, among them a text and a speaker."""
    filled = [_values(line) for line in lines if line.strip()]
    spoken = [values for values in filled if known_names(list(values)) > 1 and by_name("text", list(values))]
    names = columns_in(spoken)
    return len(spoken) > 1 and 2 * len(spoken) > len(filled) and by_name("speaker", list(names)) is not None


def read_named_values(path: Path, encoding: Encoding) -> Iterator[Record]:
    """Yield the values of each line; a line without any has a problem."""
    with open_text(path, encoding) as text:
        for number, line in enumerate(text, start=1):
            if line.strip():
                values = _values(line)
                yield Record(number, values, "" if values else "the line has no named values")


def _values(line: str) -> dict[str, str]:
    values = {match[1]: _bare(match[2]) for match in FORMS["value"].finditer(line)}
    above = FORMS["above"].match(line) if values and not by_name("time", list(values)) else None
    return {"time": above[1].strip()} | values if above else values


def _bare(value: str) -> str:
    if not value.startswith('"'):
        return value
    try:
        return str(json.loads(value))
    except ValueError:
        return value[1:-1]


def has_vertical_rows(lines: Sequence[str]) -> bool:
    """Return whether the first line that is not blank is the one above a row."""
    return any(FORMS["row"].fullmatch(line.strip()) for line in [line for line in lines if line.strip()][:1])


def read_vertical(path: Path, encoding: Encoding) -> Iterator[Record]:
    """Yield the rows of a file; a line without a bar in its place goes on with the cell above."""
    bar: int | None = None
    line, cells = 0, dict[str, str]()
    with open_text(path, encoding) as text:
        for number, raw in enumerate(text, start=1):
            bare = raw.rstrip("\r\n")
            if FORMS["row"].fullmatch(bare.strip()):
                yield from [Record(line, cells)] if cells else []
                line, cells = number, {}
                continue
            if bar is None and (match := FORMS["bar"].search(bare)):
                bar = match.start()
            if bar is not None and FORMS["bar"].match(bare, bar):
                cells[bare[:bar].strip()] = bare[bar + 1 :].strip()
            elif cells and bare.strip() and not FORMS["footer"].fullmatch(bare.strip()):
                cells[next(reversed(cells))] += "\n" + bare
    yield from [Record(line, cells)] if cells else []
