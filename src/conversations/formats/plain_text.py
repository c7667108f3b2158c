"""Transcripts in plain text: `Speaker: text` lines, also after a date or a clock time as in exported chats."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from conversations.dialogue import Turn
from conversations.formats.around_turns import (
    Pair,
    bare_lines,
    bare_of_status,
    days_between,
    fields_above,
    is_remark,
    stamp_form,
    timed_lines,
)
from conversations.formats.encodings import Encoding, is_damaged, open_text
from conversations.formats.markup import is_html, plain_lines, without_html
from conversations.formats.partings import parted
from conversations.guessing.names import is_role
from conversations.guessing.naming import labelled_lines, named_blocks, repeated_names, split_line
from conversations.guessing.plausibility import doubt_of_script
from conversations.values.cells import without_placeholders
from conversations.values.times import ClockReading, has_date, order
from conversations.vocabulary import patterns

FORMS = patterns("texts")
# Largest number by which clocks fall where two people speak at once.
OVERLAP = 10


def split_speaker(line: str) -> tuple[str, str] | None:
    """Return speaker and text of a line `Name: text`; None if the words before the colon are no name."""
    match = FORMS["named"].match(line)
    if not match:
        return None
    name, space, text = _bare(match[1].lstrip("-–•> ")), match[2], match[3]
    # "0:03" is a clock time.
    if not space and name[-1:].isdecimal() and text[:1].isdecimal():
        return None
    if not space and text and (text.startswith("//") or not re.search(r"[^\W\d_]", name)):
        return None
    if (
        re.search(r"[?!;,\"<>{}=\t]|//", name)
        or _is_no_name(name)
        or name.lower() in ("http", "https")
        or not is_name(name)
    ):
        return None
    return name, text.strip().removeprefix("**").strip()


def _bare(name: str) -> str:
    """Return a name without signs of direction, bold type, brackets around it, or a messenger's mark of strangers."""
    name = FORMS["directions"].sub("", name).strip().strip("*").strip().removeprefix("~").strip()
    return name[1:-1].strip() if name[:1] == "[" and name[-1:] == "]" and "[" not in name[1:] else name


def _is_no_name(name: str) -> bool:
    """Return whether the words before a colon are a rest of a clock time, such as "18.00 - Budi" and "p. m.] Ana"."""
    rest = FORMS["clock_rest"].match(name) or name.lower() in ("http", "https")
    return bool(rest) or name.count("]") > name.count("[") or name.count(")") > name.count("(")


def is_name(name: str, max_words: int = 5) -> bool:
    """Return whether some words are a name: one word, or words with capitals. "So here is the thing: ..." is speech.

    :param max_words: Largest number of words in a name.
    """
    words = name.split()
    small = [word for word in words if word[0].islower() and word.islower()]
    titled = all(word in ("de", "la", "van", "von", "der", "al", "bin") for word in small)
    return 1 <= len(words) <= max_words and (len(words) == 1 or titled or is_role(name))


def split_dated(line: str) -> tuple[str, str] | None:
    """Return speaker and text of a line with a date or clock time before or after the name; None for other lines."""
    prefix = FORMS["prefix"].match(line)
    if not prefix:
        return split_speaker(line) if FORMS["clocked"].match(line) else None
    named = FORMS["dated"].match(line[prefix.end() :])
    if not named:
        return split_speaker(line[prefix.end() :])
    name = _bare(named[1])
    addressed = FORMS["addressed"].match(name)
    name = addressed[1] if addressed else name
    # Words without capitals are a messenger's notice, `Anna changed the group name to: Fun`, or "10:30 is fine: ok".
    known = addressed or is_name(name, 12) or (FORMS["exact"].search(prefix[0]) and len(name.split()) <= 3)
    if not name or not known or re.search(r"[?!;\"“”„<>{}=\t]|//", name) or _is_no_name(name):
        return None
    return name, named[2].strip()


def _split(line: str) -> Pair | None:
    return split_dated(line) or split_speaker(line)


def without_time(line: str) -> str:
    """Return a line without the date or clock time at its start."""
    return line[prefix.end() :] if (prefix := FORMS["prefix"].match(line)) else line


def is_script(text: str) -> bool:
    """Return whether a text is a dialogue in `Speaker: text` lines with at least 2 speakers."""
    return len({turn.speaker for turn in script_of(text).spoken()}) >= 2


@dataclass
class Script:
    """A dialogue in lines of text.

    :param name: Name from a heading; "" without one.
    :param line: First line, counted from 1.
    :param turns: Speaker and lines of each turn so far.
    :param problem: Reason why the dialogue cannot be used; "" if it can.
    :param unused: Number of lines that belong to no turn: before the first speaker, clock times, notices of programs.
    :param others: Number of these lines that are neither clock times nor notices.
    :param times: Time of each turn; "" without one.
    """

    name: str = ""
    line: int = 1
    turns: list[tuple[str, list[str]]] = field(default_factory=list)
    problem: str = ""
    unused: int = 0
    others: int = 0
    times: list[str] = field(default_factory=list)

    def read(self, lines: list[str]) -> None:
        """Read the lines of the dialogue; all are read in the form in which most of them name speakers.

        In a chat with dates a line without a date continues the message before, even `Note: bring cake`.
        """
        lines = [line.strip() for line in lines]
        filled = [line for line in lines if line]
        lines = split_line(filled[0], is_role) if len(filled) == 1 else _without_numbers(lines)
        lines = bare_lines(list(map(bare_of_status, lines)), _split)
        self.unused += sum(map(bool, lines[: (fields := fields_above(lines, _split))]))
        lines = lines[fields:]
        if any(map(is_damaged, lines)):
            self.problem = "it holds bytes that are not valid characters"
        headings = _headings(lines)
        dated = [split_dated(line) for line in lines]
        plain = repeated_names(lines, [split_speaker(without_time(line)) if line else None for line in lines])
        pairs = enumerate(zip(plain, dated, strict=True))
        undated = sum(bool(bare) and not stamped and at not in headings for at, (bare, stamped) in pairs)
        with_date = sum(map(bool, dated))
        labelled = labelled_lines([without_time(line) for line in lines], is_name) or named_blocks(lines, is_name)
        timed = timed_lines(lines, is_name)
        if timed and _is_better(timed, dated, max(len(headings), undated)):
            self._add(lines, timed, clocks=True)
        elif labelled and sum(map(bool, labelled)) > max(len(headings), undated, with_date):
            self._add(lines, labelled, clocks=False)
        elif len(headings) >= max(2, undated + with_date):
            self._add(lines, [headings.get(at) for at in range(len(lines))], clocks=False)
        elif with_date >= max(undated, 2 if undated else 1):
            self._add(lines, dated, clocks=True)
        else:
            self._add(lines, plain, clocks=False)
        self.problem = self.problem or doubt_of_script(self.turns, self.others)

    def _add(self, lines: list[str], named: list[tuple[str, str] | None], *, clocks: bool) -> None:
        """Join the lines to turns; a clock time on its own line is speech only if turns have dates.

        A line with a time like those of the turns, but without a speaker, is a program's notice.
        """
        field = False
        days, day = days_between(lines, named), ""
        forms = Counter(stamp_form(line) for line, pair in zip(lines, named, strict=True) if pair and clocks)
        usual = {form for form, times in forms.items() if form and times >= 0.8 * forms.total()}
        for at, (line, pair) in enumerate(zip(lines, named, strict=True)):
            field = not pair[0] if pair else field
            if field:
                self.unused += bool(line)
                continue
            if pair:
                self.turns.append((pair[0], [pair[1]]))
                around = (lines[index] for index in (at + 1, at - 1) if 0 <= index < len(lines))
                clock = next((line for line in around if not pair[1] and FORMS["only_clock"].match(line)), "")
                self.times.append(f"{day} {time_in(line, pair[1]) or time_in(clock, '')}".strip())
                continue
            day = line if at in days else day
            notice = bool(FORMS["no_speech"].match(line)) or stamp_form(line) in usual
            # What stands alone below a name is said.
            begun = not self.turns or any(self.turns[-1][1])
            notice = notice or at in days or (begun and is_remark(line, clocks=clocks))
            if self.turns and not notice and (clocks or not FORMS["only_clock"].match(line)):
                self.turns[-1][1].append(line)
            elif line:
                self.unused += 1
                self.others += not (notice or FORMS["only_clock"].match(line))

    def sort(self, reading: ClockReading) -> None:
        """Put the turns into the order of their times, if all are known."""
        if len(self.times) < len(self.turns):
            return
        sequence = turn_order(self.times, [name for name, _ in self.turns], reading)
        self.turns, self.times = [self.turns[at] for at in sequence], [self.times[at] for at in sequence]

    def spoken(self) -> tuple[Turn, ...]:
        """Return the turns that are not blank."""
        return tuple(turn for turn, _ in self.timed())

    def timed(self) -> list[tuple[Turn, str]]:
        """Return the turns that are not blank, each with its time; "" without one."""
        pairs = [(name, without_placeholders("\n".join(lines))) for name, lines in self.turns]
        for clock in (FORMS["clock_before"], FORMS["clock_behind"]):
            if sum(bool(clock.search(text)) for _, text in pairs) > 0.8 * len(pairs):
                pairs = [(name, clock.sub("", text)) for name, text in pairs]
        times = self.times if len(self.times) == len(pairs) else [""] * len(pairs)
        return [(Turn(name, text), time) for (name, text), time in zip(pairs, times, strict=True) if text]


def _is_better(timed: list[Pair | None], dated: list[Pair | None], others: int) -> bool:
    """Return whether lines without colons are read better than by colons: more turns, or as many of fewer people.

    :param others: Number of turns of other readings.
    """
    names, known = ([pair[0] for pair in pairs if pair] for pairs in (timed, dated))
    fewer = len(set(names)) < len(set(known))
    return len(names) > others and (len(names) > len(known) or (len(names) == len(known) and fewer))


def _without_numbers(lines: list[str]) -> list[str]:
    """Return the lines without their numbers, if nearly all are numbered."""
    matches = [FORMS["numbered"].match(line) for line in lines if line]
    numbers = [int(match[1]) for match in matches if match]
    if len(numbers) < max(3, 0.9 * len(matches)) or any(after <= before for before, after in pairwise(numbers)):
        return lines
    return [FORMS["numbered"].sub("", line) for line in lines]


def _after_clock(line: str) -> str:
    """Return the words after a clock, in a line without more; "" for a clock alone, such as "10:15 AM"."""
    match = None if FORMS["only_clock"].match(line) else FORMS["bare_clock_first"].match(line)
    return match[1] if match else ""


def _headings(lines: list[str]) -> dict[int, tuple[str, str]]:
    """Return the lines that only name a speaker, by their index: with a clock time beside it, above or below.

    Without a blank line above it, a line over a clock time is just as likely the end of a turn.
    """
    headings = {}
    over_clocks = [line for line, below in pairwise(lines) if line and FORMS["only_clock"].match(below)]
    under_clocks = [line for above, line in pairwise(lines) if line and FORMS["only_clock"].match(above)]
    after_clocks = [name for line in lines if (name := _after_clock(line))]
    sure, sure_under, sure_after = (
        len(set(names)) < len(names) > 2 and all(map(is_name, names))
        for names in (over_clocks, under_clocks, after_clocks)
    )
    for at, (above, line, below) in enumerate(zip(["", *lines], lines, [*lines[1:], ""], strict=False)):
        headed = FORMS["headed"].match(line) if len(line) <= 100 and not FORMS["only_clock"].match(line) else None
        stacked = (not above or sure) and len(line) <= 60 and FORMS["only_clock"].match(below)
        stacked = stacked or (sure_under and not sure and FORMS["only_clock"].match(above))
        first = FORMS["clock_first"].match(line) if below and not FORMS["clock_first"].match(below) else None
        first = first or (
            FORMS["bare_clock_first"].match(line)
            if _after_clock(line) and below and (not above or sure_after)
            else None
        )
        first = first or (patterns("parts")["in_brackets"].match(line) if FORMS["only_clock"].match(above) else None)
        name = headed[1].strip() if headed else first[1].strip() if first else line if stacked else ""
        if name and not re.search(r"[:：?!;\"<>{}=]|//", name) and name[-1] not in ".," and is_name(name):
            headings[at] = (name, "")
    return headings


def script_of(text: str) -> Script:
    """Read a cell that holds a whole dialogue."""
    script = Script()
    lines = (without_html(text) if is_html(text) else text).splitlines()
    script.read(lines)
    return script


def read_plain_text(path: Path, encoding: Encoding) -> Iterator[Script]:
    """Yield the dialogues of a text file, as `parted` does them."""
    with open_text(path, encoding) as text:
        every = plain_lines([line.removeprefix("\ufeff") for line in text])
    for part in parted(every, _split, is_name):
        script = Script(part.name, part.line, unused=part.unused)
        script.read(part.lines)
        # Between two lines that part dialogues nothing may stand.
        if script.turns or script.unused or script.name or script.problem:
            yield script


def time_in(line: str, text: str) -> str:
    """Return the time in a line before its text, or in the line of a name; "" without one."""
    head = line[: -len(text)] if text and line.endswith(text) else line
    return match[0].strip().rstrip(",") if (match := FORMS["stamped"].search(head)) else ""


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
