"""Tests for objects that are turns, and for lists of turns."""

from __future__ import annotations

from typing import Any

from conversations.guessing.names import by_name, plain
from conversations.guessing.voices import is_side
from conversations.values.cells import as_name, as_turn_list, cell_text, unpacked

# Lists beside the text of a message that are no turns.
ASIDE = {"reactions", "likes", "attachments", "mentions", "edits", "edit_history", "versions", "read_by", "reads"}
SIDE_NAMES = ("type", "kind", "direction", "source", "origin", "side", "message_type", "channel")


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
