"""JSON and JSON Lines, one object at a time, with the line on which each begins.

Python's own decoder reads them piece by piece. ijson streams too, but gives no line numbers and silently turns half of
an emoji into "?".
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from conversations.errors import CorpusError
from conversations.formats.encodings import Encoding, is_damaged, open_text
from conversations.guessing.names import known_names

BLOCK = 1 << 20
# In front of JSON in a program's file, "window.YTD.tweets.part0 = [", a semicolon behind it.
ASSIGNMENT = re.compile(
    r"[\s\ufeff]*(?:export\s+default\s|(?:(?:export\s+)?(?:var|let|const)\s+)?[\w.$\[\]\"']{1,200}\s*=)\s*(?=[\[{])"
)
SPACE = re.compile(r"[ \t\r\n\ufeff]*")
LINE_END = re.compile(r"\r\n|\r|\n")
BY_ID = ("*",)
EACH = ("**",)
# Deep enough for {"data": {"items": {"id": {"messages": [...]}}}}; deeper levels are the content of dialogues.
DEPTH = 4
# Number of first items of a list by which its content is recognised.
SHOWN = 30
Row = dict[str, Any]


class Record(NamedTuple):
    """One row of a table, or one object of a JSON file.

    :param line: First line, counted from 1; the row number in Parquet, which has no lines.
    :param values: Values by name of the column.
    :param problem: Reason why it cannot be used, as a clause; "" if it can.
    """

    line: int
    values: dict[str, Any]
    problem: str = ""


def changed(records: Iterable[Record], change: Callable[[dict[str, Any]], dict[str, Any]]) -> Iterator[Record]:
    """Return records with changed values."""
    return (record._replace(values=change(record.values)) for record in records)


def read_json_lines(path: Path, encoding: Encoding) -> Iterator[Record]:
    """Yield one record per line that is not blank; a line that is no JSON object has a problem."""
    with open_text(path, encoding) as text:
        # Not split by `LINE_END`: JSON Lines end with a line feed, which may follow a carriage return.
        for number, line in enumerate(io.TextIOWrapper.__iter__(text), start=1):
            stripped = line.strip(" \t\r\n\ufeff")
            if stripped:
                yield _record(number, stripped)


def _record(number: int, line: str) -> Record:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        return Record(number, {}, f"not valid JSON ({error.msg} at column {error.colno})")
    except (ValueError, RecursionError):
        return Record(number, {}, "not valid JSON (a number of thousands of digits, or nesting without end)")
    problem = "the line is damaged: it holds bytes that are not valid characters" if is_damaged(line) else ""
    record = _checked(number, value)
    return record._replace(problem=problem or record.problem)


class JsonText:
    """JSON text that is decoded while it is being read.

    :param text: Open file.
    :param path: File to name in errors.
    """

    def __init__(self, text: io.TextIOWrapper, path: Path) -> None:
        self._text = text
        self._path = path
        self._buffer = ""
        self._at = 0
        self._ended = False
        self._decoder = json.JSONDecoder()
        self.line = 1
        self._more()
        if match := ASSIGNMENT.match(self._buffer):
            self._move(match.end())

    def peek(self) -> str:
        """Return the next character that is no space; "" at the end."""
        while True:
            end = SPACE.match(self._buffer, self._at).end()  # type: ignore[union-attr]
            self._move(end)
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._more():
                return ""

    def take(self, expected: str) -> None:
        """Step over the expected character.

        :raises CorpusError: if another character is next.
        """
        if self.peek() != expected:
            raise self._broken(f"{expected!r} is missing")
        self._move(self._at + 1)

    def value(self) -> Any:
        """Decode the next complete value.

        :raises CorpusError: if the text is no JSON.
        """
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._buffer, self._at)
            except json.JSONDecodeError as error:
                if not self._more():
                    raise self._broken(error.msg) from error
                continue
            except (ValueError, RecursionError) as error:
                raise self._broken("a number of thousands of digits, or nesting without end") from error
            # A number at the end of the buffer may continue after it.
            if end == len(self._buffer) and not self._ended and self._more():
                continue
            self._move(end)
            return value

    def items(self) -> Iterator[tuple[int, Any]]:
        """Yield line and value of each item of a list."""
        self.take("[")
        while self.peek() != "]":
            line = self.line
            yield line, self.value()
            if self.peek() != "]":
                self.take(",")
        self.take("]")

    def members(self) -> Iterator[str]:
        """Yield the keys of an object; the caller reads each value before it asks for the next key."""
        self.take("{")
        while self.peek() != "}":
            key = self.value()
            if not isinstance(key, str):
                raise self._broken("a key must be a string")
            self.take(":")
            yield key
            if self.peek() != "}":
                self.take(",")
        self.take("}")

    def end(self) -> None:
        """Raise if anything follows but the semicolon behind an assignment."""
        if self.peek() == ";":
            self.take(";")
        if self.peek():
            raise self._broken("something follows after the end")

    def _move(self, to: int) -> None:
        self.line += len(LINE_END.findall(self._buffer, self._at, to))
        self._at = to

    def _more(self) -> bool:
        """Read on and double the buffer, so that a huge value is not decoded from its start again for every block."""
        rest = self._buffer[self._at :]
        block = self._text.read(max(BLOCK, len(rest)))
        self._buffer, self._at, self._ended = rest + block, 0, not block
        return bool(block)

    def _broken(self, reason: str) -> CorpusError:
        return CorpusError(
            f"{self._path}:{self.line}: not valid JSON ({reason}), and the rest cannot be read. Expected a list of "
            "objects, or an object that holds one. Export it again, or use --format jsonl for one object per line."
        )


def read_json_records(path: Path, encoding: Encoding, under: tuple[str, ...] | None) -> Iterator[Record]:
    """Yield the objects of a JSON file.

    :param under: Keys that lead to the list of records, or to the only record: () for a list at the top, None for an
        object at the top, `BY_ID` for an object whose keys are ids, `EACH` for all objects or lists of an object.
    :raises CorpusError: if the text is no JSON.
    """
    with open_text(path, encoding) as text:
        source = JsonText(text, path)
        if under is None or (not under and source.peek() == "{"):
            # Some programs write one object after the other.
            while source.peek():
                yield _checked(source.line, source.value())
                if source.peek() == ",":
                    source.take(",")
        else:
            yield from _under(source, under)
        source.end()


def _under_id(line: int, key: str, value: object) -> Record:
    record = _checked(line, {"transcript": value} if isinstance(value, str) else value)
    return record if record.problem else record._replace(values={"dialogue_id": key} | record.values)


def _under(source: JsonText, keys: tuple[str, ...], above: str = "") -> Iterator[Record]:
    if keys == BY_ID:
        yield from (_under_id(source.line, f"{above}{key}", source.value()) for key in source.members())
    elif not keys and source.peek() == "{":
        yield _checked(source.line, source.value())
    elif not keys:
        for line, value in source.items():
            yield _checked(line, value)
    else:
        for key in source.members():
            wanted = key == keys[0] or keys[:1] in (BY_ID, EACH)
            if wanted and source.peek() in ("{" if keys[1:] else "[{"):
                yield from _under(source, keys[1:], f"{above}{key}/" if keys[:1] == BY_ID else above)
            else:
                source.value()


def _checked(line: int, value: object) -> Record:
    """Return a record; a list in place of an object holds the turns of one dialogue."""
    if isinstance(value, list):
        value = {"turns": value}
    return Record(line, value) if isinstance(value, dict) else Record(line, {}, "not a JSON object")


def outline(path: Path, encoding: Encoding) -> Any:
    """Return the content of a JSON file with the first `SHOWN` items of each list down to `DEPTH` keys.

    A list at the top is not read to its end. Several objects, one after the other, are returned as a list.

    :raises CorpusError: if the text is no JSON.
    """
    with open_text(path, encoding) as text:
        source = JsonText(text, path)
        if source.peek() == "[":
            return [value for _, value in islice(source.items(), SHOWN)]
        first = _outline(source, DEPTH)
        if not source.peek():
            return first
        several = [first]
        while source.peek() and len(several) < SHOWN:
            if source.peek() == ",":
                source.take(",")
            several.append(source.value())
        return several


def _outline(source: JsonText, depth: int) -> Any:
    if source.peek() == "[":
        shown: list[Any] = []
        for _, value in source.items():
            if len(shown) < SHOWN:
                shown.append(value)
        return shown
    if source.peek() == "{" and depth:
        return {key: _outline(source, depth - 1) for key in source.members()}
    return source.value()


def lists_in(outlined: Any) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """Return the objects of each list of objects in an outline, by the keys that lead to the list; () is the top."""
    if isinstance(outlined, list):
        return {(): [value for value in outlined if isinstance(value, dict)]}
    return dict(_lists_in(outlined, ()))


def below_ids(places: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the keys that lead to the objects or lists whose keys are ids, for places of one length that differ.

    Of several levels of ids, such as users and their sessions, the upper ones belong to the id only if the lower ones
    come again.
    """
    levels = [set(level) for level in zip(*places, strict=True)]
    last = max(at for at, level in enumerate(levels) if len(level) > 1)
    above = {place[: last + 1] for place in places}
    upper = EACH if len({place[last] for place in above}) == len(above) else BY_ID
    return (*(key for level in levels[:last] for key in (upper if len(level) > 1 else tuple(level))), *BY_ID)


def each_of(places: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the keys that lead to all of several lists, which may be one, for places of one length."""
    levels = (set(level) for level in zip(*places, strict=True))
    return tuple(key for level in levels for key in (EACH if len(level) > 1 else level))


def _lists_in(value: Any, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], list[dict[str, Any]]]]:
    if isinstance(value, list):
        if objects := [item for item in value if isinstance(item, dict)]:
            yield keys, objects
    elif isinstance(value, dict) and len(keys) < DEPTH:
        for key, inner in value.items():
            yield from _lists_in(inner, (*keys, key))


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
