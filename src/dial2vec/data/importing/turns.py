"""Which objects are turns, and which hold lists of them."""

from __future__ import annotations

from typing import Any

from dial2vec.data.importing.cells import as_name, as_turn_list, cell_text
from dial2vec.data.importing.names import by_name


def holds_texts(value: Any) -> bool:
    """Whether a value is a list of objects of which some have a text."""
    return any(by_name("text", list(turn)) for turn in as_turn_list(value) or ())


def holds_turns(value: Any) -> bool:
    """Whether a value is a list of objects of which some have a speaker and a text."""
    return any(_names_speaker(turn) and by_name("text", list(turn)) for turn in as_turn_list(value) or ())


def is_turn(values: dict[str, Any]) -> bool:
    """Whether an object is a turn and no dialogue: it has a speaker and a text, and any turns in it say the same again.

    Transcripts give each turn with the list of its words, each of them with its speaker.
    """
    name = by_name("text", list(values), lambda name: not holds_turns(values[name]))
    text = cell_text(values.get(name or ""))
    lists = [value for value in values.values() if holds_turns(value)]
    again = (says_again(value, text) and _has_one_voice(value) for value in lists)
    return bool(text.strip()) and _names_speaker(values) and all(again)


def says_again(turns: Any, text: str) -> bool:
    """Whether all texts of a list of turns stand in another text."""
    said = (cell_text(turn.get(by_name("text", list(turn)) or "")) for turn in as_turn_list(turns) or ())
    return all(part.strip() in text for part in said)


def _has_one_voice(turns: Any) -> bool:
    found = as_turn_list(turns) or ()
    return len({as_name(turn.get(by_name("speaker", list(turn)) or "")) for turn in found}) == 1


def _names_speaker(values: dict[str, Any]) -> bool:
    return by_name("speaker", list(values)) is not None
