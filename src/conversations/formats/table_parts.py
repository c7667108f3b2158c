"""Tables in a text with rules of `|---|`, and several tables below each other, often with a title above each."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from conversations.formats.encodings import Encoding, open_text
from conversations.formats.partings import is_title
from conversations.formats.plain_text import split_speaker
from conversations.formats.records import Record
from conversations.formats.tables import BARS, SAMPLED_LINES, table_lines
from conversations.guessing.names import by_name
from conversations.result import ImportResult

PARTS = "the names of the columns come again: each table is a dialogue, called by the title above it if it has one"


def has_ruled_table(lines: Sequence[str]) -> bool:
    """Return whether a text holds tables with a rule of `|---|` that have as many rows as other lines name speakers.

    A table in a message is only a part of its text.
    """
    for bar in BARS:
        kept = table_lines(lines, bar)
        others = [line for line, row in zip(lines, kept or (), strict=False) if not row and split_speaker(line.strip())]
        if kept and sum(bar in row for row in kept) > len(others):
            return True
    return False


def lines_outside(path: Path, encoding: Encoding, delimiter: str) -> int:
    """Return the number of lines of a text that are not part of its tables."""
    with open_text(path, encoding) as text:
        lines = list(islice(text, SAMPLED_LINES))
        if not table_lines(lines, delimiter):
            return 0
        lines += text
    kept = table_lines(lines, delimiter) or lines
    return sum(bool(line.strip(" \t\r\n-+|:=")) and not row for line, row in zip(lines, kept, strict=True))


def are_parted(path: Path, encoding: Encoding, names: Sequence[str], delimiter: str) -> bool:
    """Return whether a file without ids holds several tables: the line with the names of its columns comes again."""
    if by_name("id", names) or by_name("own id", names):
        return False
    with open_text(path, encoding) as text:
        lines = (line.strip() for line in text)
        first = next((line for line in lines if next(csv.reader([line], delimiter=delimiter), []) == list(names)), "")
        return bool(first) and any(line == first for line in lines)


def in_parts(records: Iterable[Record], titles: Sequence[str], name: str) -> Iterator[Record]:
    """Yield the rows of several tables with an id for each table: its title, or the file's name and a number.

    :param titles: Lines above the first table.
    """
    known: set[str] = set()
    number, above = 1, list[Record]()
    own = _id_of(titles, name, number, known)
    for record in records:
        if _repeats_names(record):
            number += 1
            own = _id_of([", ".join(_filled(title)) for title in above], name, number, known)
            above = []
        elif record.problem or len(_filled(record)) < 2:
            above.append(record)
        else:
            yield from (row._replace(values={"dialogue_id": own} | row.values) for row in (*above, record))
            above = []
    yield from (row._replace(values={"dialogue_id": own} | row.values) for row in above)


def without_names(records: Iterable[Record], result: ImportResult) -> Iterator[Record]:
    """Leave out rows that repeat the names of the columns, as in tables that were put below each other."""
    for record in records:
        if _repeats_names(record):
            result.repeated += 1
        else:
            yield record


def _repeats_names(record: Record) -> bool:
    cells = record.values.items()
    same = (cell.strip() == name or (not cell and name.startswith("column ")) for name, cell in cells)
    return bool(cells) and not record.problem and all(same)


def _filled(record: Record) -> list[str]:
    return [text for cell in record.values.values() if (text := cell.strip())]


def _id_of(titles: Sequence[str], name: str, number: int, known: set[str]) -> str:
    """Return an id that is new: the line that numbers the table, or all lines above it."""
    lines = [line.strip("#*=- ") for line in titles]
    own = next((line for line in lines if is_title(line)), ", ".join(filter(None, lines))) or f"{name}-{number}"
    own = own if own not in known else f"{own} ({number})"
    known.add(own)
    return own
