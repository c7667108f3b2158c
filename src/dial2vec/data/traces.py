"""Traces of dialogues in files: the words by which a file is known to hold one, and files without them."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import html
import json
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from conversations.dialogue import Dialogue
from conversations.files import atomic_path

# Letters of the shortest word that may be a trace.
SHORTEST = 4
WORD = re.compile(r"\w+")
# Bytes read at once, and bytes of a block that are read again with the next one.
BLOCK, OVERLAP = 1 << 24, 1 << 16
# First bytes of packed files.
PACKED: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}


@dataclass(frozen=True, slots=True)
class Traces:
    """Patterns of bytes that only some dialogues leave.

    :param words: words and turns that no other dialogue of their corpus has.
    :param turns: turns of which no other turn of the corpus has the text.
    :param ids: their ids, in quotes.
    """

    words: re.Pattern[bytes]
    turns: re.Pattern[bytes]
    ids: re.Pattern[bytes]


def traces_of(dialogues: Sequence[Dialogue], others: Sequence[Dialogue]) -> Traces:
    """Return the traces of dialogues: their own words, and their turns as a whole.

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
    names = sorted({form.encode() for dialogue in dialogues for form in _json_forms(dialogue.dialogue_id)})
    return Traces(_pattern(wanted or turns), _pattern(whole or turns), re.compile(b"|".join(map(re.escape, names))))


def _json_forms(value: object) -> set[str]:
    """Return a value as JSON, with letters beyond ASCII escaped and as they are."""
    return {json.dumps(value, ensure_ascii=ascii_) for ascii_ in (True, False)}


def _pattern(texts: set[str]) -> re.Pattern[bytes]:
    """Return a pattern of texts as they are, in JSON and in HTML."""
    forms = {
        form for text in texts for form in (text, *(packed[1:-1] for packed in _json_forms(text)), html.escape(text))
    }
    ends = rb"(?<![0-9A-Za-z_])(?:%s)(?![0-9A-Za-z_])"
    return re.compile(ends % b"|".join(re.escape(form.encode()) for form in sorted(forms, key=len, reverse=True)))


def holds(path: Path, *patterns: re.Pattern[bytes], unread: list[Path]) -> bool:
    """Return whether a file has a match of one of the patterns; packed files (also .xlsx) are read within.

    :param unread: list to which a file is added that cannot be read to its end: locked, encrypted or damaged.
    """
    try:
        return any(pattern.search(block) for block in _blocks(path) for pattern in patterns)
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError, RuntimeError):
        unread.append(path)
        return False


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as handle:
        start = handle.read(6)
    if start.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                yield from _read(archive.open(name))
        return
    unpack = next((unpack for mark, unpack in PACKED.items() if start.startswith(mark)), open)
    yield from _read(cast("IO[bytes]", unpack(path, "rb")))


def _read(opened: IO[bytes]) -> Iterator[bytes]:
    tail, as_utf_8 = b"", None
    with opened as handle:
        while block := handle.read(BLOCK):
            as_utf_8 = as_utf_8 or _decoder(block)
            block = as_utf_8(block)
            yield tail + block
            tail = block[-OVERLAP:]


def _decoder(start: bytes) -> Callable[[bytes], bytes]:
    """Return a function that turns the blocks of a file in UTF-16, known by its mark, into UTF-8."""
    if not start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return bytes
    decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
    return lambda block: decoder.decode(block).encode("utf-8", "replace")


def without_dialogues(path: Path, ids: set[str]) -> None:
    """Write a JSON Lines file again without the dialogues of these ids, atomically; other lines stay as they are."""
    packed = path.suffix.lower() == ".gz"
    lines = (gzip.decompress(path.read_bytes()) if packed else path.read_bytes()).splitlines(keepends=True)
    kept = b"".join(line for line in lines if _id_in(line) not in ids)
    with atomic_path(path) as temporary:
        temporary.write_bytes(gzip.compress(kept) if packed else kept)


def _id_in(line: bytes) -> str | None:
    try:
        record = json.loads(line)
        return str(record["dialogue_id"]) if record.get("dialogue_id") is not None else None
    except (ValueError, TypeError, AttributeError, KeyError):
        return None


def without_label_rows(path: Path, ids: set[str]) -> None:
    """Write `labels.csv` again without the rows of these ids, atomically."""
    with path.open(encoding="utf-8-sig", newline="") as handle:
        rows = [row for row in csv.reader(handle) if not row or row[0] not in ids]
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as handle:
        csv.writer(handle).writerows(rows)
