"""Times at the start of lines, and lines that name a speaker beside such a time without a colon."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from conversations.guessing.names import is_role

CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?(?:[.,:;]\d{1,3})?(?:\s?[apAP]\.?[mM]\.?)?"
DATE = r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}"
# "2024-03-05T14:05:11.123456+01:00", as logs of programs write.
ISO = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d|\s(?:UTC|GMT|Z)\b)?"
# "Tue 5 Mar 2024 14:05", "Tuesday, March 5, 2024 14:05"
MONTH_AND_DAY = r"(?:\d{1,2}\s[^\W\d]{3,9}|[^\W\d]{3,9}\s\d{1,2})"
WORDED = rf"(?:[^\W\d]{{2,10}}\.?,?\s)?{MONTH_AND_DAY},?\s\d{{4}},?\s(?:at\s)?{CLOCK}"
# "[12.03.24, 14:05:11] ", "12/03/2024, 14:05 - ", "00:01:23 ", "(14:05) ", "( 1m 5s ) "
SINCE = r"\(\s?(?:\d{1,4}\s?[hms]\s?){1,3}\)\s*"
TIME = rf"(?:{ISO}|{WORDED}|{DATE}(?:,|T)?\s*(?:{CLOCK})?|{CLOCK})"
STAMP = rf"{TIME}(?:[\])]?(?:\s+[-–]\s+|\s+|\s*(?=$))|\])"
# A clock, also with a date: "10:15", "Mar 1, 2024, 10:15 AM", "3/1/2024 10:15"
WEEKDAY = r"(?:(?:[Mm]on|[Tt]ue|[Ww]ed|[Tt]hu|[Ff]ri|[Ss]at|[Ss]un)[a-z]{0,6}|[^\W\d]{4,8}tag|[^\W\d]{3,5}di)\.?,?\s"
MOMENT = rf"(?:(?:{DATE}|(?:{WEEKDAY})?{MONTH_AND_DAY},?\s\d{{4}}),?\s+(?:at\s)?)?{CLOCK}"
PREFIX = re.compile(rf"^(?:{SINCE}|\W{{0,3}}{STAMP})")
# A date, a bracket or seconds, which do not occur in speech.
EXACT = re.compile(r"\d[./-]\d|[\])]|:\d\d:")
NAME = r"([^\s|<>;:,.\[(-][^|<>;:\n\t]{0,40}?)"
BEFORE = rf"^\W{{0,3}}{TIME}(?![\d:])[\])]?\s{{0,4}}[|;–-]?\s{{0,4}}"
# "[10:05:01] <Anna> Hello", "10:05 | Anna | Hello", "10:05 Anna -> Hello", "10:05 - Anna - Hello", "10:05;Anna;Hello"
AFTER_TIMES = tuple(
    re.compile(BEFORE + rest)
    for rest in (
        r"<([^<>\n]{1,40})>\s+(\S.*)$",
        rf"{NAME}\s*\|\s*(\S.*)$",
        rf"{NAME}\s*[-=]?>\s+(\S.*)$",
        rf"{NAME}\s+[-–—]\s+(\S.*)$",
        rf"{NAME}\t+(\S.*)$",
        rf"{NAME};\s*(\S.*)$",
    )
)
# "Anna [10:05:01] Hello", "Anna (10:05) - Hello", "Anna, 2024-03-05 10:05: Hello", "Anna at 10:05: Hello"
BEFORE_TIMES = tuple(
    re.compile(rf"^{NAME}{rest}\s+(\S.*)$")
    for rest in (rf"\s*[\[(]{TIME}[\])](?:\s[-–])?", rf",?\s(?:at\s|@\s?)?{TIME}\s?:")
)
# The rest of a clock of another form: "18.00 - Budi", "p. m.] Ana".
CLOCK_REST = re.compile(r"(?:[ap]\.?\s?m\.?|\d{1,2}[.:]\d{2})(?:[\s\]),-]|$)", re.IGNORECASE)
COVERED = 0.8

Pair = tuple[str, str]


def stamp_form(line: str) -> str:
    """Return the form of the time before a line, "[1-1-1 1:1:1] "; "" without one, or if it may be speech."""
    prefix = PREFIX.match(line)
    return re.sub(r"\d+", "1", prefix[0]) if prefix and EXACT.search(prefix[0]) else ""


def timed_lines(lines: Sequence[str], is_name: Callable[[str], bool]) -> list[Pair | None] | None:
    """Return speaker and text of lines with a time beside the name and no colon; None unless nearly all are such.

    A line without a time goes on with the message above it.
    """
    stamped = sum(bool(PREFIX.match(line) or re.match(BEFORE, line)) for line in lines)
    filled = sum(map(bool, lines))
    least = [(pattern, max(COVERED * stamped, filled / 2)) for pattern in AFTER_TIMES]
    least += [(pattern, COVERED * filled) for pattern in BEFORE_TIMES]
    for pattern, share in least:
        matches = [pattern.match(line) for line in lines]
        names = [match[1] for match in matches if match]
        if len(names) >= max(2, share) and _are_speakers(names, is_name):
            return [(match[1], match[2]) if match else None for match in matches]
    return None


def _are_speakers(names: Sequence[str], is_name: Callable[[str], bool]) -> bool:
    """Return whether words are names of at least 2 speakers of whom somebody comes back, or roles."""
    different = set(names)
    good = all(is_name(name) and re.search(r"[^\W_]", name) and not CLOCK_REST.match(name) for name in different)
    return good and len(different) > 1 and (len(different) < len(names) or all(map(is_role, different)))
