"""HTML in texts, and signs that were encoded twice: what stands between a text and what was said."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Any

BLOCK = "p|div|li|ul|ol|tr|table|blockquote|pre|h[1-6]"
INLINE = "span|b|i|u|s|em|strong|a|font|code|td|th|tbody|thead|small|sub|sup"
# Only known tags, and bounded: "<Media omitted>" and "a < b" are texts.
CLOSED = re.compile(rf"<br\s{{0,9}}/?>|</(?:{BLOCK}|{INLINE})\s{{0,9}}>", re.IGNORECASE)
BREAK = re.compile(rf"<br\s{{0,9}}/?>|</?(?:{BLOCK})(?:\s[^<>]{{0,2000}})?/?>", re.IGNORECASE)
TAG = re.compile(rf"</?(?:{INLINE}|img|hr)(?:\s[^<>]{{0,2000}})?/?>", re.IGNORECASE)
ENTITY = re.compile(r"&(?:amp|lt|gt|quot|nbsp|#39|#x27);")
LINES = re.compile(r"[ \t]*\n\s*")
# Exports nest texts a few deep; a value of thousands of levels must not break the reader.
DEPTH = 20


def is_html(text: str) -> bool:
    """Whether a text has a tag that closes, or a line break, of HTML."""
    return bool(CLOSED.search(text))


def are_html(texts: Sequence[str]) -> bool:
    """Whether texts of one column are HTML: a third of them, as some are short and some come from mail.

    In a chat about HTML a few are too, and those must stay as they are.
    """
    filled = [text for text in texts if text.strip()]
    return 3 * sum(map(is_html, filled)) > len(filled)


def without_html(text: str) -> str:
    """Return a text of HTML as it is shown: its blocks as lines, without tags."""
    text = TAG.sub("", BREAK.sub("\n", text))
    return LINES.sub("\n", html.unescape(text).replace("\xa0", " ")).strip()


def is_twice_encoded(value: Any, *, depth: int = DEPTH) -> bool | None:
    """Whether every text beyond ASCII in a value of JSON is UTF-8 that was taken for Latin-1, as `MÃ¼ller`.

    :param depth: levels of nesting that are looked into.
    :returns: None where there is no such text.
    """
    if isinstance(value, str):
        return None if value.isascii() else _mended(value) is not None
    if not isinstance(value, dict | list) or not depth:
        return None
    inner = value.values() if isinstance(value, dict) else value
    found = {answer for item in inner if (answer := is_twice_encoded(item, depth=depth - 1)) is not None}
    return all(found) if found else None


def mended(value: Any, *, depth: int = DEPTH) -> Any:
    """Return a value with every text in it decoded once more, where that can be."""
    if isinstance(value, str):
        return value if value.isascii() else _mended(value) or value
    if not isinstance(value, dict | list) or not depth:
        return value
    if isinstance(value, dict):
        return {key: mended(item, depth=depth - 1) for key, item in value.items()}
    return [mended(item, depth=depth - 1) for item in value]


def _mended(text: str) -> str | None:
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return None
