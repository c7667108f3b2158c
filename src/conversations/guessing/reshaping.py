"""Rows and records are reshaped whose turns, ids or speakers stand elsewhere: named steps, which recipes name, too."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from itertools import pairwise
from typing import Any, NamedTuple

from conversations.formats.plain_text import is_script, split_speaker
from conversations.formats.records import Record, changed
from conversations.guessing.exchanges import latest
from conversations.guessing.names import by_name, columns_in, is_index, is_role, plain
from conversations.guessing.unfolding import (
    identifying,
    nesting,
    opening,
    turns_by_side,
    turns_of_columns,
    unfolding,
    unquoting,
)
from conversations.values.cells import as_name, cell_text

Values = dict[str, Any]
Change = Callable[[Values], Values]
NEARLY_ALL = 0.8
# "05/Mar/24 10:00 AM;kim;It is up again."
COMMENT = re.compile(r"([^;\n]{0,30}\d:\d\d[^;\n]{0,12});([^;\n]{1,120});(.*)", re.DOTALL)


def comments_in_columns(sample: Sequence[Values]) -> Callable[[Values], Values] | None:
    """Return a function that lists the comments of an issue, each in a column with its time and author, as Jira does.

    Authors may be numbers, whose names stand in columns such as "Reporter" beside "Reporter Id".
    """
    cells = {name: [text for values in sample if (text := cell_text(values.get(name)))] for name in columns_in(sample)}
    named = [name for name in cells if plain(re.sub(r"\W*\d+\W*$", "", name)) in ("comment", "comments")]
    if not any(map(cells.get, named)) or not all(COMMENT.fullmatch(text) for name in named for text in cells[name]):
        return None

    def listed(values: Values) -> Values:
        known = {values[f"{name} Id"]: cell for name, cell in values.items() if cell and f"{name} Id" in values}
        matches = [match for name in named if (match := COMMENT.fullmatch(cell_text(values.get(name))))]
        comments = [{"author": known.get(it[2], it[2]), "text": it[3], "created": it[1]} for it in matches]
        return {name: value for name, value in values.items() if name not in named} | {"comments": comments}

    return listed


class Restarts:
    """Gives each row the id of its dialogue, which begins where the number of the turn is the first one again.

    :param column: Column of the numbers.
    :param first: First number.
    """

    def __init__(self, column: str, first: str) -> None:
        self._column = column
        self._first = first
        self._dialogue = 0
        # Of the ids.
        self.prefix = ""
        self.notes = (f"a dialogue begins where {column!r} is {first} again; if not so, name its id with --id",)

    def __call__(self, values: Values) -> Values:
        """Return a row with the id of its dialogue."""
        self._dialogue += as_name(values.get(self._column)) == self._first
        return {"dialogue_id": f"{self.prefix}-{self._dialogue}"} | values


def restarting(sample: Sequence[Values]) -> Restarts | None:
    """Return what counts dialogues without ids whose turns are numbered; or None.

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
            return Restarts(name, numbers[0])
    return None


def speakers_in_texts(sample: Sequence[Values]) -> Callable[[Values], Values] | None:
    """Return a function that parts "Agent: Hello" in the texts of rows without speakers; None for other rows."""
    names = columns_in(sample)
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


class MergedCells:
    """Fills the cells below the id of a dialogue, which stands only in its first row, as merged cells are saved.

    :param columns: Columns of the ids, and of the speakers if they are merged, too.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        self.notes = (f"{columns[0]!r} names a dialogue in its first row only: the rows below belong to it",)
        self._last: dict[str, Any] = {}

    def __call__(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return a row with the id of its dialogue."""
        self._last = self._last | {n: cell for n in self._columns if cell_text(cell := values.get(n)).strip()}
        return values | self._last


def merged_cells(sample: Sequence[dict[str, Any]]) -> MergedCells | None:
    """Return what fills the ids that stand only in the first row of each dialogue, and speakers that do; or None.

    Speakers are merged where a row below has only a text.
    """
    names = [name for name in (sample[0] if sample else ()) if cell_text(sample[0][name])]
    column = by_name("id", names, lambda name: not is_index(name))
    # A message outside any thread has no "thread_ts" in Slack.
    if (
        column is None
        or plain(column) == "thread_ts"
        or any(column not in values or len(values) < 3 for values in sample)
    ):
        return None
    ids = [text for values in sample if (text := cell_text(values[column]).strip())]
    below = [values for values in sample if not cell_text(values[column]).strip()]
    others = [name for name in names if name != column]
    speaker, words = by_name("speaker", others), by_name("text", others)
    alone = [values for values in below if sum(bool(cell_text(value).strip()) for value in values.values()) < 2]
    merged = bool(speaker and words and speaker != words) and all(cell_text(v[words or ""]).strip() for v in alone)
    if not (not alone or merged) or not len(set(ids)) == len(ids) <= len(below) or len(below) < 2:
        return None
    return MergedCells([column, *([speaker] if alone and speaker else [])])


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
    "comments in columns": Step(comments_in_columns),
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
