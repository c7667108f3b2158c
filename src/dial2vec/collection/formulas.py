"""Tables and dialogues for spreadsheets; a text that one would take for a formula gets a '."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyarrow.compute import replace_substring_regex

from conversations.dialogue import Dialogue

BEGINNINGS = ("=", "+", "-", "@", "\t", "\r")
AT_THE_START = r"\A([=+\-@\t\r])"
# One row per turn, as `dial2vec import` reads it. It would take a column of turn numbers for times.
COLUMNS = ("dialogue_id", "date", "labels", "speaker", "text")


def without_formula(cell: str) -> str:
    """Return a text, with ' before it if a spreadsheet would take it for a formula.

    >>> without_formula("=1+1")
    "'=1+1"
    """
    return f"'{cell}" if cell.startswith(BEGINNINGS) else cell


def without_formulas(table: pa.Table) -> pa.Table:
    """Return a table whose texts are those of `without_formula`."""
    for place, column in enumerate(table.schema):
        if column.type == pa.string():
            safe = replace_substring_regex(table[place], AT_THE_START, r"'\1")
            table = table.set_column(place, column.name, safe)
    return table


def json_lines(dialogues: Iterable[Dialogue]) -> Iterator[str]:
    """Yield a line per dialogue, in the format of `conversations.dialogue.read_dialogues`."""
    for dialogue in dialogues:
        yield json.dumps(dialogue.to_record(), ensure_ascii=False) + "\n"


def comma_separated(dialogues: Iterable[Dialogue]) -> Iterator[str]:
    """Yield the header, then the rows of each dialogue, one per turn; labels are joined by "; ".

    A cell that a spreadsheet would take for a formula starts with '.
    """
    yield _rows([COLUMNS])
    for dialogue in dialogues:
        about = (dialogue.dialogue_id, dialogue.date or "", "; ".join(dialogue.labels))
        yield _rows([(*about, turn.speaker, turn.text) for turn in dialogue.turns])


def _rows(rows: Iterable[tuple[str, ...]]) -> str:
    written = io.StringIO()
    csv.writer(written).writerows(map(without_formula, row) for row in rows)
    return written.getvalue()


FORMS: dict[str, Callable[[Iterable[Dialogue]], Iterator[str]]] = {"csv": comma_separated, "jsonl": json_lines}
