"""Rows with a line per column, as MySQL and PostgreSQL print them on demand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from conversations.formats.encodings import Encoding, open_text
from conversations.formats.records import Record

# "*** 1. row ***" with more stars, "-[ RECORD 1 ]---"
ROW = re.compile(r"\*{9,}\s\d+\.\srow\s\*{9,}|-\[\sRECORD\s\d+\s\][-+]*")
BAR = re.compile(r"[:|]")
FOOTER = re.compile(r"\(?\d+ rows?(?: in set.*|\))?")


def has_vertical_rows(lines: Sequence[str]) -> bool:
    """Return whether the first line that is not blank is the one above a row."""
    return any(ROW.fullmatch(line.strip()) for line in [line for line in lines if line.strip()][:1])


def read_vertical(path: Path, encoding: Encoding) -> Iterator[Record]:
    """Yield the rows of a file; a line without a bar in its place goes on with the cell above."""
    bar: int | None = None
    line, cells = 0, dict[str, str]()
    with open_text(path, encoding) as text:
        for number, raw in enumerate(text, start=1):
            bare = raw.rstrip("\r\n")
            if ROW.fullmatch(bare.strip()):
                yield from [Record(line, cells)] if cells else []
                line, cells = number, {}
                continue
            if bar is None and (match := BAR.search(bare)):
                bar = match.start()
            if bar is not None and BAR.match(bare, bar):
                cells[bare[:bar].strip()] = bare[bar + 1 :].strip()
            elif cells and bare.strip() and not FOOTER.fullmatch(bare.strip()):
                cells[next(reversed(cells))] += "\n" + bare
    yield from [Record(line, cells)] if cells else []
