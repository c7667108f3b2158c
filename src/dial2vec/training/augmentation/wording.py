"""A text taken apart into its words and what stands between them, so that nothing else changes with a word."""

from __future__ import annotations

import re
from typing import NamedTuple

from dial2vec.data.words import WORD

# "(restaurant?)" is a word between two marks.
MARKS = re.compile(r"(\W*)(.*?)(\W*)", re.DOTALL)


class Wording(NamedTuple):
    """Words of a text as `dial2vec.data.words` has them, and the blanks in front of each and behind the last.

    :param gaps: one more than words; those of a script that writes no blanks are empty.
    :param words: never empty ones.
    """

    gaps: list[str]
    words: list[str]

    @classmethod
    def of(cls, text: str) -> Wording:
        """Take a text apart; `.text` is the same text again."""
        gaps, words, end = [], [], 0
        for found in WORD.finditer(text):
            gaps.append(text[end : found.start()])
            words.append(found.group())
            end = found.end()
        return cls([*gaps, text[end:]], words)

    @property
    def text(self) -> str:
        """The text that these words are."""
        return "".join(piece for pair in zip(self.gaps, [*self.words, ""], strict=True) for piece in pair)

    def without(self, places: set[int]) -> Wording:
        """Return it without some words, each gone with the gap in front of it, or behind it at the beginning."""
        left = [place for place in range(len(self.words)) if place not in places]
        gaps = [self.gaps[place] for place in left]
        return Wording([*self.gaps[: len(left) > 0], *gaps[1:], self.gaps[-1]], [self.words[place] for place in left])


def bare(word: str) -> tuple[str, str, str]:
    """Return the marks in front of a word, the word, and the marks behind it.

    >>> bare("(restaurant?)")
    ('(', 'restaurant', '?)')
    """
    found = MARKS.fullmatch(word)
    # The expression matches whatever stands there; the type cannot say so.
    return (found[1], found[2], found[3]) if found else ("", word, "")
