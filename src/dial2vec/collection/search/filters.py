"""Filters on the dialogues of a collection: label, date, speaker and metadata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.search.conditions import meets, parsed_moment, require_known
from dial2vec.errors import CorpusError


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions that a dialogue must meet.

    :param labels: accepted labels, of which the dialogue has at least one; () accepts all.
    :param speakers: accepted speakers, of whom at least one speaks; () accepts all.
    :param after: earliest start, an ISO date or time, in UTC unless it has a zone; None accepts all.
    :param before: end of the accepted period, exclusive, like `after`.
    :param where: conditions on the metadata, such as "channel in phone, chat" or "csat <= 2 or note ~ angry"
        (`dial2vec.collection.search.conditions.meets`); all must hold.
    """

    labels: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()
    after: str | None = None
    before: str | None = None
    where: tuple[str, ...] = ()

    def rows(self, collection: CollectionFolder) -> NDArray[np.int64] | None:
        """Return the rows that pass, ascending, int64 [m]; None if there is no condition.

        :raises CorpusError: if a label, speaker or key is unknown, a date or condition is invalid, or no dialogue has a
            date.
        """
        if self == Filters():
            return None
        keep = np.ones(len(collection), dtype=bool)
        for name, wanted in (("labels", self.labels), ("speakers", self.speakers)):
            if wanted:
                keep &= _has(collection.rows[name], name.removesuffix("s"), wanted, len(collection))
        dates = collection.rows["date"]
        for date, passes in ((self.after, pc.greater_equal), (self.before, pc.less)):
            if date is not None:
                if dates.null_count == len(dates):
                    raise CorpusError(f"no dialogue of {collection.folder} has a date. Leave --after and --before out.")
                keep &= pc.fill_null(passes(dates, pa.scalar(parsed_moment(date), dates.type)), False).to_numpy()
        for condition in self.where:
            keep &= meets(collection, condition)
        return np.flatnonzero(keep)


def both(rows: NDArray[np.int64] | None, others: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
    """Return the rows in both sets, ascending; None stands for all rows."""
    if rows is None or others is None:
        return others if rows is None else rows
    return np.intersect1d(rows, others, assume_unique=True)


def _has(column: pa.ChunkedArray, name: str, wanted: Sequence[str], n: int) -> NDArray[np.bool_]:
    """Return a mask of the lists that contain one of these values."""
    lists = column.combine_chunks()
    values = pc.list_flatten(lists)
    known = pc.unique(values).to_pylist()
    for value in wanted:
        require_known(value, known, name)
    mask = np.zeros(n, dtype=bool)
    mask[pc.list_parent_indices(lists).filter(pc.is_in(values, pa.array(wanted))).to_numpy()] = True
    return mask
