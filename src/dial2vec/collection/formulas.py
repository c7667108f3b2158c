"""Tables for spreadsheets: a text that one would take for a formula, which could send other cells away, gets a '."""

from __future__ import annotations

import pyarrow as pa
from pyarrow.compute import replace_substring_regex

BEGINNINGS = ("=", "+", "-", "@", "\t", "\r")
AT_THE_START = r"\A([=+\-@\t\r])"


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
