"""The two sides of a comparison: two periods of one collection, or two collections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec.collection.changes.grouped import Grouped, nearest_groups
from dial2vec.collection.changes.periods import TooFewError, days_of, latest_sides
from dial2vec.collection.clustering.partition import Vectors
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.search.conditions import parsed_moment
from dial2vec.collection.search.filters import Filters, both
from dial2vec.errors import CorpusError


@dataclass(frozen=True, slots=True)
class Span:
    """The dates of both sides; each is an ISO date or time, in UTC unless it has a zone, or None without a limit.

    Without `before` and `after`, the second period of one collection is the latest one (`periods.latest_sides`).

    :param before: end of the first period, exclusive; None means `after`.
    :param after: start of the second period; None means `before`.
    :param since: start of the first period.
    :param until: end of the second period, exclusive.
    """

    before: str | None = None
    after: str | None = None
    since: str | None = None
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Sides:
    """Dialogues of one or two collections, numbered through, with their sides.

    :param collections: one collection, or two.
    :param grouped: groups of all dialogues.
    :param side: 0 for the first side, 1 for the second, -1 for neither, int64 [n].
    :param since: start of the second period; "" with two collections.
    """

    collections: tuple[CollectionFolder, ...]
    grouped: Grouped
    side: NDArray[np.int64]
    since: str = ""

    @property
    def sizes(self) -> tuple[int, int]:
        """Return the number of dialogues on both sides."""
        return int((self.side == 0).sum()), int((self.side == 1).sum())

    def id_of(self, row: int) -> str:
        """Return the id of a dialogue."""
        n = len(self.collections[0])
        collection, own = (self.collections[0], row) if row < n else (self.collections[1], row - n)
        return str(collection.rows["dialogue_id"][own].as_py())

    def units(self, rows: NDArray[np.int64]) -> Vectors:
        """Return the vectors of dialogues, float32 [m, d]."""
        return np.concatenate([collection.vectors[own] for collection, own in self._parts(rows)])

    def dialogues(self, rows: NDArray[np.int64]) -> Iterator[Dialogue]:
        """Yield dialogues; rows ascend."""
        for collection, own in self._parts(rows):
            yield from collection.dialogues(own.tolist())

    def _parts(self, rows: NDArray[np.int64]) -> list[tuple[CollectionFolder, NDArray[np.int64]]]:
        n = len(self.collections[0])
        parts = [(self.collections[0], rows[rows < n])]
        return parts if len(self.collections) == 1 else [*parts, (self.collections[1], rows[rows >= n] - n)]


def sides_of(
    collection: CollectionFolder,
    other: CollectionFolder | None,
    span: Span,
    filters: Filters | None,
    *,
    grouped: Grouped | None = None,
) -> Sides:
    """Return the dialogues of both sides with their groups.

    :param grouped: groups of all dialogues, if they are known.
    :raises ArtifactError: if the first collection has no clusters, or damaged ones.
    :raises CorpusError: if a side has no dialogue, a date is invalid or missing, a filter is invalid or names something
        unknown, or the collections have different encoders.
    """
    before, after = span.before, span.after
    if other is None and before is None and after is None:
        after, first, second = latest_sides(collection, _rows(collection, span.since, span.until, filters))
    else:
        if other is None:
            before, after = before or after, after or before
            if parsed_moment(before or "") > parsed_moment(after or ""):
                raise CorpusError(
                    f"--before {before} is later than --after {after}, so dialogues would be on both sides; expected "
                    "periods that do not overlap. Take an earlier --before."
                )
        first = _rows(collection, span.since, before, filters)
        second = _rows(other or collection, after, span.until, filters)
    grouped = grouped or nearest_groups(collection, other)
    side = np.full(len(grouped.groups), -1)
    side[first] = 0
    side[second + (len(collection) if other is not None else 0)] = 1
    return Sides((collection,) if other is None else (collection, other), grouped, side, after or "")


def _rows(
    collection: CollectionFolder, start: str | None, end: str | None, filters: Filters | None
) -> NDArray[np.int64]:
    """Return the rows of one side."""
    rows = both(Filters(after=start, before=end).rows(collection), filters.rows(collection) if filters else None)
    if rows is None:
        rows = np.arange(len(collection))
    if not len(rows):
        parts = [f"from {start} on"] * (start is not None) + [f"before {end}"] * (end is not None)
        period = " and ".join(parts) or ("that passes the filters" if filters is not None else "at all")
        days = " to ".join(days_of(collection.times))
        raise TooFewError(
            f"{collection.folder} has no dialogue {period}{f' (the dates are from {days})' * bool(days)}; expected "
            "dialogues on both sides. Choose other dates or filters."
        )
    return rows
