"""The parts of a dialogue, joined: programs that log each request repeat what was said before it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any

from conversations.pauses import Row
from conversations.values.times import ClockReading, order


def joined(rows: Sequence[Row], reading: ClockReading) -> list[Row]:
    """Return the turns of the parts of a dialogue in their order, each once.

    A part may repeat all or the last turns before it, and parts of one request may repeat each other. A short text that
    was said twice stays twice: only parts with a history, or of the same request, are compared.

    :param rows: Turns with a text; those of a part stand together.
    """
    parts = [list(part) for _, part in groupby(rows, key=lambda row: id(row.part))]
    if reading.newest_first:
        parts.reverse()
    dates = [part[0].part.date if part[0].part else "" for part in parts]
    parts = _outer([parts[at] for at in order(dates, reading) or range(len(parts))])
    history = any(map(_has_history, parts))
    longest: dict[str, list[Row]] = {}
    for part in parts:
        # Of two that are equally long, the one without prompts around its questions.
        whole = max(
            longest.get(_request(part), part), part, key=lambda rows: (len(rows), -sum(len(r.text) for r in rows))
        )
        longest[_request(part)] = whole
    turns: list[Row] = []
    begins: dict[str, int] = {}
    for part in parts:
        request = _request(part)
        whole = longest[request]
        if request and _is_among(part, whole) and _agreeing(whole, part, 0) < len(part):
            # A span around others repeats the question and the answer, without what was said between them.
            continue
        begin = begins.setdefault(request, len(turns)) if request else len(turns)
        begin = 0 if history else begin
        turns[begin:] = _merged(turns[begin:], part, history=history)
    return turns


def _outer(parts: list[list[Row]]) -> list[list[Row]]:
    """Return the parts without those of tools and of other prompts, inside one with the question and the answer.

    If that one is around a whole dialogue, from its first question to its last answer, the parts inside are all of it.
    """
    around: dict[str, list[Row]] = {}
    inside: dict[str, list[list[Row]]] = {}
    for part in (part for part in parts if part[0].part and part[0].speaker != part[-1].speaker):
        if part[0].part and part[0].part.inside:
            inside.setdefault(_request(part), []).append(part)
        else:
            around[_request(part)] = part
    for request in around.keys() & inside.keys():
        (question, *_, answer), first, last = around[request], inside[request][0], inside[request][-1]
        if _same(first[0], question) and _same(last[-1], answer) and question.text not in last[0].text:
            parts = [part for part in parts if part is not around[request]]
            del around[request]
    return [part for part in parts if not (part[0].part and part[0].part.inside) or _repeats(part, around)]


def _repeats(part: Sequence[Row], around: dict[str, list[Row]]) -> bool:
    """Return whether a part holds all turns of the one around it, if there is one."""
    rest = iter(part)
    return all(any(_same(row, other) for other in rest) for row in around.get(_request(part), ()))


def _request(part: Sequence[Row]) -> str:
    return part[0].part.request or part[0].part.date if part[0].part else ""


def _has_history(part: Sequence[Row]) -> bool:
    """Return whether who speaks first speaks again after another."""
    changes = [after.speaker for before, after in pairwise(part) if before.speaker != after.speaker]
    return part[0].speaker in changes


def _same(row: Row, other: Row) -> bool:
    """Return whether two turns are one; two that have times of their own, at the same time."""
    timed = row.part and other.part and row.time != row.part.date and other.time != other.part.date
    return row[1:3] == other[1:3] and not (timed and row.time != other.time)


def _is_among(part: Sequence[Row], whole: Sequence[Row]) -> bool:
    """Return whether all turns of a part are among others; all but the last may be in them, as questions in prompts."""
    rest = iter(whole)
    before = all(any(_same(row, other) or _holds(row, other) for other in rest) for row in part[:-1])
    return before and all(any(_same(row, other) for other in rest) for row in part[-1:])


def _holds(row: Row, other: Row) -> bool:
    return row.speaker == other.speaker and (row.text in other.text or other.text in row.text)


def _agreeing(turns: Sequence[Row], part: Sequence[Row], begin: int) -> int:
    """Return how many turns of a part are the turns that were said from a place on."""
    count, both = 0, min(len(turns) - begin, len(part))
    while count < both and _same(turns[begin + count], part[count]):
        count += 1
    return count


def _overlap(turns: Sequence[Row], part: Sequence[Row], *, streamed: int = 0) -> tuple[int, int] | None:
    """Return the first place from which on turns and a part agree as far as both go, and how many do.

    :param streamed: Number of turns from which on the last may be the beginning of its other form; 0 for none.
    """
    for begin in range(len(turns)):
        both = min(len(turns) - begin, len(part))
        same = _agreeing(turns, part, begin)
        if same == both or (same + 1 == both >= streamed > 0 and _is_begun(turns[begin + same], part[same])):
            return begin, both
    return None


def _is_begun(row: Row, other: Row) -> bool:
    short, long = sorted((row.text, other.text), key=len)
    return row.speaker == other.speaker and long.startswith(short)


def _merged(turns: list[Row], part: list[Row], *, history: bool) -> list[Row]:
    """Return what was said, and what a part adds."""
    if overlap := _overlap(turns, part, streamed=2 if history else 1):
        begin, both = overlap
        last = max(turns[begin + both - 1], part[both - 1], key=lambda row: len(row.text))
        before = [*turns[: begin + both - 1], turns[begin + both - 1]._replace(text=last.text)]
        return before + part[both:] + turns[begin + both :]
    if history and (overlap := _overlap(part, turns)) and overlap[1] > 1:
        # An older part comes later: both have the same time, or none.
        begin, both = overlap
        return [row._replace(time=turns[0].time) for row in part[:begin]] + turns + part[begin + both :]
    known, place = 0, 0
    while history and known < len(part):
        place = next((at + 1 for at in range(place, len(turns)) if _same(turns[at], part[known])), 0)
        if not place:
            break
        known += 1
    # Histories are trimmed, and an answer that was asked for again replaces the first one.
    return turns + part[known if known > 1 else 0 :]


def pieces_joined(turns: list[dict[str, Any]], between: str) -> list[dict[str, Any]]:
    """Join consecutive pieces of one speaker; a piece without a speaker, such as a comma, belongs to the one before."""
    whole: list[dict[str, Any]] = []
    for turn in turns:
        if whole and turn["speaker"] in (whole[-1]["speaker"], ""):
            whole[-1]["text"] += between + turn["text"] if turn["text"] else ""
        else:
            whole.append(dict(turn))
    return whole
