"""What stands around turns in lines of text: times, their numbers, "says" after names, remarks, fields."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import takewhile

from conversations.guessing.names import is_role
from conversations.guessing.naming import is_field
from conversations.guessing.speech import NOTICE
from conversations.values.moments import find_day, plain_time
from conversations.vocabulary import patterns, word_set

FORMS = patterns("texts")
AFTER_TIMES, BEFORE_TIMES = patterns("after_times").values(), patterns("before_times").values()
COVERED = 0.8
Pair = tuple[str, str]
Split = Callable[[str], Pair | None]
RELATIVE = word_set("texts", "relative")
NEARLY_ALL = 0.8
# Number of first lines among which fields are sought.
TOP = 40


def bare_lines(lines: list[str], split: Split) -> list[str]:
    """Return the lines without the numbers of turns and the word "says", if nearly all that name a speaker have them.

    The levels of a program's log are taken off, too.

    :param split: Function that returns speaker and text of a line; None if it names nobody.
    """
    logged = [FORMS["level"].sub(r"\1 ", line, count=1) for line in lines]
    changed = sum(bare != line for bare, line in zip(logged, lines, strict=True))
    if changed >= NEARLY_ALL * sum(map(bool, lines)) and len({pair[0] for line in logged if (pair := split(line))}) > 1:
        lines = logged
    for pattern, rest in ((FORMS["number"], ""), (FORMS["saying"], r"\1\2\3")):
        bare = [pattern.sub(rest, line, count=1) for line in lines]
        marked = {at for at, line in enumerate(lines) if bare[at] != line and split(bare[at])}
        if len(marked) < 2:
            continue
        named = sum(at in marked or bool(split(line)) for at, line in enumerate(lines))
        if len(marked) >= NEARLY_ALL * named:
            lines = [bare[at] if at in marked else line for at, line in enumerate(lines)]
    return lines


def bare_of_status(line: str) -> str:
    """Return a line without the signs of somebody's status between a name and a clock, as Slack shows them."""
    return FORMS["status"].sub(r"\1\2", line)


def is_day(line: str) -> bool:
    """Return whether a line is only a date, with or without the day of the week: "Friday, March 1, 2024"."""
    text = plain_time(line.strip(" \t-–—=*•[]()"))
    if text.casefold() in RELATIVE:
        return True
    day = find_day(text, day_first=False) if 6 <= len(text) <= 40 else None
    return day is not None and not re.search(r"\d", day.rest) and len(re.findall(r"[^\W_]+", day.rest)) <= 1


def days_between(lines: Sequence[str], named: Sequence[object]) -> set[int]:
    """Return the indices of the lines that are dates of the turns below them.

    They stand directly above turns, and one stands above the first turn: elsewhere a date is speech.
    """
    above, before = set[int](), -1
    for at, line in enumerate(lines):
        if named[at]:
            above |= {before} if before >= 0 and is_day(lines[before]) else set()
            if not above:
                return set()
        before = -1 if named[at] else at if line else before
    return above


def is_remark(line: str, *, clocks: bool) -> bool:
    """Return whether a line that names nobody is a remark of a transcriber or a notice of a program.

    :param clocks: True if turns have times, as in chats: there "(pause)" is speech.
    """
    return bool(
        FORMS["in_squares"].fullmatch(line) or NOTICE.fullmatch(line) or (not clocks and FORMS["sound"].fullmatch(line))
    )


def fields_above(lines: Sequence[str], split: Split) -> int:
    """Return the number of lines above the turns that are fields: "Call ID: 4711", "Agent: Kim Lee".

    Some are named like fields. Others hold the name of somebody who speaks below, or stand beside two of them above a
    blank line and do not come again. 0 if all are named like fields: these are told by their names alone.
    """
    if not any(is_field(pair[0]) for line in lines[:TOP] if (pair := split(line))):
        return 0
    pairs = [split(line) for line in lines]
    counts = Counter(pair[0] for pair in pairs if pair)
    speakers = {name for name in counts if not is_field(name)}
    top = [(at, *pair) for at, pair in enumerate(pairs[:TOP]) if pair]
    run = list(takewhile(lambda it: is_field(it[1]) or (counts[it[1]] == 1 and _is_one_of(it[2], speakers)), top))
    fields = sum(is_field(name) for _, name, _ in run)
    if not fields or len(run) == len(top):
        return 0
    end = run[-1][0] + 1
    blank = next((at for at, line in enumerate(lines[:TOP]) if at >= end and not line), end)
    more = [(name, text) for at, name, text in top if end <= at < blank]
    short = all(counts[name] == 1 and len(text.split()) <= 4 and text[-1:] not in ".?!," for name, text in more)
    if more and short and fields > 1 and all(lines[run[0][0] : end]):
        return blank
    return end if fields < len(run) else 0


def _is_one_of(text: str, speakers: set[str]) -> bool:
    """Return whether a text is the name of a speaker, or begins with it: "Kim Lee" for "Kim"."""
    return text in speakers or (len(text.split()) <= 3 and text.split(" ")[0] in speakers)


def stamp_form(line: str) -> str:
    """Return the form of the time before a line, "[1-1-1 1:1:1] "; "" without one, or if it may be speech."""
    prefix = FORMS["prefix"].match(line)
    return re.sub(r"\d+", "1", prefix[0]) if prefix and FORMS["exact"].search(prefix[0]) else ""


def timed_lines(lines: Sequence[str], is_name: Callable[[str], bool]) -> list[Pair | None] | None:
    """Return speaker and text of lines with a time beside the name and no colon; None unless nearly all are such.

    A line without a time goes on with the message above it.
    """
    stamped = sum(bool(FORMS["prefix"].match(line) or FORMS["before"].match(line)) for line in lines)
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
    good = all(
        is_name(name) and re.search(r"[^\W_]", name) and not FORMS["clock_rest"].match(name) for name in different
    )
    return good and len(different) > 1 and (len(different) < len(names) or all(map(is_role, different)))
