"""Columns without a meaning of their own, which say something about whole dialogues: channel, agent, csat, country."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conversations.guessing import evidence
from conversations.guessing.columns import Columns
from conversations.guessing.names import by_name

Values = Sequence[dict[str, Any]]


def further_columns(sample: Values, columns: Columns) -> tuple[str, ...]:
    """Return the columns that become metadata: plain values that are the same in all rows of a dialogue.

    :param sample: First rows or records.
    """
    used = {*columns.meanings, *columns.not_speech.columns, columns.turns}
    names = dict.fromkeys(name for values in sample for name in values if name not in used)
    # A text beside the turns repeats or sums them up.
    names = {name: None for name in names if not by_name("text", [name])}
    plain = [name for name in names if _is_plain([values.get(name) for values in sample])]
    if columns.turns:
        return tuple(plain)
    groups = _groups(sample, columns)
    return tuple(name for name in plain if not evidence.changes(groups, name))


def _is_plain(values: list[Any]) -> bool:
    filled = [value for value in values if value not in (None, "")]
    return bool(filled) and all(isinstance(value, str | int | float | bool) for value in filled)


def _groups(sample: Values, columns: Columns) -> list[Values]:
    if not columns.has_ids:
        return [[values] for values in sample] if columns.answer and not columns.alternating else [sample]
    groups: dict[str, list[dict[str, Any]]] = {}
    for values in sample:
        groups.setdefault(columns.id_of(values), []).append(values)
    return list(groups.values())
