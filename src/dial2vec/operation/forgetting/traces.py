"""Traces of dialogues: the words by which a file is known to hold one, however it is packed or encoded."""

from __future__ import annotations

import bz2
import codecs
import gzip
import html
import io
import json
import lzma
import re
import sqlite3
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import product
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from conversations.dialogue import Dialogue

# Letters of the shortest word that may be a trace.
SHORTEST = 4
WORD = re.compile(r"\w+")
# Bytes read at once, and bytes of a block that are read again with the next one.
BLOCK, OVERLAP = 1 << 24, 1 << 16
# Longest texts that are sought in other encodings.
LONGEST = 100
# Encodings of what is no UTF-8, numpy's among them.
ENCODINGS = (
    *("utf-16-le", "utf-16-be", "utf-32-le", "cp1250", "cp1251", "cp1252", "cp1253", "koi8-r", "cp866", "mac-roman"),
    *("shift_jis", "euc-jp", "gb18030", "big5", "euc-kr"),
)
# First bytes of what one stream is packed in, and of what nobody can search: 7-Zip, PDF.
PACKED: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ": lzma.open,
    b"\x28\xb5\x2f\xfd": lambda handle: pa.CompressedInputStream(handle, "zstd"),
}
CLOSED = (b"7z\xbc\xaf", b"%PDF")
SQLITE = b"SQLite format 3"


class Traces:
    """Texts that only some dialogues leave.

    :param texts: Texts that tell a file, at least 1.
    """

    def __init__(self, texts: set[str]) -> None:
        self._utf_8 = _pattern(texts, ["utf-8"])
        # Whatever is no text would take long to search for thousands.
        self._others = _pattern(set(sorted(texts, key=len)[-LONGEST:]), ENCODINGS)

    def are_in(self, path: Path) -> bool | None:
        """Return whether a file has one; None if nobody can say: it is a PDF, damaged or closed."""
        try:
            with path.open("rb") as handle:
                rows = handle.peek(16).startswith(SQLITE)
                return self._within(handle) or (rows and bool(self.tables_with(path)))
        # A library may raise anything for a damaged file.
        except Exception:
            return None

    def are_in_text(self, text: bytes | str) -> bool:
        """Return whether a text has one."""
        return bool(self._utf_8.search(text.encode("utf-8", "replace") if isinstance(text, str) else text))

    def _within(self, handle: Any) -> bool:
        start = handle.peek(8)[:8]
        if start.startswith(CLOSED):
            raise ValueError("cannot be searched")
        for sign, opened in PACKED.items():
            if start.startswith(sign):
                with opened(handle) as inner:
                    return self._within(io.BufferedReader(inner))
        if start.startswith(b"PK\x03\x04"):
            with zipfile.ZipFile(handle) as archive:
                return any(self._within(archive.open(member)) for member in archive.infolist())
        if start.startswith(b"PAR1"):
            return any(map(self.are_in_text, _cells(handle)))
        return self._in_bytes(handle)

    def _in_bytes(self, handle: BinaryIO) -> bool:
        utf_8, text, tail = codecs.getincrementaldecoder("utf-8")(), True, b""
        while block := handle.read(BLOCK):
            try:
                # Numbers, pictures and databases have such bytes.
                text = text and b"\0" not in block and utf_8.decode(block) is not None
            except UnicodeDecodeError:
                text = False
            read = tail + block
            if self._utf_8.search(read) or (not text and self._others.search(read)):
                return True
            tail = read[-OVERLAP:]
        return False

    def tables_with(self, path: Path) -> list[str]:
        """Return the tables of a database that have one in a row; long texts are in pieces in the file."""
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            rows = ((name, row) for name in names for row in database.execute(f'SELECT * FROM "{name}"'))
            texts = ((name, cell) for name, row in rows for cell in row if isinstance(cell, str | bytes))
            return [*dict.fromkeys(name for name, text in texts if self.are_in_text(text))]


def _cells(handle: BinaryIO) -> Iterator[str]:
    """Yield the texts of a Parquet file as JSON, batch by batch."""
    table = pq.ParquetFile(handle)
    names = [field.name for field in table.schema_arrow if re.search("string|binary", str(field.type))]
    for batch in table.iter_batches(columns=names) if names else ():
        yield json.dumps(batch.to_pylist(), ensure_ascii=False, default=str)


def traces_of(dialogues: Sequence[Dialogue], others: Sequence[Dialogue]) -> tuple[Traces, Traces]:
    """Return what only some dialogues leave: words or turns, and turns as a whole.

    :param others: other dialogues of the same corpus; a word of theirs is no trace.
    """
    known = {word for dialogue in others for turn in dialogue.turns for word in WORD.findall(turn.text)}
    texts = {turn.text for dialogue in others for turn in dialogue.turns}
    own = {turn.text for dialogue in dialogues for turn in dialogue.turns} - texts
    words = {word for text in own for word in WORD.findall(text)} - known
    # A text whose words are all known is a trace if no other turn has it within.
    whole = {text for text in own if len(text) > 2 * SHORTEST and not any(text in other for other in texts)}
    wanted = {word for word in words if len(word) >= SHORTEST} | whole
    turns = {form for dialogue in dialogues for form in _json_forms(dialogue.to_record()["turns"])}
    return Traces(wanted or turns), Traces(whole or turns)


def _json_forms(value: object) -> set[str]:
    """Return a value as JSON, with letters beyond ASCII escaped and as they are."""
    return {json.dumps(value, ensure_ascii=ascii_) for ascii_ in (True, False)}


def _pattern(texts: set[str], encodings: Sequence[str]) -> re.Pattern[bytes]:
    """Return a pattern of texts as they are, in JSON and in HTML, in each encoding that has their letters."""
    shown = {
        form for text in texts for form in (text, *(json_[1:-1] for json_ in _json_forms(text)), html.escape(text))
    }
    forms = set()
    for form, encoding in product(shown, encodings):
        with suppress(UnicodeEncodeError):
            forms.add(form.encode(encoding))
    ends = rb"(?<![0-9A-Za-z_])(?:%s)(?![0-9A-Za-z_])"
    return re.compile(ends % b"|".join(map(re.escape, sorted(forms, key=len, reverse=True))))
