"""Tables in a text with rules of `|---|`, and several tables below each other, often with a title above each."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from conversations.formats.encodings import Encoding, open_text
from conversations.formats.partings import is_title
from conversations.formats.records import Record
from conversations.formats.tables import BARS, RULE
from conversations.guessing.names import by_name, known_names
from conversations.result import ImportResult

PARTS = "the names of the columns come again: each table is a dialogue, called by the title above it if it has one"


def has_ruled_table(lines: Sequence[str]) -> bool:
    """Return whether a text is a table of pipes: names of columns above a rule, as in Markdown and of databases.

    A table in a message is only a part of its text.
    """
    filled = [line.strip() for line in lines if line.strip()]
    for bar in BARS:
        barred = [line for line in filled if bar in line or RULE.fullmatch(line)]
        ruled = (above for above, line in pairwise(filled) if bar in above and RULE.fullmatch(line.replace(bar, "")))
        if 2 * len(barred) > len(filled) and any(
            known_names([cell.strip() for cell in line.split(bar)]) > 1 for line in ruled
        ):
            return True
    return False


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
    :param name: Name of the file.
    """
    known: set[str] = set()
    number, above = 1, list[Record]()
    own = _id_of(titles, name, number, known)
    for record in records:
        if _repeats_names(record):
            number += 1
            own = _id_of([_line(title) for title in above], name, number, known)
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


def without_end(records: Iterable[Record], result: ImportResult) -> Iterator[Record]:
    """Leave out what stands below a table of pipes: "(4 rows)", as databases write, or further text."""
    held: list[Record] = []
    for record in records:
        if record.problem and len(record.values) == 1:
            held.append(record)
            continue
        yield from (*held, record)
        held = []
    if held:
        result.notes[f"lines below the table are left out: {len(held)}"] = None


def _filled(record: Record) -> list[str]:
    return [text for cell in record.values.values() if (text := cell.strip())]


def _line(record: Record) -> str:
    return ", ".join(_filled(record))


def _id_of(titles: Sequence[str], name: str, number: int, known: set[str]) -> str:
    """Return an id that is new: the line that numbers the table, or all lines above it."""
    lines = [line.strip("#*=- ") for line in titles]
    own = next((line for line in lines if is_title(line)), ", ".join(filter(None, lines))) or f"{name}-{number}"
    own = own if own not in known else f"{own} ({number})"
    known.add(own)
    return own
