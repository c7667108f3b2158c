"""The order of turns by their time column: dates of any usual form, seconds, clock times or turn numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import chain, pairwise

from conversations.values.moments import clock_of_day, find_day, moment, plain_time

# Programs write long numbers as "1.709287262E+12"; with fewer digits the number is rounded, and no time.
NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?$|\d[.,]\d{8,}[eE]\+?\d{1,2}$")
# "1h 2m 5s", "2 min 5 sec", "59s"
SPAN = re.compile(r"(?:(\d+)\s?h(?:rs?)?\s?)?(?:(\d+)\s?m(?:ins?)?\s?)?(?:(\d+(?:[.,]\d+)?)\s?s(?:ecs?)?)?$")
# "1,200", "12.100.000"
GROUPED = re.compile(r"[1-9]\d{0,2}(?:[.,]\d{3})+")
CLOCK = re.compile(r"(?:(\d{1,3}):)?(\d{1,2}):(\d{2}(?:[.,]\d+)?)$")
SLASHED = re.compile(r"(?<![\d/-])(\d{1,2})([/-])(\d{1,2})\2(\d{4}|\d{2})(?![\d/-])")
HALF_A_DAY = 12 * 3600
YEAR = re.compile(r"(?<!\d)(19|20)\d\d(?!\d)")
# Dates from 1990 to 2100 count.
EARLIEST, LATEST = 631_152_000, 4_102_444_800
# Seconds since 1970 count as dates from 2001 on. Smaller numbers are turns, seconds of a call, or seconds since 2001 as
# Apple's databases count them.
EARLIEST_NUMBER = 1_000_000_000
# "20240305101500"
STAMP = re.compile(r"(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])([01]\d|2[0-3])([0-5]\d)([0-5]\d)?$")
# Days since 1900 as spreadsheets write them: from 2000 to 2051.
FIRST_SERIAL, LAST_SERIAL = 36_526, 55_153
SERIAL_START = datetime(1899, 12, 30, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ClockReading:
    """How the times of a whole export are read.

    :param day_first: True if dates such as 03/04/2024 begin with the day; None if nothing tells.
    :param newest_first: True if most turns come before older ones.
    :param thousands: Sign between the thousands of numbers, as in 1,200; "" without one.
    """

    day_first: bool | None = False
    newest_first: bool = False
    thousands: str = ""

    def seconds(self, time: str) -> float | None:
        """Return a time as `seconds` does."""
        grouped = self.thousands and GROUPED.fullmatch(time.strip())
        return seconds(time.replace(self.thousands, "") if grouped else time, day_first=bool(self.day_first))


def reading_of(dialogues: Iterable[Sequence[str]], dates: Sequence[str] = ()) -> ClockReading:
    """Return how an export's times are read.

    :param dialogues: Times of the turns of each dialogue, as they stand.
    :param dates: Further dates of the export.
    """
    dialogues = list(dialogues)
    every = list(chain.from_iterable(dialogues))
    reading = ClockReading(is_day_first([*every, *dates]), thousands=_thousands(every))
    rises = falls = 0
    for times in dialogues:
        values = [value for time in times if (value := reading.seconds(time)) is not None]
        midnight = _half_a_day(times) if any(times) and all(map(_is_clock, times)) else math.inf
        for before, after in pairwise(values):
            falls += 0 < before - after <= midnight
            rises += before < after or before - after > midnight
    return replace(reading, newest_first=falls > 4 * rises)


def _thousands(times: Sequence[str]) -> str:
    """Return the sign between thousands, if numbers below 1000 have none and the others have it before 3 digits."""
    grouped = {text for time in times if GROUPED.fullmatch(text := time.strip())}
    numbers = {text for time in times if (text := time.strip())} if grouped else grouped
    small = all(number.isdecimal() and len(number) < 4 for number in numbers - grouped)
    signs = {sign for number in grouped for sign in number if not sign.isdecimal()}
    # 1.200 beside 2.350 may be seconds; their order is the same.
    mixed = len(grouped) < len(numbers) or any(len(number) > len("999,999") for number in grouped)
    return signs.pop() if small and mixed and len(signs) == 1 else ""


def is_day_first(times: Sequence[str]) -> bool | None:
    """Return whether dates such as 03/04/2024 begin with the day; None if nothing tells.

    A number over 12 is a day. Otherwise the reading counts by which the dates are much closer together, and last AM or
    PM in capitals, which people write who begin with the month.
    """
    dates = {match.group(): match for time in times if (match := SLASHED.search(plain_time(time)))}
    if not dates:
        return False
    if _begin_with_year(dates):
        return None
    if any(int(match[1]) > 12 for match in dates.values()):
        return True
    if any(int(match[3]) > 12 for match in dates.values()):
        return False
    days = [(int(match[4]), int(match[1]), int(match[3])) for match in dates.values()]
    by_month, by_day = _span([(y, a, b) for y, a, b in days]), _span([(y, b, a) for y, a, b in days])
    if 4 * min(by_day, by_month) < max(by_day, by_month):
        return by_day < by_month
    return False if all(re.search(r"\d ?[AP]M\b", time) for time in times if time) else None


def _begin_with_year(dates: Mapping[str, re.Match[str]]) -> bool:
    """Return whether dates such as 24-03-05 rather end with the day: their last numbers differ more than the first."""
    first, last = ({match[group] for match in dates.values()} for group in (1, 4))
    return len(first) < len(last) and max(map(len, last)) == 2


def _span(days: Sequence[tuple[int, int, int]]) -> int:
    """Return the number of days from the first to the last of some days, or a huge one if a day does not exist."""
    try:
        known = [date(year % 100 + 2000, month, day).toordinal() for year, month, day in days]
    except ValueError:
        return 10**6
    return max(known) - min(known)


@lru_cache(maxsize=1 << 16)
def seconds(time: str, *, day_first: bool) -> float | None:
    """Return a time as a number of seconds that grows with time; None if it cannot be read.

    A time without a zone counts as UTC.
    """
    time = STAMP.sub(lambda match: "{}-{}-{} {}:{}:{}".format(*match.groups("00")), plain_time(time))
    if NUMBER.match(time):
        number = float(time.replace(",", "."))
        # Times since 1970 may be in milliseconds, microseconds or less: 1e11 seconds are the year 5138.
        while math.isfinite(number) and number > 1e11:
            number /= 1000
        return number if math.isfinite(number) else None
    if clock := CLOCK.match(time):
        return int(clock[1] or 0) * 3600 + int(clock[2]) * 60 + float(clock[3].replace(",", "."))
    if time and (span := SPAN.match(time)):
        return int(span[1] or 0) * 3600 + int(span[2] or 0) * 60 + float((span[3] or "0").replace(",", "."))
    if (since_midnight := clock_of_day(time)) is not None:
        return since_midnight
    known = moment(time, day_first=day_first)
    try:
        return (known if known.tzinfo else known.replace(tzinfo=UTC)).timestamp() if known else None
    except (OverflowError, ValueError):
        return None


def first_date(times: Sequence[str], reading: ClockReading = ClockReading()) -> str | None:
    """Return the earliest time, ISO 8601 in UTC; None if no time has a year, or the date may be another one."""
    if serial := _first_serial(times):
        return serial
    known = []
    for time in filter(_has_year, map(plain_time, times)):
        value = seconds(time, day_first=bool(reading.day_first))
        if reading.day_first is None and value is not None and value != seconds(time, day_first=True):
            return None
        if value is not None and (EARLIEST_NUMBER if NUMBER.match(time) else EARLIEST) <= value < LATEST:
            known.append(value)
    return datetime.fromtimestamp(min(known), UTC).isoformat(timespec="seconds") if known else None


def has_date(time: str) -> bool:
    """Return whether a time tells the day, not only a clock or the seconds since the start of a call."""
    number = NUMBER.match(time)
    return float(time.replace(",", ".")) >= EARLIEST_NUMBER if number else bool(find_day(time, day_first=False))


def _has_year(time: str) -> bool:
    return bool(NUMBER.match(time) or YEAR.search(time) or find_day(time, day_first=False))


def _first_serial(times: Sequence[str]) -> str | None:
    """Return the earliest of times that a spreadsheet wrote as days since 1900, to the minute or second it kept."""
    numbers = [time.replace(",", ".") for time in times if time]
    if not numbers or not all(map(NUMBER.match, numbers)) or not any("." in number for number in numbers):
        return None
    first = min(numbers, key=float)
    if float(first) < FIRST_SERIAL or max(map(float, numbers)) >= LAST_SERIAL:
        return None
    step = 1 if len(first.partition(".")[2]) > 4 else 60
    since = timedelta(seconds=round(float(first) * 86400 / step) * step)
    return (SERIAL_START + since).isoformat(timespec="seconds")


def _passes_midnight(times: Sequence[str], known: Sequence[float]) -> bool:
    """Return whether clock times fall once, by more than half a day, and otherwise rise."""
    falls = [before - after for before, after in pairwise(known) if after < before]
    return len(falls) == 1 and falls[0] > _half_a_day(times)


def _half_a_day(times: Sequence[str]) -> float:
    # "23:58" was read as minutes and seconds: as hours and minutes it is 60 times as much.
    return HALF_A_DAY / (1 if times[0].count(":") == 2 or not CLOCK.match(times[0]) else 60)


def _is_clock(time: str) -> bool:
    return bool(CLOCK.match(time)) or clock_of_day(plain_time(time)) is not None


def order(times: Sequence[str], reading: ClockReading = ClockReading()) -> list[int] | None:
    """Return the indices of turns in the order of their times; turns with equal times keep their order.

    Turns without a time that can be read, and clock times that pass midnight once, keep their order too.

    :returns: None if some times cannot be read and the others are not in order already.
    """
    unchanged = list(range(len(times)))
    values = (reading.seconds(time) for time in times if time)
    known = [value for value in values if value is not None]
    if not known:
        return unchanged
    if known == sorted(known):
        return unchanged
    if len(known) < len(times):
        return None
    if all(map(_is_clock, times)) and _passes_midnight(times, known):
        return unchanged
    return sorted(unchanged, key=known.__getitem__)


def unread(times: Iterable[str]) -> list[str]:
    """Return the times that cannot be read."""
    some = (time for time in times if time and not GROUPED.fullmatch(time))
    either = (time for time in some if seconds(time, day_first=False) is None)
    return [time for time in either if seconds(time, day_first=True) is None]
