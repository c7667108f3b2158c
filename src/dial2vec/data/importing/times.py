"""The order of turns by what stands in their time column: dates of any usual form, seconds, clocks or turn numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise

CLOCK = re.compile(r"(?:(\d{1,3}):)?(\d{1,2}):(\d{2}(?:[.,]\d+)?)$")
SLASHED = re.compile(r"(\d{1,2})[/-](\d{1,2})[/-]\d{2,4}\b")
DOTTED = re.compile(r"\d{1,2}\.\d{1,2}\.\d{2,4}\b")
HALF_A_DAY = 12 * 3600
YEAR = re.compile(r"(?<!\d)(19|20)\d\d(?!\d)")
# Counts since 1970 that are dates: from 1990 to 2100. Smaller numbers are turns, or seconds of a call.
EARLIEST, LATEST = 631_152_000, 4_102_444_800


def is_day_first(times: Sequence[str]) -> bool:
    """Whether dates such as 03/04/2024 begin with the day: some first number of the column is over 12."""
    return any(int(found[1]) > 12 for time in times if (found := SLASHED.match(time)))


def seconds(time: str, *, day_first: bool) -> float | None:
    """Return a point in time as a number that grows with time; None when it cannot be told.

    Without a zone it is taken as UTC.
    """
    try:
        number = float(time)
    except ValueError:
        pass
    else:
        # Counts since 1970 come in seconds, thousandths, millionths or less: 1e11 seconds are the year 5138.
        while math.isfinite(number) and number > 1e11:
            number /= 1000
        return number if math.isfinite(number) else None
    if clock := CLOCK.match(time):
        return int(clock[1] or 0) * 3600 + int(clock[2]) * 60 + float(clock[3].replace(",", "."))
    moment = _moment(time, day_first)
    if moment is None:
        return None
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (OverflowError, ValueError):
        return None


def first_date(times: Sequence[str], *, day_first: bool) -> str | None:
    """Return when the first of these was, ISO 8601 in UTC; None where none says its year, as a clock does not."""
    dated = [time for time in times if _has_year(time)]
    known = [found for time in dated if (found := seconds(time, day_first=day_first)) is not None]
    plausible = [found for found in known if EARLIEST <= found < LATEST]
    return datetime.fromtimestamp(min(plausible), UTC).isoformat(timespec="seconds") if plausible else None


def _has_year(time: str) -> bool:
    return time.replace(".", "", 1).isdigit() or bool(YEAR.search(time) or SLASHED.match(time) or DOTTED.match(time))


def _passes_midnight(times: Sequence[str], known: Sequence[float]) -> bool:
    """Whether clocks fall once, by more than half a day, and otherwise rise."""
    falls = [before - after for before, after in pairwise(known) if after < before]
    # "23:58" was read as minutes and seconds; as hours and minutes it is the sixtieth part as much.
    half_a_day = HALF_A_DAY / (1 if times[0].count(":") == 2 else 60)
    return len(falls) == 1 and falls[0] > half_a_day


def _moment(time: str, day_first: bool) -> datetime | None:
    try:
        return datetime.fromisoformat(time)
    except ValueError:
        pass
    # The parser would fill in from today what is not there: a word or a bare number is no date.
    if len(re.findall(r"\d+", time)) < 2 or len(time) > 60:
        return None
    from dateutil import parser

    try:
        # A zone that is only named, such as CEST, is taken as UTC: within one export it is the same for all.
        return parser.parse(time, dayfirst=day_first or bool(DOTTED.match(time)), tzinfos=lambda _, offset: offset or 0)
    except (ValueError, OverflowError, TypeError, RecursionError):
        return None


def order(times: Sequence[str], *, day_first: bool) -> list[int] | None:
    """Return the indices of turns in the order of their times; equal times stay as they are.

    Turns without any time stay as they are too. A clock that passes midnight is not sorted.

    :returns: None when some times cannot be read, and the others are not in order by themselves.
    """
    as_they_are = list(range(len(times)))
    if not any(times):
        return as_they_are
    found = [seconds(time, day_first=day_first) if time else None for time in times]
    known = [value for value in found if value is not None]
    if known == sorted(known):
        return as_they_are
    if len(known) < len(found):
        return None
    if all(CLOCK.match(time) for time in times) and _passes_midnight(times, known):
        return as_they_are
    return sorted(as_they_are, key=known.__getitem__)
