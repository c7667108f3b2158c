"""Words in any script, as validation counts them and near-duplicates are found by them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

# Thai, Lao, Burmese, Khmer, kana and Chinese characters: scripts without blanks between words.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
)
WORD = re.compile(f"[{UNSPACED}]|[^\\s{UNSPACED}]+")


def printable(text: str, width: int | None = None) -> str:
    """Return a text on one line of at most `width` characters, without control characters."""
    shown = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return shown if width is None or len(shown) <= width else f"{shown[: width - 3]}..."


def cut(text: str, most: int) -> str:
    """Return a text of at most `most` characters; one that is cut ends in "…"."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def listed(texts: Sequence[str]) -> str:
    """Return "a", "a and b" or "a, b and c"."""
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def number(value: float, digits: int = 2) -> str:
    """Return a number as printed, with a minus sign."""
    # Adding 0.0 turns a rounded -0.0 into 0.0.
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def without_halves(text: str) -> str:
    r"""Return a text with "?" for each half of a character (an emoji that was cut in two), which no file can hold.

    >>> without_halves("lost \ud83d")
    'lost ?'
    """
    return text.encode("utf-8", "replace").decode()


def words(text: str) -> list[str]:
    """Return the words of a text: parts between white space, and single characters of scripts without blanks.

    >>> words("See you 明天!")
    ['See', 'you', '明', '天', '!']
    """
    return text.split() if text.isascii() else WORD.findall(text)


def with_noun(n: int, noun: str) -> str:
    """Return a number with its noun: "1 turn", "2,000 turns"."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def percent(share: float, more: int = 0) -> str:
    """Return a share in [0, 1] as "13%", one below 1 % with a decimal: "0.4%"; `more` decimals are added."""
    digits = more + (0 < share < 0.0095)
    # Halves are rounded up, as browsers do.
    return f"{math.floor(10**digits * 100 * share + 0.5) / 10**digits:.{digits}f}%"


def mean(value: float, more: int = 0) -> str:
    """Return a mean with two digits, a large one without decimals: 0.012, 3.0, 1,234; `more` decimals are added."""
    return f"{value:,.{more + (max(0, 1 - math.floor(math.log10(abs(value)))) if value else 0)}f}"


def from_to(before: float, after: float, written: Callable[[float, int], str] = percent) -> tuple[str, str]:
    """Return two shares, or means, with as few decimals as tell them apart.

    >>> from_to(0.0323, 0.127), from_to(0.0323, 0.0312), from_to(3.03, 2.7, mean)
    (('3%', '13%'), ('3.2%', '3.1%'), ('3.0', '2.7'))
    """
    pairs = [(written(before, more), written(after, more)) for more in range(3)]
    return next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])
