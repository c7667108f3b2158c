"""The CSV that people open in spreadsheets; a text that one would take for a formula gets a '."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow.compute import replace_substring_regex
from pyarrow.csv import write_csv

from conversations.dialogue import Dialogue

BEGINNINGS = ("=", "+", "-", "@", "\t", "\r")
# One row per turn, as `dial2vec import` reads it. It would take a column of turn numbers for times.
COLUMNS = ("dialogue_id", "date", "labels", "speaker", "text")


def without_formula(cell: str) -> str:
    """Return a text, with ' before it if a spreadsheet would take it for a formula.

    >>> without_formula("=1+1")
    "'=1+1"
    """
    return f"'{cell}" if cell.startswith(BEGINNINGS) else cell


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table of any size as CSV; its texts and the names of its columns are those of `without_formula`."""
    beginnings = rf"\A([{re.escape(''.join(BEGINNINGS))}])"
    for place, column in enumerate(table.schema):
        cells = table[place]
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            cells = replace_substring_regex(cells, beginnings, r"'\1")
        table = table.set_column(place, without_formula(column.name), cells)
    write_csv(table, path)


def csv_lines(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV; their texts are those of `without_formula`, and numbers stay numbers."""
    written = io.StringIO()
    safe = ([without_formula(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    # The default end of a line: csv in Python 3.11 quotes a line break in a cell only if it is one of these.
    csv.writer(written).writerows(safe)
    return written.getvalue()


def json_lines(dialogues: Iterable[Dialogue]) -> Iterator[str]:
    """Yield a line per dialogue, in the format of `conversations.dialogue.read_dialogues`."""
    for dialogue in dialogues:
        yield json.dumps(dialogue.to_record(), ensure_ascii=False) + "\n"


def comma_separated(dialogues: Iterable[Dialogue]) -> Iterator[str]:
    """Yield the header, then the rows of each dialogue, one per turn; labels are joined by "; ".

    A cell that a spreadsheet would take for a formula starts with '.
    """
    yield csv_lines([COLUMNS])
    for dialogue in dialogues:
        about = (dialogue.dialogue_id, dialogue.date or "", "; ".join(dialogue.labels))
        yield csv_lines((*about, turn.speaker, turn.text) for turn in dialogue.turns)


FORMS: dict[str, Callable[[Iterable[Dialogue]], Iterator[str]]] = {"csv": comma_separated, "jsonl": json_lines}
