"""JSON and JSON Lines, one object at a time, with the line on which each begins.

Python's own decoder reads them, fed piece by piece. ijson would stream too, but it tells no line numbers and turns half
of an emoji silently into "?".
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dial2vec.data.importing.encodings import Encoding, is_damaged, open_text
from dial2vec.errors import CorpusError

BLOCK = 1 << 20
SPACE = re.compile(r"[ \t\r\n\ufeff]*")
LINE_END = re.compile(r"\r\n|\r|\n")
BY_ID = ("*",)
# Deep enough for {"data": {"items": [...]}}; below it lies the content of dialogues.
DEPTH = 3


class Record(NamedTuple):
    """One row of a table, or one object of a JSON file.

    :param line: on which it begins, counted from 1; in Parquet, which has no lines, its number.
    :param values: by name of the column.
    :param problem: why it cannot be used, as a clause; empty for a good one.
    """

    line: int
    values: dict[str, Any]
    problem: str = ""


def read_json_lines(path: Path, encoding: Encoding) -> Iterator[Record]:
    """Yield one record per line that is not blank; what is no JSON object comes with its problem."""
    with open_text(path, encoding) as text:
        # Not by `LINE_END`: JSON Lines end with a line feed, and a carriage return may stand before it.
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
    problem = "the line is damaged: it holds bytes of no character" if is_damaged(line) else ""
    record = _checked(number, value)
    return record._replace(problem=problem or record.problem)


class JsonText:
    """JSON text that is decoded while it is being read.

    :param text: an open file.
    :param path: for errors.
    """

    def __init__(self, text: io.TextIOWrapper, path: Path) -> None:
        self._text = text
        self._path = path
        self._buffer = ""
        self._at = 0
        self._ended = False
        self._decoder = json.JSONDecoder()
        self.line = 1

    def peek(self) -> str:
        """Return the next character that is no space; an empty string at the end."""
        while True:
            end = SPACE.match(self._buffer, self._at).end()  # type: ignore[union-attr]
            self._move(end)
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._more():
                return ""

    def take(self, expected: str) -> None:
        """Step over one character.

        :raises CorpusError: when another one is there.
        """
        if self.peek() != expected:
            raise self._broken(f"{expected!r} is missing")
        self._move(self._at + 1)

    def value(self) -> Any:
        """Decode the next value whole.

        :raises CorpusError: when the text is no JSON.
        """
        self.peek()
        while True:
            try:
                found, end = self._decoder.raw_decode(self._buffer, self._at)
            except json.JSONDecodeError as error:
                if not self._more():
                    raise self._broken(error.msg) from error
                continue
            except (ValueError, RecursionError) as error:
                raise self._broken("a number of thousands of digits, or nesting without end") from error
            # A number at the end of the buffer may go on behind it.
            if end == len(self._buffer) and not self._ended and self._more():
                continue
            self._move(end)
            return found

    def items(self) -> Iterator[tuple[int, Any]]:
        """Yield the values of a list one by one, each with its line."""
        self.take("[")
        while self.peek() != "]":
            line = self.line
            yield line, self.value()
            if self.peek() != "]":
                self.take(",")
        self.take("]")

    def members(self) -> Iterator[str]:
        """Yield the keys of an object; the caller takes each value before it asks for the next key."""
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
        """Make sure that nothing follows."""
        if self.peek():
            raise self._broken("something follows after the end")

    def _move(self, to: int) -> None:
        self.line += len(LINE_END.findall(self._buffer, self._at, to))
        self._at = to

    def _more(self) -> bool:
        """Read on: as much again as is held, so that a huge value is not decoded from its start for every block."""
        rest = self._buffer[self._at :]
        block = self._text.read(max(BLOCK, len(rest)))
        self._buffer, self._at, self._ended = rest + block, 0, not block
        return bool(block)

    def _broken(self, reason: str) -> CorpusError:
        return CorpusError(
            f"{self._path}:{self.line}: not valid JSON ({reason}); what follows cannot be told. Expected a list of "
            "objects, or an object that holds one. Export it again, or use --format jsonl for one object per line."
        )


def read_json_records(path: Path, encoding: Encoding, under: tuple[str, ...] | None) -> Iterator[Record]:
    """Yield the objects of a JSON file.

    :param under: keys that lead to the list, or to one object that is the only record; an empty tuple for a list at
        the top, None for an object there, `BY_ID` for an object whose keys are ids.
    :raises CorpusError: where the text is no JSON.
    """
    with open_text(path, encoding) as text:
        source = JsonText(text, path)
        if under is None:
            source.peek()
            yield _checked(source.line, source.value())
            source.end()
        elif under == BY_ID:
            yield from (_under_id(source.line, key, source.value()) for key in source.members())
            source.end()
        else:
            yield from _under(source, under)
            source.end()


def _under_id(line: int, key: str, value: object) -> Record:
    record = _checked(line, value)
    return record if record.problem else record._replace(values={"dialogue_id": key} | record.values)


def _under(source: JsonText, keys: tuple[str, ...]) -> Iterator[Record]:
    if not keys and source.peek() == "{":
        yield _checked(source.line, source.value())
        return
    if not keys:
        for line, value in source.items():
            yield _checked(line, value)
        return
    for key in source.members():
        if key == keys[0] and source.peek() in ("{" if keys[1:] else "[{"):
            yield from _under(source, keys[1:])
        else:
            source.value()


def _checked(line: int, value: object) -> Record:
    """Return a record; a list that stands where an object is expected is one dialogue's turns."""
    if isinstance(value, list):
        value = {"turns": value}
    return Record(line, value) if isinstance(value, dict) else Record(line, {}, "not a JSON object")


def lists_of_objects(path: Path, encoding: Encoding) -> dict[tuple[str, ...], dict[str, Any]]:
    """Return the keys that lead to each list of objects in a JSON file, with the first object of each.

    A list at the top is not looked into: there is no other.

    :raises CorpusError: where the text is no JSON.
    """
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    with open_text(path, encoding) as text:
        source = JsonText(text, path)
        if source.peek() == "[":
            return {(): {}}
        _search(source, (), found)
        source.end()
    return found


def _search(source: JsonText, keys: tuple[str, ...], found: dict[tuple[str, ...], dict[str, Any]]) -> None:
    if source.peek() == "[":
        for _, value in source.items():
            if isinstance(value, dict):
                found.setdefault(keys, value)
    elif source.peek() == "{" and len(keys) < DEPTH:
        for key in source.members():
            _search(source, (*keys, key), found)
    else:
        source.value()
