"""Rows and records to dialogues; what cannot be one is quarantined whole, with the line of its first fault."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from dial2vec.data.importing.cells import as_name, as_turn_list, cell_text
from dial2vec.data.importing.columns import Columns
from dial2vec.data.importing.encodings import is_damaged
from dial2vec.data.importing.markup import without_html
from dial2vec.data.importing.names import is_index
from dial2vec.data.importing.plain_text import Script, script_of
from dial2vec.data.importing.records import Record
from dial2vec.data.importing.times import first_date, is_day_first, order
from dial2vec.dialogue import Dialogue, Origin, Quarantined, RecordError, Turn, dialogue_from_record

# Who speaks in a row that holds a question and its answer.
ASKER, ANSWERER = "user", "bot"
DAMAGED = "it holds bytes of no character, or half of one"
UNORDERED = "some of its times cannot be read, and its turns are not in order"


class Row(NamedTuple):
    """One turn on its way to its dialogue."""

    line: int
    speaker: str
    text: str
    time: str


@dataclass
class Group:
    """The rows of one dialogue.

    :param first: file and line of its first row.
    :param mergeable: whether rows of another file may belong to it too: its id and its times tell.
    :param fault: where and why the first row stands that cannot be used.
    """

    first: Origin
    mergeable: bool = False
    rows: list[Row] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)
    fault: tuple[Origin, str] | None = None


Groups = dict[str, Group]


@dataclass
class ImportResult:
    """What came of an export: every dialogue in it is in one of the two lists.

    :param dialogues: those that can be used.
    :param quarantine: one entry per dialogue that cannot, or per row that belongs to none.
    :param rows: rows, records or files of text that were read.
    :param blank: turns without a word, left out.
    :param repeated: rows that a file before has too, left out.
    :param speakers: every name, also of quarantined dialogues.
    """

    dialogues: list[Dialogue] = field(default_factory=list)
    quarantine: list[Quarantined] = field(default_factory=list)
    rows: int = 0
    blank: int = 0
    repeated: int = 0
    speakers: dict[str, None] = field(default_factory=dict)

    def refuse(self, source: str, line: int, name: str, reason: str) -> None:
        """Quarantine a dialogue."""
        shown = name[:200].encode("utf-8", "replace").decode()
        self.quarantine.append(Quarantined(Origin(source, line), shown, reason))

    def accept(
        self,
        source: str,
        line: int,
        name: str,
        turns: Iterable[Turn],
        labels: Iterable[str],
        *,
        date: str | None = None,
    ) -> None:
        """Take a dialogue in, or quarantine it where the project's form has no place for it."""
        said = list(turns)
        record = {
            "dialogue_id": name,
            "turns": [{"speaker": turn.speaker, "text": turn.text} for turn in said],
            "labels": list(labels),
            "date": date,
        }
        self.speakers.update(dict.fromkeys(turn.speaker for turn in said))
        try:
            dialogue = dialogue_from_record(record, origin=Origin(source, line))
        except RecordError as error:
            self.refuse(source, line, name, str(error))
        else:
            self.blank += len(said) - len(dialogue.turns)
            self.dialogues.append(dialogue)


def group_rows(records: Iterable[Record], columns: Columns, *, source: str, name: str, result: ImportResult) -> Groups:
    """Group rows by their dialogues, wherever in the file the rows of one stand.

    :param name: id of the only dialogue where no column has one; begins the ids of rows that are dialogues.
    :param result: takes what belongs to no dialogue.
    """
    groups: Groups = {}
    # Numbers of turns may begin anew in each file, times do not.
    mergeable = bool(columns.dialogue_id and columns.time and not is_index(columns.time))
    # The same few names and labels stand in very many rows.
    known: dict[str, str] = {}
    for number, record in enumerate(records, start=1):
        result.rows += 1
        alone = f"{name}-{number}" if columns.answer else name
        dialogue_id = _id(record, columns) if columns.dialogue_id else alone
        if not dialogue_id:
            reason = record.problem or "the dialogue's id is blank"
            result.refuse(source, record.line, "", reason)
            continue
        group = groups.setdefault(dialogue_id, Group(Origin(source, record.line), mergeable))
        if not record.problem and (speaker := columns.speaker_of(record.values)):
            result.speakers.setdefault(known.setdefault(speaker, speaker))
        if group.fault:
            continue
        reason = record.problem or _add(group, record, columns, known)
        if reason:
            group.fault = (Origin(source, record.line), reason)
    return groups


def _id(record: Record, columns: Columns) -> str:
    found = as_name(record.values.get(columns.dialogue_id or ""))
    return found or (as_name(record.values.get(columns.other_id)) if columns.other_id else "")


def _add(group: Group, record: Record, columns: Columns, known: dict[str, str]) -> str:
    """Add a row to its dialogue, or say why it cannot be used."""
    values = record.values
    said = [(columns.speaker_of(values), _text(values, columns.text, columns))]
    if columns.answer:
        said = [(ASKER, said[0][1]), (ANSWERER, _text(values, columns.answer, columns))]
    labels = columns.labels_of(values)
    time = columns.time_of(values)
    for speaker, text in said:
        if text and not speaker:
            return "the speaker is blank"
        if is_damaged("".join((text, speaker, *labels))):
            return DAMAGED
        group.rows.append(Row(record.line, known.setdefault(speaker, speaker), text, time))
    group.labels.update(known.setdefault(label, label) for label in labels)
    return ""


def _text(values: dict[str, Any], name: str | None, columns: Columns) -> str:
    text = cell_text(values.get(name or ""))
    return (without_html(text) if columns.html else text).strip()


def merge(groups: Groups, more: Groups, result: ImportResult) -> None:
    """Add the rows of another file of a folder: one conversation may go on there, as a Slack thread on the next day.

    A row that stands in both files counts once. Where no time says which row is which, the second dialogue of an id is
    none.
    """
    for name, group in more.items():
        there = groups.setdefault(name, group)
        if there is group:
            continue
        if not (there.mergeable and group.mergeable):
            result.refuse(*group.first, name, f"the id came before in {Path(there.first.source).name}")
            continue
        before = {row[1:] for row in there.rows}
        new = [row for row in group.rows if not row.time or row[1:] not in before]
        result.repeated += len(group.rows) - len(new)
        there.rows += new
        there.labels |= group.labels
        there.fault = there.fault or group.fault


def from_rows(groups: Groups, result: ImportResult) -> None:
    """Turn grouped rows into dialogues; the groups are used up, so that nothing is in memory twice."""
    day_first = is_day_first([row.time for group in groups.values() for row in group.rows])
    for dialogue_id in list(groups):
        _finish(dialogue_id, groups.pop(dialogue_id), day_first, result)


def _finish(dialogue_id: str, group: Group, day_first: bool, result: ImportResult) -> None:
    if group.fault:
        result.refuse(*group.fault[0], dialogue_id, group.fault[1])
        return
    rows = [row for row in group.rows if row.text]
    result.blank += len(group.rows) - len(rows)
    sequence = order([row.time for row in rows], day_first=day_first)
    if sequence is None:
        result.refuse(*group.first, dialogue_id, UNORDERED)
        return
    turns = (Turn(rows[at].speaker, rows[at].text) for at in sequence)
    date = first_date([row.time for row in rows], day_first=day_first)
    result.accept(*group.first, dialogue_id, turns, group.labels, date=date)


def from_records(records: Iterable[Record], columns: Columns, *, source: str, name: str, result: ImportResult) -> None:
    """Turn records that hold a whole dialogue each into dialogues.

    :param name: begins the ids where no column has any: `name-1`, `name-2`, ...
    :param result: is added to.
    """
    seen: dict[str, int] = {}
    for number, record in enumerate(records, start=1):
        result.rows += 1
        dialogue_id = _id(record, columns) if columns.dialogue_id else f"{name}-{number}"
        labels = columns.labels_of(record.values)
        reason = record.problem or ("" if dialogue_id else "the dialogue's id is blank")
        turns, fault, blank = _turns(record.values, columns)
        reason = reason or fault
        if not reason and is_damaged("".join((dialogue_id, *labels))):
            reason = DAMAGED
        if not reason and dialogue_id in seen:
            reason = f"the id came before on line {seen[dialogue_id]}"
        if reason:
            result.speakers.update(dict.fromkeys(turn.speaker for turn in turns if turn.speaker))
            result.refuse(source, record.line, dialogue_id if not record.problem or record.values else "", reason)
            continue
        seen[dialogue_id] = record.line
        result.blank += blank
        result.accept(source, record.line, dialogue_id, turns, labels, date=_date(record.values, columns))


def _date(values: dict[str, Any], columns: Columns) -> str | None:
    """Return when a dialogue that is one record began, by the times of its turns, or its own key `date`."""
    times = [columns.time_of(turn) for turn in as_turn_list(values.get(columns.turns or "")) or ()]
    dates = [*times, as_name(values.get("date"))]
    return first_date(dates, day_first=is_day_first(dates))


def _turns(values: dict[str, Any], columns: Columns) -> tuple[list[Turn], str, int]:
    """Return the turns of a record, why they cannot be used, and how many are blank."""
    value = values.get(columns.turns or "")
    found = as_turn_list(value) if columns.text else None
    if found is None:
        if not isinstance(value, str):
            return [], f"column {columns.turns!r} holds no list of turns", 0
        script = script_of(value)
        turns = list(script.said())
        fault = script.problem or ("" if turns else f"column {columns.turns!r} holds no `Speaker: text` line")
        return turns, fault, len(script.turns) - len(turns)
    rows, fault = _rows(found, columns)
    said = [row for row in rows if row.text]
    # A message beside the others, as in Intercom's `source`, may be the first or the last of them once more.
    opening = columns.opening_of(values)
    beside, damage = _rows([opening], columns) if opening else ([], "")
    ends = [(row.speaker, row.text) for row in said[:1] + said[-1:]]
    new = [row for row in beside if row.text and (row.speaker, row.text) not in ends]
    said = [row for row in new if row.time] + said
    times = [row.time for row in said]
    sequence = order(times, day_first=is_day_first(times))
    if sequence is None:
        fault = fault or UNORDERED
    fault = fault or (damage and f"the first turn, beside the others: {damage.removeprefix('turn 1: ')}")
    # With a fault too: the names of its speakers may stand in other dialogues.
    inorder = [row for row in new if not row.time] + [said[at] for at in sequence or range(len(said))]
    if not inorder:
        fault = fault or ("every turn is blank" if found else "it has no turns")
    return [Turn(row.speaker, row.text) for row in inorder], fault, sum(not row.text for row in rows)


def _rows(found: list[dict[str, Any]], columns: Columns) -> tuple[list[Row], str]:
    """Return the turns of a list, and why the first of them that cannot be used cannot."""
    rows, fault = [], ""
    for number, turn in enumerate(found, start=1):
        speaker, text = columns.speaker_of(turn), _text(turn, columns.text, columns)
        if text and not speaker:
            fault = fault or f"turn {number}: the speaker is blank"
        if is_damaged(text + speaker):
            fault = fault or f"turn {number}: {DAMAGED}"
        rows.append(Row(number, speaker, text, columns.time_of(turn)))
    return rows, fault


def from_scripts(scripts: Iterator[Script], *, source: str, name: str, result: ImportResult) -> int:
    """Turn transcripts in lines of text into dialogues.

    :param name: id of the only dialogue; begins the ids of several that have no heading.
    :param result: is added to.
    :returns: the number of lines that belong to no turn.
    """
    found = list(scripts)
    seen: set[str] = set()
    for number, script in enumerate(found, start=1):
        result.rows += 1
        turns = script.said()
        dialogue_id = script.name or (name if len(found) == 1 else f"{name}-{number}")
        reason = script.problem or ("" if turns else "no line names a speaker, as in `Speaker: text`")
        if not reason and dialogue_id in seen:
            reason = "the id came before in this file"
        seen.add(dialogue_id)
        if reason:
            result.speakers.update(dict.fromkeys(turn.speaker for turn in turns))
            result.refuse(source, script.line, dialogue_id, reason)
            continue
        result.blank += len(script.turns) - len(turns)
        result.accept(source, script.line, dialogue_id, turns, ())
    return sum(script.aside for script in found)
