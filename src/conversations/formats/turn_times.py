"""Times of the turns in lines of text, and the order that they give."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from conversations.formats.stamps import TIME
from conversations.values.times import ClockReading, has_date, order

STAMPED = re.compile(TIME)
# Largest number by which clocks fall where two people speak at once.
OVERLAP = 10


def time_in(line: str, text: str) -> str:
    """Return the time in a line before its text, or in the line of a name; "" without one."""
    head = line[: -len(text)] if text and line.endswith(text) else line
    return match[0].strip().rstrip(",") if (match := STAMPED.search(head)) else ""


def turn_order(times: Sequence[str], speakers: Sequence[str], reading: ClockReading) -> list[int]:
    """Return the indices of turns in the order of their times.

    Turns keep their order if a time is missing. Clocks without a date sort turns only if all of a speaker stand
    together, as in transcripts of two channels, or if speakers overlap: otherwise another day may have begun.
    """
    unchanged = list(range(len(times)))
    sequence = unchanged[::-1] if reading.newest_first else unchanged
    known = [reading.seconds(times[at]) if times[at] else None for at in sequence]
    values = [value for value in known if value is not None]
    if len(values) < len(known):
        return unchanged
    falls = [before - after for before, after in pairwise(values) if after < before]
    dated = all(map(has_date, times))
    if falls and not dated and max(falls) > OVERLAP and not _in_channels(values, [speakers[at] for at in sequence]):
        return sequence
    return [sequence[at] for at in order([times[at] for at in sequence], reading) or range(len(sequence))]


def _in_channels(values: Sequence[float], speakers: Sequence[str]) -> bool:
    """Return whether all turns of each speaker stand together, and their times rise."""
    blocks = sum(before != after for before, after in pairwise(speakers)) + 1
    turns = pairwise(zip(values, speakers, strict=True))
    rises = all(before[0] <= after[0] for before, after in turns if before[1] == after[1])
    return rises and 1 < blocks == len(set(speakers)) < len(speakers)
