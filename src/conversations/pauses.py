"""What the pauses of a chat tell: which rows are one turn, and where a new conversation begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from conversations.dialogue import Origin, Turn
from conversations.guessing.evidence import are_alike
from conversations.options import Options
from conversations.result import ImportResult
from conversations.values.times import ClockReading, first_date
from conversations.vocabulary import word_list

HOUR = 3600
# A chat of so many turns and seconds is likely to hold several conversations, which begin after so many hours.
MANY_TURNS, MONTH, NIGHT = 200, 30 * 24 * HOUR, 8
# It is cut by itself into so many conversations at least, of so many turns on average: letters have fewer.
CONVERSATIONS, TURNS_EACH = 10, 2
ENDLESS = (
    f"dialogues of {MANY_TURNS} turns and more last over a month: with --pause {NIGHT} a new one begins where nobody "
    f"wrote for {NIGHT} hours"
)
UNTIMED = "--join and --pause change nothing where turns have no times"
# Ends of texts that were edited, and the seconds within which a messenger writes such a text again.
EDITED = word_list("speech", "edited_marks")
NEAR = 2.0


class DialoguePart(NamedTuple):
    """The record of a turn, if it holds a part of a dialogue.

    :param request: Id of the request, whose records repeat each other; "" without one.
    :param inside: True if another record of the request is around it.
    """

    request: str
    date: str
    inside: bool = False


class Row(NamedTuple):
    """One turn, before its dialogue is complete."""

    line: int
    speaker: str
    text: str
    time: str
    part: DialoguePart | None = None


def accept_rows(
    name: str,
    rows: Sequence[Row],
    options: Options,
    reading: ClockReading,
    *,
    origin: Origin,
    result: ImportResult,
    labels: Iterable[str] = (),
    date: str | None = None,
    metadata: Mapping[str, object] | None = None,
) -> None:
    """Add a dialogue to the result, or each conversation of a chat if the user named a pause.

    :param name: Id of the dialogue, to which conversations add their day, and a number from the second of a day on.
    :param rows: Turns in their order.
    :param options: The user's pauses.
    :param date: Date of the dialogue, unless it is cut.
    """
    if "edited" not in options.keep:
        every, rows = rows, without_edited(rows, reading)
        result.left_out.update(["edited"] * (len(every) - len(rows)))
    parts = parts_of(rows, options.pause, reading)
    if options.pause is None and _is_endless(rows, reading):
        result.notes[ENDLESS] = None
        apart, cut = ImportResult(), replace(options, pause=NIGHT)
        given = {"labels": labels, "date": date, "metadata": metadata}
        accept_rows(name, rows, cut, reading, origin=origin, result=apart, **given)  # type: ignore[arg-type]
        if CONVERSATIONS <= len(apart.dialogues) <= len(rows) / TURNS_EACH and not apart.quarantine:
            result.cuts[origin, name] = apart.dialogues
    if (options.pause or options.join) is not None and not any(row.time for row in rows):
        result.notes[UNTIMED] = None
    days = Counter[str]()
    for number, part in enumerate(parts, start=1):
        own = name
        if len(parts) > 1:
            date = first_date([row.time for row in part], reading)
            day = date[:10] if date else str(number)
            days[day] += 1
            own = f"{name}-{day}" + (f"-{days[day]}" if days[day] > 1 else "")
        turns = turns_of(part, options.join, reading)
        result.accept(*origin, own, turns, labels, date=date, metadata=metadata)


def parts_of(rows: Sequence[Row], hours: float | None, reading: ClockReading) -> list[Sequence[Row]]:
    """Return the rows of each conversation of a chat.

    :param rows: Rows in their order; one without a time belongs to the row before it.
    :param hours: Pause after which a new conversation begins; None or 0 begins none.
    """
    if not hours:
        return [rows]
    begins, last = [0], None
    for at, row in enumerate(rows):
        moment = reading.seconds(row.time) if row.time else None
        if moment is not None and last is not None and moment - last >= hours * HOUR:
            begins.append(at)
        last = last if moment is None else moment
    return [rows[first:end] for first, end in zip(begins, [*begins[1:], len(rows)], strict=True)]


def cut_endless(result: ImportResult) -> str:
    """Put their conversations in place of chats of months, if the export has hardly any other dialogue.

    :return: Note that says so, which the result gets too; "" if nothing is cut.
    """
    parts = [result.cuts.pop((item.origin, item.dialogue_id), [item]) for item in result.dialogues]
    n_cut = sum(len(part) > 1 for part in parts)
    if not n_cut or len(parts) - n_cut > max(1, n_cut // 4):
        return ""
    result.dialogues[:] = chain.from_iterable(parts)
    del result.notes[ENDLESS]
    n_made = sum(len(part) for part in parts if len(part) > 1)
    chats, them = (f"{n_cut} chats of months are", "them") if n_cut > 1 else ("a chat of months is", "it")
    note = f"{chats} cut at pauses of {NIGHT} hours into {n_made} dialogues; --pause 0 keeps {them} whole"
    result.notes[note] = None
    return note


def turns_of(rows: Iterable[Row], join: float | None, reading: ClockReading) -> list[Turn]:
    """Return the turns of rows in their order.

    :param join: Seconds within which consecutive rows of one speaker are one turn; None joins none.
    """
    turns: list[Turn] = []
    last: float | None = None
    for row in rows:
        moment = reading.seconds(row.time) if join is not None and row.time else None
        near = join is not None and moment is not None and last is not None and abs(moment - last) <= join
        if near and turns[-1].speaker == row.speaker:
            turns[-1] = Turn(row.speaker, f"{turns[-1].text} {row.text}")
        else:
            turns.append(Turn(row.speaker, row.text))
        last = moment
    return turns


def _is_endless(rows: Sequence[Row], reading: ClockReading) -> bool:
    if len(rows) < MANY_TURNS:
        return False
    first, last = (reading.seconds(row.time) if row.time else None for row in (rows[0], rows[-1]))
    return first is not None and last is not None and last - first > MONTH


def without_edited(rows: Sequence[Row], reading: ClockReading) -> list[Row]:
    """Return rows without those that a row with a mark, "At nine (edited)", says again directly after them."""
    kept: list[Row] = []
    for row in rows:
        mark = next(filter(row.text.endswith, EDITED)) if row.text.endswith(EDITED) else ""
        before = kept[-1] if mark and kept else None
        if before and before.speaker == row.speaker and _is_again(before, row, mark, reading):
            row = row._replace(text=row.text.removesuffix(mark).rstrip(), time=before.time)
            kept.pop()
        kept.append(row)
    return kept


def _is_again(before: Row, row: Row, mark: str, reading: ClockReading) -> bool:
    times = [reading.seconds(each.time) if each.time else None for each in (before, row)]
    near = None not in times and abs((times[1] or 0.0) - (times[0] or 0.0)) <= NEAR
    return near or are_alike(before.text, row.text.removesuffix(mark).rstrip())
