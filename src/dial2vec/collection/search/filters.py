"""Filters on the dialogues of a collection: label, date and speaker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dial2vec.collection import Collection
from dial2vec.dialogue import moment_of
from dial2vec.errors import CorpusError, did_you_mean


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions that a dialogue must meet.

    :param labels: accepted labels, of which the dialogue has at least one; () accepts all.
    :param speakers: accepted speakers, of whom at least one speaks; () accepts all.
    :param after: earliest start, an ISO date or time, in UTC unless it has a zone; None accepts all.
    :param before: end of the accepted period, exclusive, like `after`.
    """

    labels: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()
    after: str | None = None
    before: str | None = None

    def rows(self, collection: Collection) -> NDArray[np.int64] | None:
        """Return the rows that pass, ascending, int64 [m]; None if there is no condition.

        :raises CorpusError: if a label or speaker is unknown, a date is invalid, or no dialogue has a date.
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
                keep &= pc.fill_null(passes(dates, pa.scalar(_moment(date), dates.type)), False).to_numpy()
        return np.flatnonzero(keep)


def _has(column: pa.ChunkedArray, name: str, wanted: Sequence[str], n: int) -> NDArray[np.bool_]:
    """Return a mask of the lists that contain one of these values."""
    lists = column.combine_chunks()
    values = pc.list_flatten(lists)
    known = pc.unique(values).to_pylist()
    for value in wanted:
        if value not in known:
            raise CorpusError(
                f"no dialogue has the {name} {value!r}.{did_you_mean(value, known)} "
                f"There are {len(known)}: {', '.join(known[:8])}{', ...' if len(known) > 8 else ''}."
            )
    mask = np.zeros(n, dtype=bool)
    mask[pc.list_parent_indices(lists).filter(pc.is_in(values, pa.array(wanted))).to_numpy()] = True
    return mask


def _moment(date: str) -> datetime:
    moment = moment_of(date)
    if moment is None:
        raise CorpusError(f"{date!r} is no date; expected one such as 2026-03-04, or 2026-03-04T10:15.")
    return moment
