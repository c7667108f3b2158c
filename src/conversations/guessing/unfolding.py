"""Turns in other places than a row or a list: objects in cells, numbered columns, a column or a key per side."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from conversations.guessing.evidence import filled_values, mostly
from conversations.guessing.exchanges import CLOSING, answers_first, side_of
from conversations.guessing.names import DIALOGUE_WORDS, TURN_WORDS, by_name, columns_in, plain
from conversations.guessing.turns import holds_turns
from conversations.guessing.voices import is_side
from conversations.values.cells import as_turn_list, cell_text, unpacked
from conversations.vocabulary import word_list, word_set

INNER = word_list("columns", "inner")
SHOWN = 100
OPENINGS = word_set("columns", "openings")
OPENERS = word_set("columns", "openers")
REPLIES = word_set("columns", "replies")
NUMBERED = re.compile(r"(?P<side>[^\W\d]+?)_?(?P<number>\d+)(?:_text|_message)?$")
NUMBER_FIRST = re.compile(r"(?:turn|round|exchange|step)?_?(?P<number>\d+)_(?P<side>[^\W\d]+)$")
# Who speaks in columns such as "prompt_1" and "response_1".
SIDES = {"asked": "user", "answered": "bot"}
Values = dict[str, Any]
# "messages[0].role", "turns/0/text", "gen_ai.prompt.0.content", "turn_1_speaker"
IN_LIST = re.compile(r"(.*?)[._/\[ -]?(?<!\d)(\d{1,4})\]?[._/ -]+(\D+)")
# "speaker1", "text_2"
AT_END = re.compile(r"(\D+?)[._ -]?(\d{1,4})")


def unfolding(sample: Sequence[dict[str, Any]]) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
    """Return a function that spreads the object in one column over columns; None if no column holds turns as objects.

    A column counts if most of its values are objects with a text, and with a speaker, a type or an inner object.
    """
    names = columns_in(sample[:SHOWN])
    if any(mostly(sample, name, holds_turns) for name in names):
        return None
    # A row that has a text and a speaker of its own needs no other.
    if by_name("speaker", [name for name in names if name not in INNER]) and any(
        by_name("text", [name]) and not mostly(sample, name, is_folded) for name in names
    ):
        return None
    columns = [name for name in names if mostly(sample, name, is_folded)]
    if not columns:
        return None
    ends = [next((name for name in columns if side_of(name) == side), "") for side in ("asked", "answered")]
    if all(ends):
        # {"question": {"author": "Ana", "text": "How?"}, "answer": {"author": "Bo", "text": "So."}}
        return lambda values: (
            {name: value for name, value in values.items() if name not in ends}
            | {"turns": [_flat(turn) for name in ends if (turn := _object(values.get(name)))]}
        )
    return lambda values: _spread(values, columns[0])


def turns_of_columns(names: Sequence[str]) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
    """Return a function that lists the turns of a row with one turn per column; None for other tables.

    The columns are called by the side and the number of the turn: `agent_1`, `customer_1`, `agent_2`.
    """
    places = {name: (int(number), side) for name in names for side, number in [_numbered_side(name)] if side}
    if len(places) < 3 or len({side for _, side in places.values()}) < 2:
        return None
    order = sorted(places, key=lambda name: places[name][0])

    def listed(values: dict[str, Any]) -> dict[str, Any]:
        turns = [{"speaker": places[name][1], "text": cell_text(values.get(name))} for name in order]
        return {name: value for name, value in values.items() if name not in places} | {"turns": turns}

    return listed


def _numbered_side(name: str) -> tuple[str, str]:
    """Return the side and the number of a turn in a column's name, "agent_1" or "turn_1_agent"; ("", "0") without."""
    match = NUMBERED.match(plain(name)) or NUMBER_FIRST.match(plain(name))
    words = [word for word in (match["side"].split("_") if match else []) if word not in TURN_WORDS]
    side = "_".join(words)
    return (side if is_side(side) else SIDES.get(side_of(side), ""), match["number"]) if match else ("", "0")


def turns_by_side(sample: Sequence[dict[str, Any]]) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
    """Return a function that lists the turns of `[{"agent": "Hi"}, {"user": "Yes?", "bot": "No"}]`; None without such.

    An object holds a text by the side that says it, or a question and its answer.
    """
    names = columns_in(sample[:SHOWN])
    column = next((name for name in names if by_name("turns", [name]) and mostly(sample, name, _is_by_side)), None)
    lists = [as_turn_list(values.get(column or "")) or [] for values in sample[:SHOWN]]
    speakers = {speaker for turns in lists for turn in turns for speaker, _ in _texts_by_side(turn)}
    if not column or len(speakers) < 2 or any(mostly(sample, name, holds_turns) for name in names):
        return None

    def listed(values: dict[str, Any]) -> dict[str, Any]:
        turns = as_turn_list(values.get(column))
        if turns is None:
            return values
        pairs = [
            [turn | {"speaker": name, "text": text} for name, text in _texts_by_side(turn)] or [turn] for turn in turns
        ]
        return values | {column: [turn for pair in pairs for turn in pair]}

    return listed


def _is_by_side(value: Any) -> bool:
    turns = as_turn_list(value) or []
    return bool(turns) and all(map(_texts_by_side, turns))


def _texts_by_side(turn: dict[str, Any]) -> list[tuple[str, str]]:
    """Return speakers and texts of an object whose keys are one or two sides, or a question and its answer."""
    sides = {name: side_of(name) for name in turn}
    texts = [name for name, value in turn.items() if isinstance(value, str) and (sides[name] or is_side(name))]
    ends = [next((name for name in texts if sides[name] == side), None) for side in ("asked", "answered")]
    if not (ends[0] and ends[1] and answers_first(list(turn), ends[0], ends[1])):
        texts.sort(key=lambda name: sides[name] == "answered")
    pairs = [(name if is_side(name) else SIDES[sides[name]], turn[name]) for name in texts]
    return pairs if len(pairs) < 3 else []


def identifying(sample: Sequence[dict[str, Any]]) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
    """Return a function that puts the id of an object, such as a row's conversation, into a column of its own."""
    column = dialogue_object(sample)
    if column is None or any(f"{column}_id" in values for values in sample[:SHOWN]):
        return None
    return lambda values: {f"{column}_id": values[column]["id"]} | values if _has_id(values.get(column)) else values


def dialogue_object(sample: Sequence[dict[str, Any]]) -> str | None:
    """Return the column of objects that are named like a dialogue and have an id."""
    names = columns_in(sample[:SHOWN])
    return next((name for name in names if plain(name) in DIALOGUE_WORDS and mostly(sample, name, _has_id)), None)


def _has_id(value: Any) -> bool:
    plain_id = isinstance(value, dict) and isinstance(value.get("id"), str | int)
    return plain_id and not any(isinstance(item, list | dict) for item in value.values())


def opening(sample: Sequence[dict[str, Any]]) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
    """Return a function that puts the text of a ticket or a post before its replies, if its names are others."""
    names = columns_in(sample[:SHOWN])
    text = next((name for name in names if plain(name) in OPENINGS), None)
    author = next((name for name in names if plain(name) in OPENERS), None)
    replies = next((name for name in names if plain(name) in REPLIES and mostly(sample, name, holds_turns)), None)
    if not (text and author and replies):
        return None
    inside = dict.fromkeys(
        name for values in sample[:SHOWN] for turn in as_turn_list(values.get(replies)) or () for name in turn
    )
    meanings = (("speaker", author), ("text", text), ("time", by_name("time", list(names)) or ""))
    pairs = [(by_name(meaning, list(inside)), name) for meaning, name in meanings]
    # The names of the replies' own are read as the opening turn by themselves.
    if pairs[0][0] == author or any(not own for own, _ in pairs[:2]):
        return None

    def opened(values: dict[str, Any]) -> dict[str, Any]:
        turns = as_turn_list(values.get(replies))
        message = cell_text(values.get(text)).strip()
        if turns is None or not message or any(cell_text(turn.get(pairs[1][0])).strip() == message for turn in turns):
            return values
        return values | {replies: [{own: values.get(name) for own, name in pairs if own and name}, *turns]}

    return opened


def unquoting(sample: Sequence[dict[str, Any]]) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
    """Return a function that decodes texts that are JSON, `"Hi"` or `{"text": "Hi"}`; None if no column holds them."""
    names = columns_in(sample[:SHOWN])
    quoted = [name for name in names if all(map(_is_quoted, filled := filled_values(sample, name))) and len(filled) > 1]
    wrapped = [name for name in names if by_name("text", [name]) and mostly(sample, name, _is_wrapped)]
    if not quoted and not wrapped:
        return None
    return lambda values: (
        values
        | {n: unpacked(text) for n in quoted if _is_quoted(text := values.get(n, ""))}
        | {n: inside for n in wrapped if (inside := _object(values.get(n))) is not None}
    )


def _is_quoted(value: Any) -> bool:
    return isinstance(value, str) and value[:1] == value[-1:] == '"' and isinstance(unpacked(value), str)


def _is_wrapped(value: Any) -> bool:
    """Return whether a value is the JSON of an object with a text."""
    return isinstance(value, str) and isinstance((_object(value) or {}).get("text"), str)


def is_folded(value: Any) -> bool:
    """Return whether a value is an object, or the text of one, that holds a turn."""
    inside = _object(value)
    if inside is None:
        return False
    flat = _flat(inside)
    sides = any(isinstance(item, str) and is_side(item) for item in flat.values())
    speaker = sides or by_name("speaker", list(flat))
    # A program's event has no text.
    return bool(speaker and flat.keys() & {"text", "content", "body", "message", "msg", "utterance", "event", "type"})


def _object(value: Any) -> dict[str, Any] | None:
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        value = unpacked(value)
    return value if isinstance(value, dict) else None


def _flat(inside: dict[str, Any]) -> dict[str, Any]:
    """Return an object together with the object in it that holds the text."""
    for key in INNER:
        inner = inside.get(key)
        if isinstance(inner, dict) and not any(cell_text(inside.get(name)) for name in ("content", "text", "body")):
            return {**inner, **{name: value for name, value in inside.items() if name != key}}
    return inside


def _spread(values: dict[str, Any], column: str) -> dict[str, Any]:
    inside = _object(values.get(column))
    if inside is None:
        return values
    rest = {name: value for name, value in values.items() if name != column}
    # The turn's own id, type and time go before those of the row; the row's id of a dialogue stays.
    return rest | {(f"{column}.{name}" if name in rest else name): value for name, value in _flat(inside).items()}


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
    """Return a function that puts the turns in numbered columns of a row into a list; None for other tables."""
    groups = _groups(sample)
    return (lambda values: _nested(values, groups)) if groups else None


def _groups(sample: Sequence[Values]) -> tuple[str, ...]:
    """Return the groups of columns whose turns have a speaker and a text each, those of answers last."""
    names: dict[str, set[str]] = defaultdict(set)
    numbers: dict[str, set[int]] = defaultdict(set)
    for column in columns_in(sample):
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
