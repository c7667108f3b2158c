"""The days, weeks, months or years of a collection, and the latest of them that are compared with all before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.errors import CorpusError

# From fine to coarse; the first one that gives at most so many periods is used.
UNITS, MOST_PERIODS = ("D", "W", "M", "Y"), 53
# The second side starts late, but has a quarter of the dialogues; both have at least 20.
LATE_SHARE, LEAST = 0.25, 20


class TooFewError(CorpusError):
    """A side has no dialogue, or too few to compare."""


@dataclass(frozen=True, slots=True)
class Periods:
    """Equal spans of time from the first dialogue to the last.

    :param names: first day, "2026-03-02", month, "2026-03", or year of each period; empty without dates.
    :param of_rows: period of each dialogue of the collection, -1 without a date, int64.
    """

    names: list[str]
    of_rows: NDArray[np.int64]

    def totals(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of dialogues of each period, int64 [periods]."""
        own = self.of_rows[rows]
        return np.bincount(own[own >= 0], minlength=len(self.names))


def periods_of(collection: CollectionFolder) -> Periods:
    """Return the days, weeks, months or years of a collection, at most 53 unless they are years, in UTC."""
    times = collection.times
    dated = ~np.isnat(times)
    if not dated.any():
        return Periods([], np.full(len(times), -1))
    for unit in UNITS:
        starts = starts_of(times, unit)
        days = np.arange(starts[dated].min(), starts[dated].max() + 1)
        periods = np.unique(starts_of(days, unit))
        if len(periods) <= MOST_PERIODS:
            break
    names = periods.astype(f"datetime64[{unit if unit in 'MY' else 'D'}]").astype(str).tolist()
    return Periods(names, np.where(dated, np.searchsorted(periods, starts), -1))


def starts_of(times: NDArray[np.datetime64], unit: str) -> NDArray[np.datetime64]:
    """Return the first day of the day, week, month or year of each time; `unit` is D, W, M or Y."""
    # NumPy's weeks begin on Thursday, the day of 1970-01-01; ours are named by their Monday.
    shift = np.timedelta64(3 if unit == "W" else 0, "D")
    days = times.astype("datetime64[D]") + shift
    return np.asarray(days.astype(f"datetime64[{unit}]").astype("datetime64[D]") - shift)


def days_of(times: NDArray[np.datetime64]) -> list[str]:
    """Return the first and the last day of some times, ISO dates; none without dates."""
    dated = times[~np.isnat(times)].astype("datetime64[D]")
    return [str(dated.min()), str(dated.max())] if len(dated) else []


def latest_sides(
    collection: CollectionFolder, rows: NDArray[np.int64]
) -> tuple[str, NDArray[np.int64], NDArray[np.int64]]:
    """Return the start of the latest dialogues, an ISO date, the rows of those before, and their own rows.

    The latest are those of the last days, weeks, months or years with a quarter of the dialogues. Without dates they
    are the last addition.

    :param rows: rows of the collection that count.
    :raises TooFewError: if there are fewer than 20 dialogues before or after.
    """
    periods, additions = periods_of(collection), collection.manifest.additions
    own, start = (rows >= len(collection) - additions[-1].dialogues).astype(np.int64), 1
    since = additions[-1].added[:10]
    if len(periods.names) > 1:
        own, following = periods.of_rows[rows], periods.totals(rows)[::-1].cumsum()[::-1]
        start = int(np.flatnonzero(following >= LATE_SHARE * following[0])[-1])
        since = f"{periods.names[start]}-01-01"[:10]
    first, second = rows[(own >= 0) & (own < start)], rows[own >= start]
    if min(len(first), len(second)) < LEAST:
        raise TooFewError(
            f"{collection.folder} has too few dialogues to compare the latest with those before; expected {LEAST} on "
            "each side, by their dates or by two additions. Give --before and --after, or a second folder."
        )
    return since, first, second
