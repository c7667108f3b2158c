"""Columns whose meanings were guessed or named, as the keys of a recipe."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from conversations.by_recipe.expressions import Finder, of_column
from conversations.guessing.columns import ITSELF, Columns
from conversations.guessing.evidence import Values, changes, rows_by
from conversations.guessing.names import by_name, columns_in
from conversations.values.cells import as_name


def drafted(columns: Columns, *, steps: Sequence[str] = (), paths: Collection[str] = ()) -> dict[str, Any]:
    """Return the keys of the recipe that reads these columns.

    :param steps: Reshapings before the columns were found.
    :param paths: Names of columns that are paths into nested values.
    """

    def name(column: str | None) -> str:
        return column or "" if column in paths else of_column(column or "")

    speaker = name(columns.speaker) + (f".{name(columns.speaker_key)}" if columns.speaker_key else "")
    speaker = " || ".join([speaker, *map(name, columns.other_speakers)])
    turn = [] if columns.turns else [columns.speaker, columns.text, columns.answer]
    ids = " || ".join(name(column) for column in (columns.dialogue_id, columns.other_id) if column)
    if columns.receiver:
        ids = f"join(', ', sort([{speaker}, {name(columns.receiver)}]))"
    # The turns of lines and of exchanges are called so by their reader.
    plain = columns.answer or not columns.text
    keys = {
        "reshape": list(steps),
        "has": [name(column) for column in (columns.dialogue_id, columns.turns, *turn) if column],
        "id": ids,
        "spans": bool(columns.other_id),
        "turns": name(columns.turns) if columns.turns else "",
        "first": "@" if columns.opening == ITSELF else name(columns.opening) if columns.opening else "",
        "last": name(columns.closing) if columns.closing else "",
        "branch": dict(zip(("id", "parent"), map(name, columns.branch or ()), strict=False)),
        "speaker": "speaker" if plain else speaker,
        "text": "text" if plain else name(columns.text),
        "time": name(columns.time) if columns.time else "",
        "day": name(columns.day) if columns.day else "",
        "date": name(columns.date) if columns.date else "",
        "labels": [name(column) for column in columns.labels],
        "versions": [name(column) for column in columns.versions or ()],
        "html": columns.html,
        "marks": _marks(columns),
    }
    if columns.answer:
        sides = [
            f"{{speaker: 'user', text: {name(columns.text)}}}",
            f"{{speaker: 'bot', text: {name(columns.answer)}}}",
        ]
        keys["turns"] = f"[{', '.join(sides[::-1] if columns.answer_first else sides)}]"
        keys["parts"] = "new" if columns.dialogue_id or columns.alternating else ""
        keys["date"] = keys.pop("time")
    filled = {key: value for key, value in keys.items() if value}
    return filled | {"metadata": {column: name(column) for column in columns.metadata}}


def _marks(columns: Columns) -> dict[str, Any]:
    rules = columns.not_speech
    marks = {"columns": list(rules.columns), "speakers": dict(rules.speakers), "inner": rules.inner}
    return {key: value for key, value in marks.items() if value}


def further_columns(sample: Values, columns: Columns) -> tuple[str, ...]:
    """Return the columns that become metadata: plain values that are the same in all rows of a dialogue.

    :param sample: First rows or records.
    """
    used = {*columns.meanings, *columns.not_speech.columns, columns.turns}
    # A text beside the turns repeats or sums them up.
    names = [name for name in columns_in(sample) if name not in used and not by_name("text", [name])]
    plain = [name for name in names if _is_plain([values.get(name) for values in sample])]
    if columns.turns:
        return tuple(plain)
    groups = _groups(sample, columns)
    return tuple(name for name in plain if not changes(groups, name))


def _is_plain(values: list[Any]) -> bool:
    filled = [value for value in values if value not in (None, "")]
    return bool(filled) and all(isinstance(value, str | int | float | bool) for value in filled)


def _groups(sample: Values, columns: Columns) -> Sequence[Values]:
    if own := drafted(columns).get("id"):
        find = Finder(own).find
        return rows_by(sample, lambda values: as_name(find(values)))
    return [[values] for values in sample] if columns.answer and not columns.alternating else [sample]
