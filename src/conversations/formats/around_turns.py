"""What stands around turns in lines of text: their numbers, "says" after names, dates of days, remarks, fields."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import takewhile

from conversations.formats.stamps import MOMENT, TIME, Pair
from conversations.guessing.naming import is_field
from conversations.guessing.speech import NOTICE
from conversations.values.moments import find_day, plain_time
from conversations.vocabulary import word_list, word_set

Split = Callable[[str], Pair | None]
# "[1] Kim: Hello", "Turn 1 - Kim: Hello", "#1 Kim: Hello", "[Channel 2] Kim: Hello"
UNIT = r"(?:turn|line|utterance|utt|message|msg|channel|ch|track|segment|seg|row)"
NUMBER = re.compile(
    rf"^(?:[\[(]\s?(?:{UNIT}\b)?[\s#.:_-]{{0,3}}\d{{1,5}}\s?[\])]|{UNIT}[\s#._]{{0,3}}\d{{1,5}}|#\s?\d{{1,5}}|\d{{1,5}})"
    r"\s?[.:|)–-]?\s+(?=\S)",
    re.IGNORECASE,
)
VERBS = "|".join(word_list("texts", "verbs"))
SAYING = re.compile(rf"^(\S.{{0,60}}?)\s(?:{VERBS})(\s?[\[(][^)\]]{{1,30}}[\])])?\s?([:：])(?=\s|$)", re.IGNORECASE)
RELATIVE = word_set("texts", "relative")
# Lines that transcribers put between turns: "[laughter]", "[END OF CALL]", "(pause)".
IN_SQUARES = re.compile(r"\[[^\[\]\n]{1,60}\]")
SOUND = re.compile(
    r"[(*<]{1,2}(?:(?:long|short|brief|background) )?(?:pauses?|silence|laughs?|laughing|laughter|music|inaudible|noise"
    r"|crosstalk|unintelligible|applause|sighs?|coughs?|typing|hold music|phone rings?|end of [a-z]+"
    r"|call ended)[)*>]{1,2}",
    re.IGNORECASE,
)
# "2024-03-01 10:05:01,123 - chat.app - INFO - Kim: Hello", "[2024-03-01 10:05:01] [INFO] Kim: Hello"
LEVEL = re.compile(
    rf"^(\W{{0,3}}{TIME}[\])]?)[\s|:–-]+(?:[\w.\[\]]{{1,40}}\s?[-:|]?\s)?"
    r"[\[(]?(?:INFO|DEBUG|WARN|WARNING|ERROR|TRACE|NOTICE|CRITICAL|FATAL)[\])]?"
    r"\s*(?:\[[\w.-]{1,40}\]|[|:-]\s[\w.<>]{1,40}(?::[\w.<>]{1,40}){1,2}\s)?\s*[-:|]{0,2}\s+(?=\S)"
)
# "Kim Lee :palm_tree: 10:05 AM"
STATUS = re.compile(rf"^([^:]{{1,60}}?)(?:\s+:[\w+-]{{1,40}}:)+(\s+{MOMENT})$")
NEARLY_ALL = 0.8
# Number of first lines among which fields are sought.
TOP = 40


def bare_lines(lines: list[str], split: Split) -> list[str]:
    """Return the lines without the numbers of turns and the word "says", if nearly all that name a speaker have them.

    The levels of a program's log are taken off, too.

    :param split: Function that returns speaker and text of a line; None if it names nobody.
    """
    logged = [LEVEL.sub(r"\1 ", line, count=1) for line in lines]
    changed = sum(bare != line for bare, line in zip(logged, lines, strict=True))
    if changed >= NEARLY_ALL * sum(map(bool, lines)) and len({pair[0] for line in logged if (pair := split(line))}) > 1:
        lines = logged
    for pattern, rest in ((NUMBER, ""), (SAYING, r"\1\2\3")):
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
    return STATUS.sub(r"\1\2", line)


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
    return bool(IN_SQUARES.fullmatch(line) or NOTICE.fullmatch(line) or (not clocks and SOUND.fullmatch(line)))


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
