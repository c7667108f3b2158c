"""Dialogues from rows: a table has a row per turn, in any order; an unusable dialogue is quarantined whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from conversations.dialogue import Origin
from conversations.formats.encodings import is_damaged
from conversations.formats.markup import without_html
from conversations.formats.records import Record
from conversations.guessing.columns import Columns
from conversations.guessing.evidence import age
from conversations.guessing.names import by_name, is_index, plain
from conversations.options import QUOTED
from conversations.pauses import Row, accept_rows
from conversations.result import AMBIGUOUS, DAMAGED, NAMELESS, UNORDERED, ImportResult, all_left_out
from conversations.values.cells import as_name, cell_text
from conversations.values.quoted import without_quoted
from conversations.values.times import ClockReading, first_date, has_date, order, reading_of, unread

# Speakers of a row that holds a question and its answer.
ASKER, ANSWERER = "user", "bot"
VARIES = object()


@dataclass
class Group:
    """The rows of one dialogue.

    :param first: File and line of the first row.
    :param columns: Columns of the file of the first row.
    :param mergeable: True if rows of another file may belong to the dialogue too: its id and times show which.
    :param fault: Origin of the first unusable row, and the reason.
    :param left_out: Kind of the last row that nobody said; "" without one.
    :param parts: True if its id alone tells that rows of another file belong to it, as in Slack.
    :param metadata: Values of the dialogue by key; `VARIES` if its rows do not agree.
    :param versions: Newest version and its line by message, if messages come in several versions.
    :param contents: Hash values of the rows, if equal ones count once.
    """

    first: Origin
    columns: Columns
    mergeable: bool = False
    parts: bool = False
    rows: list[Row] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)
    fault: tuple[Origin, str] | None = None
    left_out: str = ""
    contents: set[int] = field(default_factory=set)
    versions: dict[str, tuple[float | None, int]] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)


Groups = dict[str, Group]


def group_rows(records: Iterable[Record], columns: Columns, *, source: str, name: str, result: ImportResult) -> Groups:
    """Group rows by dialogue; the rows of a dialogue may be anywhere in the file.

    :param name: Id of the only dialogue if no column has ids; prefix of the ids if each row is a dialogue.
    :param result: Result that gets the rows without a dialogue.
    """
    groups: Groups = {}
    # Turn numbers may start again in each file, times do not.
    timed = columns.dialogue_id and columns.time and not (columns.in_order or is_index(columns.time))
    parts = columns.parts or bool(columns.other_id)
    mergeable = columns.parts or bool(timed)
    # Few names and labels repeat in many rows: each is kept in memory once.
    known: dict[str, str] = {}
    for number, record in enumerate(records, start=1):
        result.rows += 1
        alone = f"{name}-{number}" if columns.answer and not columns.alternating else name
        dialogue_id = columns.id_of(record.values) if columns.has_ids else alone
        if not dialogue_id:
            reason = record.problem or "the dialogue's id is blank"
            result.refuse(source, record.line, "", reason)
            continue
        origin = Origin(source, record.line)
        group = groups.setdefault(dialogue_id, Group(origin, columns, mergeable, parts))
        if not record.problem and (speaker := columns.speaker_of(record.values)):
            result.speakers.setdefault(known.setdefault(speaker, speaker))
        if group.fault or (columns.once and _came_before(group, record, columns, result)):
            continue
        if columns.versions and not record.problem and _is_older(group, record, *columns.versions, result):
            continue
        reason = record.problem or _add(group, record, columns, known, result)
        if reason:
            group.fault = (Origin(source, record.line), reason)
    return groups


def _came_before(group: Group, record: Record, columns: Columns, result: ImportResult) -> bool:
    """Return whether a row is equal to the letter to another one of its dialogue, time included."""
    if record.problem or not record.values.get(columns.time or ""):
        return False
    try:
        content = hash(tuple(record.values.values()))
    except TypeError:
        content = hash(repr(record.values))
    if content in group.contents:
        result.repeated += 1
        return True
    group.contents.add(content)
    return False


def _is_older(group: Group, record: Record, message: str, version: str, result: ImportResult) -> bool:
    """Return whether a newer version of a message came before; a row with an older version is removed."""
    name, own = as_name(record.values.get(message)), age(as_name(record.values.get(version))) or 0.0
    before, line = group.versions.get(name, (None, 0))
    if not name or before is None or own > before:
        group.versions[name] = own, record.line
    if not name or before is None:
        return False
    result.left_out["edited"] += 1
    if own > before:
        group.rows = [row for row in group.rows if row.line != line]
    return own <= before


def _add(group: Group, record: Record, columns: Columns, known: dict[str, str], result: ImportResult) -> str:
    """Add a row to its dialogue, or return the reason why the row cannot be used."""
    values = record.values
    turns = [(columns.speaker_of(values), text_of(values, columns.text, columns, result.left_out))]
    if columns.answer:
        turns = [(ASKER, turns[0][1]), (ANSWERER, text_of(values, columns.answer, columns, result.left_out))]
        turns = turns[::-1] if columns.answer_first else turns
    labels = columns.labels_of(values)
    time = columns.time_of(values)
    for speaker, text in turns:
        if text and (kind := columns.not_speech.kind(values, speaker, text) or ("" if speaker else NAMELESS)):
            result.left_out[kind] += 1
            group.left_out = kind
            continue
        if is_damaged("".join((text, speaker, *labels))):
            return DAMAGED
        group.rows.append(Row(record.line, known.setdefault(speaker, speaker), text, time))
    for key, value in columns.metadata_of(values).items():
        if group.metadata.setdefault(key, value) != value:
            group.metadata[key] = VARIES
    group.labels.update(known.setdefault(label, label) for label in labels)
    return ""


def text_of(values: dict[str, Any], name: str | None, columns: Columns, left_out: Counter[str]) -> str:
    """Return the text of a cell, without HTML if the texts are HTML, and without a mail that it quotes.

    :param left_out: Counter of what is left out, by kind.
    """
    text = cell_text(values.get(name or ""))
    text = (without_html(text) if columns.html else text).strip()
    if text.startswith("<think>") and "thought" not in columns.not_speech.keep:
        # A model's thought before its answer; a text that is cut within it has no answer.
        text = text.partition("</think>")[2].strip()
    if QUOTED not in columns.not_speech.keep:
        whole, text = text, without_quoted(text, marked=not columns.html)
        left_out.update([QUOTED] if text != whole else [])
    # pandas writes a gap as "nan".
    return "" if text in ("nan", "NaN") else text


def merge(groups: Groups, more: Groups, result: ImportResult) -> None:
    """Add the rows of another file of a folder: a conversation may go on there, as a Slack thread on the next day.

    A row that both files have counts once. Without times, a second dialogue with a known id is refused.
    """
    for name, group in more.items():
        known = groups.setdefault(name, group)
        if known is group:
            continue
        if not _is_one(known, group):
            result.refuse(*group.first, name, f"the id came before in {Path(known.first.source).name}")
            continue
        before = {row[1:] for row in known.rows}
        new = [row for row in group.rows if not row.time or row[1:] not in before]
        result.repeated += len(group.rows) - len(new)
        known.rows += new
        known.labels |= group.labels
        known.metadata |= {key: value for key, value in group.metadata.items() if key not in known.metadata}
        known.fault = known.fault or group.fault


def _is_one(known: Group, group: Group) -> bool:
    """Return whether two files hold parts of one dialogue: its id and its dates tell, or the user says so."""
    # Seconds since the start of a call begin again in each file.
    dated = all(any(map(has_date, times)) for part in (known, group) if (times := [row.time for row in part.rows]))
    return known.mergeable and group.mergeable and (known.parts or dated)


def from_rows(groups: Groups, result: ImportResult) -> None:
    """Turn grouped rows into dialogues; each group is removed, so that nothing is in memory twice."""
    reading = reading_of([row.time for row in group.rows] for group in groups.values())
    if reading.day_first is None:
        result.notes[AMBIGUOUS] = None
    for dialogue_id in list(groups):
        _finish(dialogue_id, groups.pop(dialogue_id), reading, result)


def _finish(dialogue_id: str, group: Group, reading: ClockReading, result: ImportResult) -> None:
    if group.fault:
        result.refuse(*group.fault[0], dialogue_id, group.fault[1])
        return
    in_order = group.columns.in_order
    rows = [row for row in (group.rows if in_order else oldest_first(group.rows, reading)) if row.text]
    if not rows and group.left_out:
        result.refuse(*group.first, dialogue_id, all_left_out([group.left_out]))
        return
    result.blank += len(group.rows) - len(rows)
    times = [row.time for row in rows]
    sequence = range(len(rows)) if in_order else order(times, reading)
    result.unread.update(unread(times))
    if sequence is None:
        result.refuse(*group.first, dialogue_id, UNORDERED)
        return
    accept_rows(
        dialogue_id,
        [rows[at] for at in sequence],
        group.columns,
        reading,
        origin=group.first,
        result=result,
        labels=group.labels,
        date=first_date(times, reading),
        metadata={key: value for key, value in group.metadata.items() if value is not VARIES},
    )


def oldest_first(rows: list[Row], reading: ClockReading) -> list[Row]:
    """Return the rows of an export with the newest turn first from the end; a question and its answer stay together."""
    if not reading.newest_first:
        return rows
    lines = [list(rows) for _, rows in groupby(rows, key=lambda row: row.line)]
    return list(chain.from_iterable(reversed(lines)))


class MergedCells:
    """Fills the cells below the id of a dialogue, which stands only in its first row, as merged cells are saved.

    :param columns: Columns of the ids, and of the speakers if they are merged, too.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        self._last: dict[str, Any] = {}

    def __call__(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return a row with the id of its dialogue."""
        filled = {name: cell for name in self._columns if cell_text(cell := values.get(name)).strip()}
        self._last |= filled
        return values | self._last


def merged_columns(sample: Sequence[dict[str, Any]]) -> list[str]:
    """Return the column whose ids stand only in the first row of each dialogue, and that of the speakers if it is such.

    Speakers are merged where a row below has only a text.
    """
    names = [name for name in (sample[0] if sample else ()) if cell_text(sample[0][name])]
    column = by_name("id", names, lambda name: not is_index(name))
    # A message outside any thread has no "thread_ts" in Slack.
    if (
        column is None
        or plain(column) == "thread_ts"
        or any(column not in values or len(values) < 3 for values in sample)
    ):
        return []
    ids = [text for values in sample if (text := cell_text(values[column]).strip())]
    below = [values for values in sample if not cell_text(values[column]).strip()]
    others = [name for name in names if name != column]
    speaker, words = by_name("speaker", others), by_name("text", others)
    alone = [values for values in below if sum(bool(cell_text(value).strip()) for value in values.values()) < 2]
    merged = bool(speaker and words and speaker != words) and all(cell_text(v[words or ""]).strip() for v in alone)
    if not (not alone or merged) or not len(set(ids)) == len(ids) <= len(below) or len(below) < 2:
        return []
    return [column, *([speaker] if alone and speaker else [])]
