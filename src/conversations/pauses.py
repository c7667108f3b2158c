"""What the pauses of a chat tell: which rows are one turn, and where a new conversation begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from conversations.dialogue import Origin, Turn
from conversations.guessing.columns import Columns
from conversations.result import ImportResult
from conversations.values.times import ClockReading, first_date

HOUR = 3600
# A chat of so many turns and seconds is likely to hold several conversations.
MANY_TURNS, MONTH = 1000, 30 * 24 * HOUR
ENDLESS = (
    f"dialogues of {MANY_TURNS:,} turns and more last over a month: with --pause 8 a new one begins where nobody wrote "
    "for 8 hours"
)
UNTIMED = "--join and --pause change nothing where turns have no times"


class Row(NamedTuple):
    """One turn, before its dialogue is complete."""

    line: int
    speaker: str
    text: str
    time: str


def accept_rows(
    name: str,
    rows: Sequence[Row],
    columns: Columns,
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
    :param columns: Columns with the user's pauses.
    :param date: Date of the dialogue, unless it is cut.
    """
    parts = parts_of(rows, columns.pause, reading)
    if columns.pause is None and _is_endless(rows, reading):
        result.notes[ENDLESS] = None
    if (columns.pause or columns.join) is not None and not any(row.time for row in rows):
        result.notes[UNTIMED] = None
    days = Counter[str]()
    for number, part in enumerate(parts, start=1):
        own = name
        if len(parts) > 1:
            date = first_date([row.time for row in part], reading)
            day = date[:10] if date else str(number)
            days[day] += 1
            own = f"{name}-{day}" + (f"-{days[day]}" if days[day] > 1 else "")
        turns = turns_of(part, columns.join, reading)
        result.accept(*origin, own, turns, labels, date=date, metadata=metadata)


def parts_of(rows: Sequence[Row], hours: float | None, reading: ClockReading) -> list[Sequence[Row]]:
    """Return the rows of each conversation of a chat.

    :param rows: Rows in their order; one without a time belongs to the row before it.
    :param hours: Pause after which a new conversation begins; None begins none.
    """
    if hours is None:
        return [rows]
    begins, last = [0], None
    for at, row in enumerate(rows):
        moment = reading.seconds(row.time) if row.time else None
        if moment is not None and last is not None and moment - last >= hours * HOUR:
            begins.append(at)
        last = last if moment is None else moment
    return [rows[first:end] for first, end in zip(begins, [*begins[1:], len(rows)], strict=True)]


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
