"""Split of a text into words and gaps, so that words can change and the rest stays."""

from __future__ import annotations

import re
from typing import NamedTuple

from conversations.words import WORD

# Punctuation, word, punctuation: "(restaurant?)".
MARKS = re.compile(r"(\W*)(.*?)(\W*)", re.DOTALL)


class Wording(NamedTuple):
    """Words of a text, as `conversations.words` splits them, and the gaps around them.

    :param gaps: White space before each word and after the last word; "" in scripts without blanks.
    :param words: Words, never empty.
    """

    gaps: list[str]
    words: list[str]

    @classmethod
    def of(cls, text: str) -> Wording:
        """Split a text; `.text` returns the same text."""
        gaps, words, end = [], [], 0
        for match in WORD.finditer(text):
            gaps.append(text[end : match.start()])
            words.append(match.group())
            end = match.end()
        return cls([*gaps, text[end:]], words)

    @property
    def text(self) -> str:
        """The joined text."""
        return "".join(piece for pair in zip(self.gaps, [*self.words, ""], strict=True) for piece in pair)

    def without(self, places: set[int]) -> Wording:
        """Return the wording without the words at some places, each with its gap before (at the start: after)."""
        left = [place for place in range(len(self.words)) if place not in places]
        gaps = [self.gaps[place] for place in left]
        return Wording([*self.gaps[: len(left) > 0], *gaps[1:], self.gaps[-1]], [self.words[place] for place in left])


def bare(word: str) -> tuple[str, str, str]:
    """Return the punctuation before a word, the word, and the punctuation after it.

    >>> bare("(restaurant?)")
    ('(', 'restaurant', '?)')
    """
    match = MARKS.fullmatch(word)
    # The expression matches any text, but its type allows None.
    return (match[1], match[2], match[3]) if match else ("", word, "")
