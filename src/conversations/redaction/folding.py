"""Texts in one form of Unicode, in which an accent, a wide letter or an invisible sign hides nothing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

# Letters that Unicode does not take for another one with an accent.
OTHERS = {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
# Signs that join the one before: the voicing of kana, and letters of a Korean syllable.
CLUSTER = re.compile(r"[\u1100-\u115f][\u1160-\u11a7][\u11a8-\u11ff]?|.[\u3099\u309a\uff9e\uff9f]?", re.DOTALL)
# It parts the words of Persian and is a hidden sign elsewhere.
JOINING = frozenset("\u3099\u309a\uff9e\uff9f\u200c") | frozenset(map(chr, range(0x1100, 0x1160)))
NON_JOINER = re.compile(r"(?<=[\u0600-\u06ff])\u200c")


def _form(sign: str) -> str:
    """Return a sign in small letters, without accents and in its usual width; "" for one that is not seen."""
    parts = unicodedata.normalize("NFKD", sign.casefold())
    kept = (OTHERS.get(part, part) for part in parts if not _is_accent(part))
    digits = (str(unicodedata.decimal(part)) if part.isdecimal() else part for part in kept)
    return unicodedata.normalize("NFC", "".join(digits))


def _is_accent(sign: str) -> bool:
    """Return whether a sign is an accent of Latin, Greek or Cyrillic, a point of Hebrew or Arabic, or not seen."""
    order = unicodedata.combining(sign)
    return order == 1 or 10 <= order <= 36 or order >= 200 or unicodedata.category(sign) == "Cf" or sign == "\ufe0f"


class _Forms(dict[int, str]):
    """The forms of single signs by their numbers; `odd` are those whose form has not the length 1."""

    def __init__(self) -> None:
        self.odd = set(JOINING)

    def __missing__(self, number: int) -> str:
        form = self[number] = _form(chr(number))
        if len(form) != 1:
            self.odd.add(chr(number))
        return form


FORMS = _Forms()


def folded(text: str) -> str:
    """Return the form of a text by which it is compared."""
    return Folded(text).form


class Folded:
    r"""A text and its form, by which it is compared.

    >>> Folded("I, Jose\u0301!").form, Folded("I, Jose\u0301!").span(3, 7)
    ('i, jose!', (3, 8))
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._places: list[int] | None = None
        self._alike = text.isascii()
        if self._alike:
            self.form = text.lower()
            return
        self.form = text.translate(FORMS)
        self._alike = FORMS.odd.isdisjoint(text)
        if not (self._alike or JOINING.isdisjoint(text)):
            self.form = "".join(part for part, *_ in self._clusters())

    def _clusters(self) -> Iterator[tuple[str, int]]:
        """Yield the form of each group of signs that join, and where it begins."""
        parted = {match.start() for match in NON_JOINER.finditer(self.text)}
        for match in CLUSTER.finditer(self.text):
            signs, start = match[0], match.start()
            yield " " if start in parted else _form(signs) if len(signs) > 1 else FORMS[ord(signs)], start

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the text whose form has this span; signs that are not seen are part of it."""
        if self._alike:
            return start, end
        if self._places is None:
            self._places = [start for part, start in self._clusters() for _ in part] + [len(self.text)]
        return self._places[start], max(self._places[end], self._places[end - 1] + 1)

    def is_small(self, start: int, end: int) -> bool:
        """Return whether the text of a span of the form is in small letters."""
        start, end = self.span(start, end)
        return self.text[start:end].islower()
