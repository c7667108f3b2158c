"""Rows and records are reshaped whose turns, ids or speakers stand elsewhere: named steps, which recipes name, too."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

from conversations.formats.records import Record, changed
from conversations.guessing.latest import latest
from conversations.guessing.names import columns_in
from conversations.guessing.restarts import Restarts, merged_cells, restarting, speakers_in_texts
from conversations.guessing.unfolding import (
    identifying,
    nesting,
    opening,
    turns_by_side,
    turns_of_columns,
    unfolding,
    unquoting,
)

Values = dict[str, Any]
Change = Callable[[Values], Values]


class Step(NamedTuple):
    """A reshaping.

    :param find: Returns how a row is changed, judged by the first ones; None if they need no change.
    :param unless: Meanings of columns; the step is left out if the user names one of them.
    """

    find: Callable[[Sequence[Values]], Change | None]
    unless: tuple[str, ...] = ()


# Turns beside the lists that hold the others, before a recipe is looked for.
BESIDE_LISTS = {
    "turns in numbered columns": Step(nesting),
    "newest question and answer beside the messages": Step(latest),
}
# If no recipe fits, in this order.
WITHOUT_RECIPE = {
    "a turn per column": Step(lambda sample: turns_of_columns(columns_in(sample))),
    "ids in objects": Step(identifying, unless=("id",)),
    "turns by their sides": Step(turns_by_side),
    "speakers in texts": Step(speakers_in_texts),
    "a first message beside the others": Step(opening),
    "turns in objects": Step(unfolding),
    "texts in JSON": Step(unquoting),
    "merged cells": Step(merged_cells),
    "dialogues by the numbers of their turns": Step(restarting, unless=("id", "time", "turns")),
}
STEPS = BESIDE_LISTS | WITHOUT_RECIPE


class Reshaping:
    """Reshapes the records of a file.

    :param sample: First rows or records.
    :param records: All records.
    :param named: Meanings of the columns that the user names.
    :param name: Prefix of the ids of dialogues that are counted.
    """

    def __init__(self, sample: list[Values], records: Iterable[Record], named: Collection[str], name: str) -> None:
        self.sample = sample
        self.records = records
        self._name = name
        self.done: list[str] = []
        self.notes: tuple[str, ...] = ()
        self._named = named

    def apply(self, steps: Mapping[str, Step]) -> None:
        """Apply the steps that the first records need."""
        for name, step in steps.items():
            change = None if set(step.unless) & set(self._named) else step.find(self.sample)
            if isinstance(change, Restarts):
                change.prefix = self._name
            if change:
                # Some changes count the rows that they saw: the first rows are read twice.
                self.sample = list(map(copy(change), self.sample))
                self.records = changed(self.records, copy(change))
                self.done.append(name)
                self.notes += getattr(change, "notes", ())
