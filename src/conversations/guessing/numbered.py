"""Turns that are spread over columns with numbers in their names: `messages[0].role`, `turns.1.text`, `speaker_2`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from conversations.guessing.exchanges import CLOSING
from conversations.guessing.names import by_name, plain

Values = dict[str, Any]
# "messages[0].role", "turns/0/text", "gen_ai.prompt.0.content", "turn_1_speaker"
IN_LIST = re.compile(r"(.*?)[._/\[ -]?(?<!\d)(\d{1,4})\]?[._/ -]+(\D+)")
# "speaker1", "text_2"
AT_END = re.compile(r"(\D+?)[._ -]?(\d{1,4})")


class Place(NamedTuple):
    """Where the value of a column belongs: in which list, in which turn, and under which name."""

    group: str
    number: int
    name: str


@lru_cache(maxsize=4096)
def place_of(column: str) -> Place | None:
    """Return the place of a value by its column's name; None for a name without a number."""
    if match := IN_LIST.fullmatch(column):
        # Tracing tools name the object inside, too: "input_messages.0.message.role".
        return Place(match[1], int(match[2]), re.split(r"[./]", match[3])[-1])
    match = AT_END.fullmatch(column)
    return Place("", int(match[2]), match[1]) if match else None


def nesting(sample: Sequence[Values]) -> Callable[[Values], Values] | None:
    """Return a function that puts the turns in numbered columns of a row into a list; None for other tables.

    The columns may stand in an object, as the attributes of a span do.
    """
    groups = _groups(sample)
    if groups:
        return lambda values: _nested(values, groups)
    names = dict.fromkeys(name for values in sample for name, value in values.items() if isinstance(value, dict))
    for name in names:
        inside = [inner for values in sample if isinstance(inner := values.get(name), dict)]
        if change := nesting(inside) if 2 * len(inside) > len(sample) else None:
            return lambda values: _unpacked(values, name, change)
    return None


def _groups(sample: Sequence[Values]) -> tuple[str, ...]:
    """Return the groups of columns whose turns have a speaker and a text each, those of answers last."""
    names: dict[str, set[str]] = defaultdict(set)
    numbers: dict[str, set[int]] = defaultdict(set)
    for column in dict.fromkeys(column for values in sample for column in values):
        if place := place_of(column):
            names[place.group].add(place.name)
            numbers[place.group].add(place.number)
    of_turns = [group for group, own in names.items() if _are_of_turns(sorted(own))]
    if sum(len(numbers[group]) for group in of_turns) < 2:
        return ()
    return tuple(sorted(of_turns, key=lambda group: bool(set(plain(group).split("_")) & CLOSING)))


def _are_of_turns(names: list[str]) -> bool:
    text = by_name("text", names)
    return text is not None and by_name("speaker", [name for name in names if name != text]) is not None


def _nested(values: Values, groups: tuple[str, ...]) -> Values:
    """Return a row with the turns of its numbered columns in one list; blank turns are left out."""
    rest: Values = {}
    turns: dict[tuple[int, int], Values] = defaultdict(dict)
    for column, value in values.items():
        place = place_of(column)
        if place and place.group in groups:
            if value not in (None, ""):
                turns[groups.index(place.group), place.number][place.name] = value
        else:
            rest[column] = value
    return rest | {"turns" if "messages" in rest else "messages": [turns[at] for at in sorted(turns)]}


def _unpacked(values: Values, name: str, change: Callable[[Values], Values]) -> Values:
    inside = values.get(name)
    if not isinstance(inside, dict):
        return values
    changed = change(inside)
    turns = {key: changed[key] for key in ("turns", "messages") if isinstance(changed.get(key), list)}
    return values | {name: {key: value for key, value in changed.items() if key not in turns}} | turns
