"""One time as a date, in any script and locale: digits, names of months, clocks with AM or PM, zones."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from conversations.vocabulary import by_word, word_lists, word_set

MARKS = re.compile("[\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def _marks(half: str) -> frozenset[str]:
    return frozenset(unicodedata.normalize("NFKC", mark) for mark in word_set("times", half))


AM, PM, NOON = map(_marks, ("am", "pm", "noon"))
# Number of a month by its name, in small letters and without points.
MONTHS = {name: at for at, names in enumerate(word_lists("times")["months"], start=1) for name in names.split()}
CLOCK_WORDS = word_set("times", "after_clock")
ZONES = {name: int(hours) for name, hours in by_word("times", "zones").items()}
WORD = r"(?P<month>[^\W\d_][^\s\d.,/():\-]*(?:\.[^\s\d.,/():\-]+)*)"
YEAR_FIRST = re.compile(
    r"(?<!\d)(?P<year>\d{4})\s?[-./年년]\s?(?P<month>\d{1,2})\s?[-./月월]\s?(?P<day>\d{1,2})(?!\d)\s?(?:[日일]|\.)?"
)
YEAR_LAST = re.compile(
    r"(?<![\d:.])(?P<first>\d{1,2})(?P<mark>\s?[-./]\s?|\s)(?P<second>\d{1,2})(?P=mark)(?P<year>\d{4}|\d{2})(?![\d:])\.?"
)
OF = r"(?:de[l]? |of |d['’])?"
NAMED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<![\d:])(?P<day>\d{{1,2}})(?:\.|st|nd|rd|th|er|º)?[\s/-]*{OF}{WORD}\.?[\s,/-]*{OF}'?(?P<year>\d{{4}}|\d\d)(?![\d:])",
        rf"{WORD}\.?[\s-]*(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?[\s-]+'?(?P<year>\d{{4}})(?![\d:])",
        rf"(?<!\d)(?P<year>\d{{4}})\.?(?: m\.)?[\s/-]*{WORD}\.?[\s/-]*(?P<day>\d{{1,2}})(?![\d:])(?: d\.|\.)?",
        rf"(?<!\d)(?P<year>\d{{4}})\. gada (?P<day>\d{{1,2}})\. {WORD}\.?",
        r"(?<!\d)(?P<day>\d{1,2}) (?:tháng|thg) (?P<month>\d{1,2}),? (?:năm )?(?P<year>\d{4})",
    )
)
CLOCK = re.compile(
    r"(?<![\d.:])(?P<hour>\d{1,2})\s?(?:[:.]|h\s?|시\s?|[時时点點])\s?(?P<minute>\d{2})(?:분|分| min)?"
    r"(?:(?:[:.]|\s)\s?(?P<second>\d{2})(?:[.,](?P<part>\d{1,9}))?(?!\d))?(?:초|秒| s\b)?(?!\d)"
)
HOUR = re.compile(r"(?<![\d.:])(?P<hour>\d{1,2})(?=\s?[ap]\.?\s?m\b)(?P<minute>)(?P<second>)(?P<part>)", re.IGNORECASE)
OFFSET = re.compile(r"^(?:UTC|GMT)?\s?([+-])(\d{1,2}):?(\d{2})?(?:\s\(?[A-Za-z ]+\)?)?$")
# "12:05 PM": hours and minutes of a day, not of a call.
DAY_CLOCK = re.compile(r"(?P<before>[^\d\s]*)\s?(?P<clock>\d{1,2}[:.]\d{2}(?:[:.]\d{2})?)\s?(?P<after>[^\d]*)$")


def plain_time(text: str) -> str:
    """Return a time with the digits 0 to 9 and plain blanks, without marks of direction."""
    if text.isascii():
        return text.strip()
    text = unicodedata.normalize("NFKC", MARKS.sub("", text))
    text = "".join(str(unicodedata.digit(sign)) if sign.isdigit() and not sign.isascii() else sign for sign in text)
    return text.replace("،", ",").strip()


def half_of_day(words: str) -> str:
    """Return "am" or "pm" by the words beside a clock; "" if they are no such mark."""
    mark = re.sub(r"[.\s]", "", words).casefold()
    return "am" if mark in AM else "pm" if mark in PM else "noon" if mark in NOON else ""


def clock_of_day(text: str) -> float | None:
    """Return the seconds since midnight of a clock with AM or PM; None for other clocks."""
    match = DAY_CLOCK.fullmatch(text)
    half = (half_of_day(match["before"]) or half_of_day(match["after"])) if match else ""
    if not match or not half:
        return None
    hour, *rest = (int(part) for part in re.split("[:.]", match["clock"]))
    return _hour(hour, half) * 3600 + rest[0] * 60 + (rest[1] if rest[1:] else 0)


def _hour(hour: int, half: str) -> int:
    if half == "am":
        return hour % 12 if hour == 12 else hour
    late = half == "pm" or (half == "noon" and hour < 6)
    return hour + 12 if late and hour < 12 else hour


class Day(NamedTuple):
    """A date in a time, and the text around it, which holds the clock."""

    year: int
    month: int
    day: int
    rest: str


def find_day(text: str, *, day_first: bool) -> Day | None:
    """Return the date in a time; None if it has none."""
    if match := YEAR_FIRST.search(text):
        return _day(text, match, int(match["month"]), int(match["day"]))
    if match := YEAR_LAST.search(text):
        first, second = int(match["first"]), int(match["second"])
        return _day(text, match, *((second, first) if day_first or match["mark"].strip() == "." else (first, second)))
    for pattern in NAMED:
        for match in pattern.finditer(text):
            name = match["month"].replace(".", "").casefold()
            if number := int(name) if name.isdecimal() else MONTHS.get(name):
                return _day(text, match, number, int(match["day"]))
    return None


def _day(text: str, match: re.Match[str], month: int, day: int) -> Day:
    year = int(match["year"])
    if len(match["year"]) == 2:
        year += 2000 if year < 70 else 1900
    # Thailand counts from 543 before our era.
    year -= 543 if 2533 <= year < 2643 else 0
    return Day(year, month, day, f"{text[: match.start()]} \n {text[match.end() :]}")


def moment(time: str, *, day_first: bool) -> datetime | None:
    """Return the moment of a time that holds a date; None if it cannot be read with certainty.

    :param time: Time as `plain_time` returns it.
    """
    try:
        return datetime.fromisoformat(re.sub(r"\[[A-Za-z_/]+\]$", "", time))
    except ValueError:
        pass
    if len(time) > 80:
        return None
    if day := find_day(time, day_first=day_first):
        return _with_clock(day)
    return _by_parser(time, day_first)


def _with_clock(day: Day) -> datetime | None:
    matches = list(CLOCK.finditer(day.rest)) or list(HOUR.finditer(day.rest))
    if len(matches) > 1 or (not matches and re.search(r"\d", day.rest)):
        return None
    try:
        if not matches:
            return datetime(*day[:3])
        match = matches[0]
        before, after = day.rest[: match.start()].split(), day.rest[match.end() :].split()
        half = half_of_day(before[-1]) if before and not re.fullmatch("[a-z]", before[-1]) else ""
        for count in (2, 1):
            if not half and (half := half_of_day("".join(after[:count]).rstrip(","))):
                after = after[count:]
        zone = _zone([word for word in after if word.strip(".,").casefold() not in CLOCK_WORDS])
        moment = datetime(*day[:3], _hour(int(match["hour"]), half), int(match["minute"] or 0), tzinfo=zone)
        return moment + timedelta(seconds=float(f"{match['second'] or 0}.{match['part'] or 0}"))
    except (ValueError, OverflowError):
        return None


def _zone(words: list[str]) -> tzinfo | None:
    """Return the zone after a clock; None if there is none.

    :raises ValueError: if the words are something else, such as an unknown mark of half a day.
    """
    text = " ".join(words).strip(" ,.[]()")
    if not text:
        return None
    if match := OFFSET.match(text):
        minutes = int(match[2]) * 60 + int(match[3] or 0)
        return timezone(timedelta(minutes=-minutes if match[1] == "-" else minutes))
    if text in ZONES:
        return timezone(timedelta(hours=ZONES[text]))
    if re.fullmatch(r"[A-Z][A-Za-z_]+/[A-Za-z_/]+", text):
        try:
            return ZoneInfo(text)
        except (ZoneInfoNotFoundError, ValueError):
            return UTC
    if re.fullmatch(r"[A-Z]{3,5}|[\w ]*\b(?:[Tt]ime|[Zz]eit)", text):
        return UTC
    raise ValueError(text)


def _by_parser(time: str, day_first: bool) -> datetime | None:
    # The parser would fill in missing parts from today: a word or a bare number is no date.
    if len(re.findall(r"\d+", time)) < 2 or len(time) > 60 or re.fullmatch(r"[\d.]+", time):
        return None
    from dateutil import parser

    try:
        return parser.parse(time, dayfirst=day_first, tzinfos=lambda _, offset: offset or 0)
    except (ValueError, OverflowError, TypeError, RecursionError):
        return None
