"""Text from bytes: gzip, byte order marks, and a guess at the code page of a file that is not UTF-8."""

from __future__ import annotations

import codecs
import gzip
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from conversations.errors import CorpusError
from conversations.files import reading_errors
from conversations.vocabulary import word_lists

BLOCK = 1 << 20
EXPORT = "an export to import"
SAMPLE = 1 << 18
# Longer marks first: the mark of UTF-32 begins with the mark of UTF-16.
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
ESCAPED = re.compile("[\udc80-\udcff]")
# Guesses are limited to code pages of real exports: short texts fit many rare ones equally well.
PLAUSIBLE = ["cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp932", "gb18030", "big5", "euc_kr", "koi8_r"]
# Japanese kana, which have the same bytes in EUC-JP and in the Chinese code page; Chinese texts have none.
KANA = re.compile("[\u3041-\u30fa]")
# The most common one first; it counts if others fit no better.
PAGES = ("cp1252", "cp1250", "cp1254", "mac_roman")
# The letters beyond ASCII of each language.
LANGUAGES = tuple(word_lists("letters").values())
SIGNS = "“”‘’„‚–—…€£§°«»¿¡•™©®\u00a0´½¼¾²³·†×÷±¢¥µ‹›"
# Signs that stand between letters: "l’été".
INSIDE = "’·\u00a0-–—"
# Letters of Hebrew with signs beside them; the five final letters stand at the ends of words.
HEBREW = re.compile(rb"[\xe0-\xfa]")
OTHER_THAN_HEBREW = re.compile(rb"[\x80-\x84\x8a-\x90\x9a\x9c-\x9f\xbc-\xdf\xfb\xfc\xff]")
FINAL = re.compile(rb"[\xea\xed\xef\xf3\xf5](?=[\xe0-\xfa])")
AT_END = re.compile(rb"[\xea\xed\xef\xf3\xf5](?![\xe0-\xfa])")
# Letters of Arabic and Persian; between them the page has letters of French, which Cyrillic and Greek need.
ARABIC = re.compile(rb"[\x81\x8d\x8e\x90\x98\xaa\xc0-\xd6\xd8-\xdf\xe1\xe3-\xe6\xec\xed]")
OTHER_THAN_ARABIC = re.compile(rb"[\x83\x88\x8c\x9c\xd7\xe0\xe2\xe7-\xeb\xee\xef\xf4\xf9\xfb\xfc]")
SMALL = re.compile(rb"[\xe1\xe3-\xe6\xec\xed]")
ALEF, LAM = b"\xc7", b"\xe1"
# Least number of letters by which a page is told.
LEAST = 8


@dataclass(frozen=True, slots=True)
class Encoding:
    """Encoding of a file.

    :param name: Python's name of the encoding.
    :param how: Origin of the name, for the summary: "UTF-8", "byte order mark", "guessed", "as given" or
        "except N damaged places".
    """

    name: str
    how: str

    def __str__(self) -> str:
        return {"utf-8": "UTF-8", "utf-8-sig": "UTF-8", "utf-16": "UTF-16", "utf-32": "UTF-32"}.get(
            self.name, self.name
        ) + ("" if self.how == "UTF-8" else f" ({self.how})")


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading, and unpack `.gz`.

    :raises CorpusError: if it is missing, unreadable or incomplete, also while it is being read.
    """
    with reading_errors(path, EXPORT), gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as handle:
        yield handle  # type: ignore[misc]


@contextmanager
def open_text(path: Path, encoding: Encoding) -> Iterator[io.TextIOWrapper]:
    """Open a file as text with unchanged line ends.

    An invalid byte becomes half a surrogate, so that only its row is lost.
    """
    with open_bytes(path) as handle:
        # UTF-16 has no escape for a byte: U+FFFD, the sign for "unreadable", replaces it.
        errors = "surrogateescape" if not encoding.name.startswith(("utf-16", "utf-32")) else "replace"
        with io.TextIOWrapper(handle, encoding=encoding.name, errors=errors, newline="") as text:
            yield text


def is_damaged(text: str) -> bool:
    """Return whether a text holds a NUL or invalid characters: the traces of a damaged file."""
    if "\0" in text or "\ufffd" in text:
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def find_encoding(path: Path, *, given: str | None = None) -> Encoding:
    """Return the encoding of a text file: the given one, that of its mark, UTF-8 if it fits, or a guess.

    :param given: Name from the user.
    :raises CorpusError: if the file is unreadable or empty, or the given name is unknown.
    """
    with open_bytes(path) as handle:
        start = handle.read(SAMPLE)
        if not start:
            raise CorpusError(f"{path} is empty; expected an export of dialogues. Export it again.")
        if given:
            return _given(given, path, start)
        for mark, name in MARKS:
            if start.startswith(mark):
                return Encoding(name, "byte order mark")
        wide = _wide(start)
        if wide:
            return wide
        bad, good, sample = _not_utf8(start, handle)
    if not bad:
        return Encoding("utf-8", "UTF-8")
    # Bytes of another encoding form valid UTF-8 characters only by chance, at most one in six: with more of them it is
    # UTF-8, and only the damaged rows are lost.
    if 3 * good > bad:
        return Encoding("utf-8", f"except {bad} damaged places")
    return Encoding(_guess(sample), "guessed")


def _given(name: str, path: Path, start: bytes) -> Encoding:
    try:
        # Only text encodings pass this: "base64" is a codec too.
        start.decode(name, "replace")
        known = codecs.lookup(name)
    except (LookupError, ValueError, TypeError) as error:
        raise CorpusError(
            f"{name!r}, given for {path}, is no text encoding that Python knows; expected a name such as utf-8, cp1252 "
            "or utf-16. Correct --encoding, or leave it out."
        ) from error
    if known.name in ("utf-16", "utf-32") and not any(
        start.startswith(mark) for mark, name in MARKS if name == known.name
    ):
        wide = _wide(start) if known.name == "utf-16" else None
        if wide is None:
            raise CorpusError(
                f"{path} does not begin with the mark of {name}, given by --encoding, so the order of its bytes is "
                f"unknown; expected that mark. Name {known.name}-le or {known.name}-be, or leave --encoding out."
            )
        return Encoding(wide.name, "as given")
    utf8_mark = known.name == "utf-8" and start.startswith(codecs.BOM_UTF8)
    return Encoding("utf-8-sig" if utf8_mark else known.name, "as given")


def _wide(start: bytes) -> Encoding | None:
    """Recognise UTF-16 without a mark: in Western text every other byte is zero."""
    even, odd = start[0::2].count(0), start[1::2].count(0)
    if max(even, odd) < len(start) / 5 or min(even, odd) > max(even, odd) / 10:
        return None
    return Encoding("utf-16-le" if odd > even else "utf-16-be", "guessed")


def _not_utf8(start: bytes, handle: BinaryIO) -> tuple[int, int, bytes]:
    """Return the number of invalid bytes and of valid characters beyond ASCII, and a sample of lines beyond ASCII."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    bad = good = 0
    sample = b""
    block = start
    while block:
        if not block.isascii() or decoder.getstate()[0]:
            text = decoder.decode(block)
            escaped = len(ESCAPED.findall(text))
            bad += escaped
            good += len(text) - len(text.encode("ascii", "ignore")) - escaped
            if escaped and len(sample) < SAMPLE:
                sample += b"\n".join(line for line in block.splitlines() if not line.isascii())[:SAMPLE]
        block = handle.read(BLOCK)
    tail = decoder.decode(b"", final=True)
    return bad + len(tail), good, sample


def _guess(sample: bytes) -> str:
    import charset_normalizer

    # Few accents between plain letters, all of one language.
    beyond = sum(byte > 127 for byte in sample)
    if 2 * beyond < len(sample) and fit_of(sample, page := western_page(sample)) == 1:
        return page
    if page := right_to_left_page(sample):
        return page
    matches = charset_normalizer.from_bytes(sample, cp_isolation=PLAUSIBLE)
    best = matches.best()
    # Windows' Western code page is by far the most common one: another must fit better.
    western = [match for match in matches if match.encoding == "cp1252"]
    fits = best is None or (western and (western[0].chaos, -western[0].coherence) <= (best.chaos, -best.coherence))
    if best is None or fits or best.encoding in PAGES:
        page = western_page(sample)
        return "latin-1" if "\ufffd" in sample.decode(page, "replace") else page
    text = str(best)
    if best.encoding == "gb18030" and 4 * len(KANA.findall(text)) > len(text) - len(text.encode("ascii", "ignore")):
        return "euc_jp"
    return best.encoding


def western_page(sample: bytes) -> str:
    """Return the code page in which most characters beyond ASCII are letters of one language, or signs."""
    return max(PAGES, key=lambda page: fit_of(sample, page))


def fit_of(sample: bytes, page: str) -> float:
    """Return the share of the characters beyond ASCII that the language that fits best has, and signs between words."""
    text = sample.decode(page, "replace")
    marks = [at for at, sign in enumerate(text) if not sign.isascii()]
    letters = [text[at] for at in marks if text[at] not in SIGNS and _is_letter(text, at)]
    signs = sum(text[at] in SIGNS and not _is_inside(text, at) for at in marks)
    known = max(sum(letter.lower() in language for letter in letters) for language in LANGUAGES)
    return (known + signs) / max(len(marks), 1)


def _is_letter(text: str, at: int) -> bool:
    """Return whether a letter is no capital after a small one."""
    return not (text[at].isupper() and text[at - 1 : at].islower())


def _is_inside(text: str, at: int) -> bool:
    """Return whether a sign stands between two letters, where few signs do."""
    return text[at] not in INSIDE and text[at - 1 : at].isalpha() and text[at + 1 : at + 2].isalpha()


def right_to_left_page(sample: bytes) -> str:
    """Return the code page of Hebrew or Arabic in which a sample is written; "" for other scripts."""
    letters = HEBREW.findall(sample)
    if len(letters) >= LEAST and not OTHER_THAN_HEBREW.search(sample) and AT_END.search(sample):
        inside = len(FINAL.findall(sample))
        if 20 * inside <= len(letters):
            return "cp1255"
    letters = ARABIC.findall(sample)
    if len(letters) >= LEAST and not OTHER_THAN_ARABIC.search(sample) and ALEF in sample and LAM in sample:
        return "cp1256" if 6 * len(SMALL.findall(sample)) >= len(letters) else ""
    return ""
