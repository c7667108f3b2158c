"""Traces of dialogues: the words by which a file is known to hold one."""

from __future__ import annotations

import codecs
import gzip
import html
import json
import re
import zlib
from collections.abc import Sequence
from pathlib import Path

from conversations.dialogue import Dialogue

# Letters of the shortest word that may be a trace.
SHORTEST = 4
WORD = re.compile(r"\w+")
# Bytes read at once, and bytes of a block that are read again with the next one.
BLOCK, OVERLAP = 1 << 24, 1 << 16
GZIP = b"\x1f\x8b"
# First bytes of files whose text is packed or in UTF-16: zip, bzip2, xz, zstd, 7-Zip, Parquet, PDF.
PACKED = (
    b"PK\x03\x04",
    b"BZh",
    b"\xfd7zXZ",
    b"\x28\xb5\x2f\xfd",
    b"7z\xbc\xaf",
    b"PAR1",
    b"%PDF",
    b"\xff\xfe",
    b"\xfe\xff",
)


def traces_of(dialogues: Sequence[Dialogue], others: Sequence[Dialogue]) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Return patterns of what only some dialogues leave: words or turns, and turns as a whole.

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
    return _pattern(wanted or turns), _pattern(whole or turns)


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


def holds(path: Path, pattern: re.Pattern[bytes]) -> bool | None:
    """Return whether a file, which may be gzipped, has a match of a pattern.

    :return: None if nobody can say: it is packed otherwise, text that is not UTF-8, damaged or closed.
    """
    utf_8, text, tail = codecs.getincrementaldecoder("utf-8")(), True, b""
    try:
        with path.open("rb") as handle:
            start = handle.read(6)
        if start.startswith(PACKED):
            return None
        with gzip.open(path) if start.startswith(GZIP) else path.open("rb") as handle:
            while block := handle.read(BLOCK):
                if pattern.search(tail + block):
                    return True
                # Numbers, pictures and databases have such bytes.
                text = text and b"\0" not in block
                if text:
                    utf_8.decode(block)
                tail = block[-OVERLAP:]
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        return None
    return False
