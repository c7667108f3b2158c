"""Values of cells as text, names, labels and turns, also nested ones."""

from __future__ import annotations

import ast
import json
import math
import re
from typing import Any

from conversations.vocabulary import word_list

# Keys of a person's name, and of a message's text, if the value is an object; the best first.
NAME_KEYS = word_list("columns", "names")
# Keys of the person if an object holds one, as in {"user": {"displayName": "Anna"}}.
PERSON_KEYS = word_list("columns", "persons")
TEXT_KEYS = word_list("columns", "texts")
# Beginnings of the types of parts that were not said.
PROGRAMS = ("tool", "reasoning", "thinking", "redacted_thinking", "function")
# What Apple's programs write in place of an attachment.
PLACEHOLDER = re.compile(" ?\ufffc")
# What NumPy writes around the items of a list, and in place of the commas between them.
NUMPY = re.compile(r"\barray\(|,\s*dtype=object\)|(?<=\})\s+(?=\{)")
# Exports nest texts at most 3 deep; a value of thousands of levels must not break the reader.
DEPTH = 8


def cell_text(value: Any, *, depth: int = DEPTH) -> str:
    """Return the text of a value: a string unchanged, a number in digits, the best text of an object, a list's joined.

    :param depth: Levels of nesting to look into; anything deeper is "".
    """
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, dict | list | tuple):
        return _inner(value, depth - 1) if depth else ""
    # Whole numbers of a column with gaps become 17.0 in many programs.
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    try:
        return str(value)
    except ValueError:
        # The integer has more digits than Python writes.
        return ""


def _inner(value: Any, depth: int) -> str:
    if isinstance(value, dict):
        return next((cell_text(value[key], depth=depth) for key in TEXT_KEYS if value.get(key)), "")
    # Programs list plain texts and links by turns, which are one line; other items are lines of their own.
    pieces = [text for item in value if not _is_program(item) and (text := cell_text(item, depth=depth))]
    one_line = len({isinstance(item, str) for item in value}) == 2
    return ("" if one_line else "\n").join(pieces)


def _is_program(item: Any) -> bool:
    """Return whether a part of a text is a model's thought, or a call of a tool or its result."""
    kind = item.get("type") if isinstance(item, dict) else None
    thought = isinstance(item, dict) and item.get("thought") is True
    return thought or (isinstance(kind, str) and kind.startswith(PROGRAMS))


def without_placeholders(text: str) -> str:
    """Return a text without the characters in place of attachments; one of nothing else stays, and is no speech."""
    return PLACEHOLDER.sub("", text).strip() or text.strip()


def as_name(value: Any, *, depth: int = 2) -> str:
    """Return a name or an id as one line of text; the best name of an object.

    :param depth: Levels of persons in an object to look into.
    """
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, dict):
        persons = (person for key in PERSON_KEYS if depth and isinstance(person := value.get(key), dict))
        # Other keys of the object, such as its type, tell less than the person in it.
        known = (value[key] for key in NAME_KEYS[: NAME_KEYS.index("role")] if value.get(key))
        value = (
            next(known, None)
            or next((name for person in persons if (name := as_name(person, depth=depth - 1))), None)
            or next((value[key] for key in NAME_KEYS if value.get(key)), "")
        )
    if isinstance(value, dict | list):
        return ""
    return cell_text(value).strip()


def as_labels(value: Any, *, several: bool) -> list[str]:
    """Return the labels of a cell.

    :param several: True if a text may hold several labels, separated by semicolons, pipes or commas.
    """
    if isinstance(value, dict):
        value = value.get("tags") or as_name(value)
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = unpacked(value)
    if isinstance(value, list | tuple):
        return [name for name in map(as_name, value) if name]
    text = cell_text(value).strip()
    separator = next((mark for mark in ";|," if several and mark in text), None)
    return [part.strip() for part in text.split(separator) if part.strip()] if separator else [text] if text else []


def as_turn_list(value: Any) -> list[Any] | None:
    """Return the list of turns in a cell: a list, an object with one list, or either as text; None if there is none."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        value = unpacked(value)
    if isinstance(value, dict):
        lists = [item for item in value.values() if isinstance(item, list) and any(isinstance(x, dict) for x in item)]
        value = lists[0] if len(lists) == 1 else None
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return value
    return None


def unpacked(text: str) -> Any:
    """Decode a JSON value, or a Python value as pandas writes lists, in a cell; None if it is neither."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    for written in (text, NUMPY.sub(lambda match: ", " if match[0].isspace() else match[0][-1], text)):
        try:
            return ast.literal_eval(written.strip())
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            continue
    return None
