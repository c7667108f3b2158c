"""Dialogues without ids whose turns are numbered, and speakers that stand before their words in one column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from conversations.formats.plain_text import is_script, split_speaker
from conversations.guessing.names import by_name, is_index
from conversations.guessing.roles import is_role
from conversations.values.cells import as_name, cell_text

Values = dict[str, Any]
NEARLY_ALL = 0.8


class Restarts:
    """Gives each row the id of its dialogue, which begins where the number of the turn is the first one again.

    :param column: Column of the numbers.
    :param first: First number.
    :param name: Prefix of the ids.
    """

    def __init__(self, column: str, first: str, name: str) -> None:
        self._column = column
        self._first = first
        self._name = name
        self._dialogue = 0

    def __call__(self, values: Values) -> Values:
        """Return a row with the id of its dialogue."""
        self._dialogue += as_name(values.get(self._column)) == self._first
        return {"dialogue_id": f"{self._name}-{self._dialogue}"} | values


def restarting(sample: Sequence[Values]) -> tuple[str, str] | None:
    """Return the column of numbers that count the turns of dialogues without ids, and the first number; or None.

    The numbers go up by one and begin again several times.
    """
    names = list(sample[0]) if sample else []
    if by_name("id", names) or by_name("own id", names):
        return None
    for name in filter(is_index, names):
        numbers = [as_name(values.get(name)) for values in sample]
        counted = [int(number) for number in numbers if number.isdecimal() and len(number) < 7]
        first = counted[0] if len(counted) == len(sample) else 2
        follows = all(after in (before + 1, first) for before, after in pairwise(counted))
        if first < 2 and follows and 1 < counted.count(first) <= len(sample) / 2:
            return name, numbers[0]
    return None


def speakers_in_texts(sample: Sequence[Values]) -> Callable[[Values], Values] | None:
    """Return a function that parts "Agent: Hello" in the texts of rows without speakers; None for other rows."""
    names = list(dict.fromkeys(name for values in sample for name in values))
    text = by_name("text", names)
    if not text or by_name("speaker", [name for name in names if name != text]):
        return None
    cells = [cell for values in sample if (cell := cell_text(values.get(text)).strip())]
    speakers = [pair[0] for cell in cells if (pair := split_speaker(cell))]
    known = sum(map(is_role, speakers)) >= NEARLY_ALL * len(speakers) or len(set(speakers)) <= len(speakers) / 2
    if len(set(speakers)) < 2 or len(speakers) < NEARLY_ALL * len(cells) or not known or any(map(is_script, cells)):
        return None

    def parted(values: Values) -> Values:
        pair = split_speaker(cell_text(values.get(text)).strip())
        return values | ({"speaker": pair[0], text: pair[1]} if pair else {"speaker": ""})

    return parted
