"""Tables in JSON: the names of the columns once, and cells in lists, as programs for tables and databases save them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conversations.formats.encodings import Encoding, open_text
from conversations.formats.records import JsonText, Record
from conversations.guessing.names import known_names

Row = dict[str, Any]


def rows_below_names(value: Any) -> list[Row] | None:
    """Return the rows of a table with its names in a list of their own, or in the first row; None for other values."""
    if isinstance(value, list):
        return _of_lists(value[0], value[1:]) if len(value) > 1 else None
    lists = [item for item in value.values() if isinstance(item, list)] if isinstance(value, dict) else []
    tables = (_of_lists(names, cells) for names in lists for cells in lists if names is not cells)
    return next((table for table in tables if table), None)


def rows_of_columns(value: Any) -> list[Row] | None:
    """Return the rows of an object that holds the cells of each column, in lists or by row; None for other values."""
    columns = list(value.values()) if isinstance(value, dict) and known_names(list(value)) > 1 else []
    if columns and all(isinstance(column, dict) for column in columns):
        keys = list(columns[0])
        if any(column.keys() != columns[0].keys() for column in columns):
            return None
        columns = [[column[key] for key in keys] for column in columns]
    if not columns or not all(isinstance(column, list) for column in columns):
        return None
    plain = not any(isinstance(cell, dict | list) for column in columns for cell in column)
    if not plain or len({len(column) for column in columns}) > 1:
        return None
    return [dict(zip(value, cells, strict=True)) for cells in zip(*columns, strict=True)]


def _of_lists(names: Any, cells: list[Any]) -> list[Row] | None:
    """Return the rows of a list of names, or of objects with a name, and a list of rows; None if they are none."""
    if not isinstance(names, list) or not cells:
        return None
    names = [name.get("name") if isinstance(name, dict) else name for name in names]
    if not all(isinstance(name, str) for name in names) or known_names(names) < 2:
        return None
    if not all(isinstance(row, list) and len(row) == len(names) for row in cells):
        return None
    return [dict(zip(names, row, strict=True)) for row in cells]


def read_json_table(path: Path, encoding: Encoding) -> Iterator[Record]:
    """Yield the rows of a JSON file that is a table; all have the line on which the table begins.

    :raises CorpusError: if the text is no JSON.
    """
    with open_text(path, encoding) as text:
        source = JsonText(text, path)
        source.peek()
        line, value = source.line, source.value()
        source.end()
    yield from (Record(line, row) for row in rows_below_names(value) or rows_of_columns(value) or ())
