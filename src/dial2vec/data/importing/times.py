"""The order of turns by their time column: dates of any usual form, seconds, clock times or turn numbers."""

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
# Seconds since 1970 that count as dates: from 1990 to 2100. Smaller numbers are turns, or seconds of a call.
EARLIEST, LATEST = 631_152_000, 4_102_444_800


def is_day_first(times: Sequence[str]) -> bool:
    """Return whether dates such as 03/04/2024 begin with the day: some first number of the column is over 12."""
    return any(int(match[1]) > 12 for time in times if (match := SLASHED.match(time)))


def seconds(time: str, *, day_first: bool) -> float | None:
    """Return a time as a number of seconds that grows with time; None if it cannot be read.

    A time without a zone counts as UTC.
    """
    try:
        number = float(time)
    except ValueError:
        pass
    else:
        # Times since 1970 may be in milliseconds, microseconds or less: 1e11 seconds are the year 5138.
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
    """Return the earliest time, ISO 8601 in UTC; None if no time has a year."""
    dated = [time for time in times if _has_year(time)]
    known = [value for time in dated if (value := seconds(time, day_first=day_first)) is not None]
    plausible = [value for value in known if EARLIEST <= value < LATEST]
    return datetime.fromtimestamp(min(plausible), UTC).isoformat(timespec="seconds") if plausible else None


def _has_year(time: str) -> bool:
    return time.replace(".", "", 1).isdigit() or bool(YEAR.search(time) or SLASHED.match(time) or DOTTED.match(time))


def _passes_midnight(times: Sequence[str], known: Sequence[float]) -> bool:
    """Return whether clock times fall once, by more than half a day, and otherwise rise."""
    falls = [before - after for before, after in pairwise(known) if after < before]
    # "23:58" was read as minutes and seconds: as hours and minutes it is 60 times as much.
    half_a_day = HALF_A_DAY / (1 if times[0].count(":") == 2 else 60)
    return len(falls) == 1 and falls[0] > half_a_day


def _moment(time: str, day_first: bool) -> datetime | None:
    try:
        return datetime.fromisoformat(time)
    except ValueError:
        pass
    # The parser would fill in missing parts from today: a word or a bare number is no date.
    if len(re.findall(r"\d+", time)) < 2 or len(time) > 60:
        return None
    from dateutil import parser

    try:
        # A zone given only by name, such as CEST, counts as UTC: it is the same for all times of an export.
        return parser.parse(time, dayfirst=day_first or bool(DOTTED.match(time)), tzinfos=lambda _, offset: offset or 0)
    except (ValueError, OverflowError, TypeError, RecursionError):
        return None


def order(times: Sequence[str], *, day_first: bool) -> list[int] | None:
    """Return the indices of turns in the order of their times; turns with equal times keep their order.

    Turns without any times, and clock times that pass midnight once, keep their order too.

    :returns: None if some times cannot be read and the others are not in order already.
    """
    unchanged = list(range(len(times)))
    if not any(times):
        return unchanged
    known = [value for time in times if time and (value := seconds(time, day_first=day_first)) is not None]
    if known == sorted(known):
        return unchanged
    if len(known) < len(times):
        return None
    if all(CLOCK.match(time) for time in times) and _passes_midnight(times, known):
        return unchanged
    return sorted(unchanged, key=known.__getitem__)
