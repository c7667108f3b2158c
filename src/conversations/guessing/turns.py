"""Objects that are turns, lists of them, and messages that name the one they answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from conversations.guessing.names import by_name, columns_in, plain
from conversations.guessing.voices import is_side
from conversations.values.cells import as_name, as_turn_list, cell_text, unpacked
from conversations.vocabulary import word_list, word_set

ASIDE = word_set("columns", "aside")
SIDE_NAMES = word_set("columns", "sides")
Values = Sequence[dict[str, Any]]
OWN = word_list("columns", "own_ids")
PARENTS = word_set("columns", "parents")
MODELS = word_set("speakers", "models")


def holds_texts(value: Any) -> bool:
    """Return whether a value is a list of objects, some with a text."""
    return any(by_name("text", list(turn)) for turn in as_turn_list(value) or ())


def holds_turns(value: Any) -> bool:
    """Return whether a value is a list of objects, some with a speaker and a text."""
    return any(names_speaker(turn) and by_name("text", list(turn)) for turn in as_turn_list(value) or ())


def is_turn(values: dict[str, Any]) -> bool:
    """Return whether an object is a turn, not a dialogue: it has a speaker and a text, and turns in it repeat the text.

    Some transcripts have a list of words in each turn, each word with its speaker.
    """
    name = by_name("text", list(values), lambda name: not holds_turns(values[name]))
    text = cell_text(values.get(name or ""))
    lists = inner_turns(values)
    repeated = (repeats_text(value, text) and _has_one_voice(value) for value in lists)
    return bool(text.strip()) and names_speaker(values) and all(repeated)


def inner_turns(values: dict[str, Any]) -> list[Any]:
    """Return the lists of turns in an object, without those beside a message, such as the reactions to it."""
    return [value for name, value in values.items() if plain(name) not in ASIDE and holds_turns(value)]


def repeats_text(turns: Any, text: str) -> bool:
    """Return whether all texts of a list of turns are parts of another text."""
    parts = (cell_text(turn.get(by_name("text", list(turn)) or "")) for turn in as_turn_list(turns) or ())
    return all(part.strip() in text for part in parts)


def _has_one_voice(turns: Any) -> bool:
    return len({as_name(turn.get(by_name("speaker", list(turn)) or "")) for turn in as_turn_list(turns) or ()}) == 1


def names_speaker(values: dict[str, Any]) -> bool:
    """Return whether an object has a key that is named like a speaker, or whose value is a side: `"type": "user"`."""
    sides = (value for name, value in values.items() if plain(name) in SIDE_NAMES)
    return by_name("speaker", list(values)) is not None or any(
        isinstance(side, str) and is_side(side) for side in sides
    )


def closing_turns(value: Any) -> list[dict[str, Any]]:
    """Return the turns of an answer outside a list: a list of turns, or one turn, also as text."""
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        value = unpacked(value)
    if isinstance(value, dict) and names_speaker(value) and by_name("text", list(value)):
        return [value]
    return [turn for turn in as_turn_list(value) or () if names_speaker(turn)] if holds_turns(value) else []


def _links(turns: Values) -> tuple[str, str] | None:
    """Return the keys of a message's id and of the one it answers."""
    names = columns_in(turns)
    own = next((name for known in OWN for name in names if plain(name) == known), None)
    parent = next((name for name in names if plain(name) in PARENTS), None)
    return (own, parent) if own and parent else None


def branching(sample: Values, turns: str) -> tuple[str, str] | None:
    """Return the keys that link the messages of chats with a model, if some chat has branches; None otherwise.

    :param turns: Column of the turns.
    """
    return next(filter(None, (_branches(values.get(turns)) for values in sample)), None)


def _branches(turns: Any) -> tuple[str, str] | None:
    """Return the keys that link the messages of a chat with a model, if two of them answer one message."""
    if not isinstance(turns, list) or len(turns) < 2 or not all(isinstance(turn, dict) for turn in turns):
        return None
    links = _links(turns)
    speaker = by_name("speaker", list(turns[0]))
    if not links or not speaker or not all(as_name(turn.get(speaker)).lower() in MODELS for turn in turns):
        return None
    parent = links[1]
    parents = Counter(name for turn in turns if (name := as_name(turn.get(parent))))
    return links if parents and parents.most_common(1)[0][1] > 1 else None


def threads(rows: Values) -> tuple[str, str] | None:
    """Return the columns of a row's id and of the row that it answers, if answers make several dialogues of rows."""
    links = _links(rows)
    if not links:
        return None
    own, parent = links
    ids = {as_name(row.get(own)) for row in rows} - {""}
    answers = {as_name(row.get(own)): name for row in rows if (name := as_name(row.get(parent))) in ids}
    roots = set(answers.values()) - answers.keys()
    return links if 3 * len(answers) >= len(rows) and len(roots) > 1 else None


def nested(turns: Values, text: str) -> str | None:
    """Return the key under which turns hold further turns, such as the replies to a comment."""
    for turn in turns:
        for name, value in turn.items():
            further = isinstance(value, list) and plain(name) not in ASIDE and holds_turns(value)
            if further and not repeats_text(value, cell_text(turn.get(text))):
                return name
    return None
