"""Dialogues from rows and records; an unusable one is quarantined whole, with the line of its first fault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

from dial2vec.data.importing.cells import as_name, as_turn_list, cell_text
from dial2vec.data.importing.columns import Columns
from dial2vec.data.importing.encodings import is_damaged
from dial2vec.data.importing.markup import without_html
from dial2vec.data.importing.names import is_index
from dial2vec.data.importing.plain_text import Script, script_of
from dial2vec.data.importing.records import Record
from dial2vec.data.importing.speech import ALL_SAID
from dial2vec.data.importing.times import Reading, first_date, order, reading_of, unread
from dial2vec.data.importing.turns import closing_turns
from dial2vec.dialogue import Dialogue, Origin, Quarantined, RecordError, Turn, dialogue_from_record

# Speakers of a row that holds a question and its answer.
ASKER, ANSWERER = "user", "bot"
# Kind of a turn whose speaker is blank.
NAMELESS = "no speaker"
DAMAGED = "it holds bytes that are not valid characters"
# Number of first dialogues by which the order of day and month is found.
SAMPLE = 2000
AMBIGUOUS = "dates such as 03/04/2024 may begin with the day or the month: dialogues have no date"
UNORDERED = "some of its times cannot be read, and its turns are not in order"


class Row(NamedTuple):
    """One turn, before its dialogue is complete."""

    line: int
    speaker: str
    text: str
    time: str


@dataclass
class Group:
    """The rows of one dialogue.

    :param first: File and line of the first row.
    :param mergeable: True if rows of another file may belong to the dialogue too: its id and times show which.
    :param fault: Origin of the first unusable row, and the reason.
    :param left_out: Kind of the last row that nobody said; "" without one.
    :param contents: Hash values of the rows, if equal ones count once.
    """

    first: Origin
    mergeable: bool = False
    rows: list[Row] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)
    fault: tuple[Origin, str] | None = None
    left_out: str = ""
    contents: set[int] = field(default_factory=set)


Groups = dict[str, Group]


@dataclass
class ImportResult:
    """Result of an import: every dialogue of the export is in one of the two lists.

    :param dialogues: Usable dialogues.
    :param quarantine: One entry per unusable dialogue, or per row without a dialogue.
    :param rows: Number of rows, records or transcripts read.
    :param blank: Number of turns left out because they are blank.
    :param left_out: Number of turns left out because nobody said them, by kind.
    :param repeated: Number of rows left out because another row, or an earlier file, has the same content.
    :param unread: Times that cannot be read.
    :param notes: Sentences for the summary.
    :param speakers: Names of all speakers, also of quarantined dialogues.
    """

    dialogues: list[Dialogue] = field(default_factory=list)
    quarantine: list[Quarantined] = field(default_factory=list)
    rows: int = 0
    blank: int = 0
    repeated: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)
    notes: dict[str, None] = field(default_factory=dict)
    speakers: dict[str, None] = field(default_factory=dict)

    def relocate(self, shown: Callable[[str], str]) -> None:
        """Rename the files in all origins, by a function from the old to the new name."""
        for number, dialogue in enumerate(self.dialogues):
            if dialogue.origin and (name := shown(dialogue.origin.source)) != dialogue.origin.source:
                self.dialogues[number] = replace(dialogue, origin=Origin(name, dialogue.origin.line))
        self.quarantine[:] = [
            Quarantined(Origin(shown(item.origin.source), item.origin.line), item.dialogue_id, shown(item.reason))
            for item in self.quarantine
        ]

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
        metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Add a dialogue, or quarantine it if `Dialogue` does not allow it."""
        turns = list(turns)
        record = {
            "dialogue_id": name,
            "turns": [{"speaker": turn.speaker, "text": turn.text} for turn in turns],
            "labels": list(labels),
            "date": date,
            "metadata": dict(metadata or {}),
        }
        self.speakers.update(dict.fromkeys(turn.speaker for turn in turns))
        try:
            dialogue = dialogue_from_record(record, origin=Origin(source, line))
        except RecordError as error:
            self.refuse(source, line, name, str(error))
        else:
            self.blank += len(turns) - len(dialogue.turns)
            self.dialogues.append(dialogue)


def group_rows(records: Iterable[Record], columns: Columns, *, source: str, name: str, result: ImportResult) -> Groups:
    """Group rows by dialogue; the rows of a dialogue may be anywhere in the file.

    :param name: Id of the only dialogue if no column has ids; prefix of the ids if each row is a dialogue.
    :param result: Result that gets the rows without a dialogue.
    """
    groups: Groups = {}
    # Turn numbers may start again in each file, times do not.
    mergeable = bool(columns.dialogue_id and columns.time and not is_index(columns.time))
    # Few names and labels repeat in many rows: each is kept in memory once.
    known: dict[str, str] = {}
    for number, record in enumerate(records, start=1):
        result.rows += 1
        alone = f"{name}-{number}" if columns.answer else name
        dialogue_id = columns.id_of(record.values) if columns.has_ids else alone
        if not dialogue_id:
            reason = record.problem or "the dialogue's id is blank"
            result.refuse(source, record.line, "", reason)
            continue
        group = groups.setdefault(dialogue_id, Group(Origin(source, record.line), mergeable))
        if not record.problem and (speaker := columns.speaker_of(record.values)):
            result.speakers.setdefault(known.setdefault(speaker, speaker))
        if group.fault or (columns.once and _came_before(group, record, columns, result)):
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


def _add(group: Group, record: Record, columns: Columns, known: dict[str, str], result: ImportResult) -> str:
    """Add a row to its dialogue, or return the reason why the row cannot be used."""
    values = record.values
    turns = [(columns.speaker_of(values), _text(values, columns.text, columns))]
    if columns.answer:
        turns = [(ASKER, turns[0][1]), (ANSWERER, _text(values, columns.answer, columns))]
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
    group.labels.update(known.setdefault(label, label) for label in labels)
    return ""


def _text(values: dict[str, Any], name: str | None, columns: Columns) -> str:
    text = cell_text(values.get(name or ""))
    text = (without_html(text) if columns.html else text).strip()
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
        if not (known.mergeable and group.mergeable):
            result.refuse(*group.first, name, f"the id came before in {Path(known.first.source).name}")
            continue
        before = {row[1:] for row in known.rows}
        new = [row for row in group.rows if not row.time or row[1:] not in before]
        result.repeated += len(group.rows) - len(new)
        known.rows += new
        known.labels |= group.labels
        known.fault = known.fault or group.fault


def from_rows(groups: Groups, result: ImportResult) -> None:
    """Turn grouped rows into dialogues; each group is removed, so that nothing is in memory twice."""
    reading = reading_of([row.time for row in group.rows] for group in groups.values())
    if reading.day_first is None:
        result.notes[AMBIGUOUS] = None
    for dialogue_id in list(groups):
        _finish(dialogue_id, groups.pop(dialogue_id), reading, result)


def _finish(dialogue_id: str, group: Group, reading: Reading, result: ImportResult) -> None:
    if group.fault:
        result.refuse(*group.fault[0], dialogue_id, group.fault[1])
        return
    rows = [row for row in _oldest_first(group.rows, reading) if row.text]
    if not rows and group.left_out:
        result.refuse(*group.first, dialogue_id, f"every turn is left out ({group.left_out})")
        return
    result.blank += len(group.rows) - len(rows)
    times = [row.time for row in rows]
    sequence = order(times, reading)
    result.unread.update(unread(times))
    if sequence is None:
        result.refuse(*group.first, dialogue_id, UNORDERED)
        return
    turns = (Turn(rows[at].speaker, rows[at].text) for at in sequence)
    result.accept(*group.first, dialogue_id, turns, group.labels, date=first_date(times, reading))


def _oldest_first(rows: list[Row], reading: Reading) -> list[Row]:
    """Return the rows of an export with the newest turn first from the end; a question and its answer stay together."""
    if not reading.newest_first:
        return rows
    lines = [list(rows) for _, rows in groupby(rows, key=lambda row: row.line)]
    return list(chain.from_iterable(reversed(lines)))


def from_records(records: Iterable[Record], columns: Columns, *, source: str, name: str, result: ImportResult) -> None:
    """Turn records that each hold a whole dialogue into dialogues.

    :param name: Prefix of the ids if no column has ids: `name-1`, `name-2`, ...
    :param result: Result that gets the dialogues.
    """
    seen: dict[str, int] = {}
    records = iter(records)
    first = list(islice(records, SAMPLE))
    dates = [as_name(record.values.get("date")) for record in first]
    reading = reading_of([_times(record.values, columns) for record in first], dates)
    if reading.day_first is None:
        result.notes[AMBIGUOUS] = None
    for number, record in enumerate(chain(first, records), start=1):
        result.rows += 1
        dialogue_id = columns.id_of(record.values) if columns.dialogue_id else f"{name}-{number}"
        labels = columns.labels_of(record.values)
        left_out = Counter[str]()
        turns, fault, blank = _turns(record.values, columns, reading, left_out)
        result.left_out.update(left_out)
        reason = record.problem or ("" if dialogue_id else "the dialogue's id is blank") or fault
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
        times = [*_times(record.values, columns), as_name(record.values.get("date"))]
        result.unread.update(unread(times))
        result.accept(source, record.line, dialogue_id, turns, labels, date=first_date(times, reading))


def _times(values: dict[str, Any], columns: Columns) -> list[str]:
    turns = as_turn_list(values.get(columns.turns or "")) or ()
    return [columns.time_of(turn) for turn in turns if not columns.not_speech.kind(turn, "", "")]


def _turns(
    values: dict[str, Any], columns: Columns, reading: Reading, left_out: Counter[str]
) -> tuple[list[Turn], str, int]:
    """Return the turns of a record, the reason why they cannot be used, and the number of blank ones."""
    value = values.get(columns.turns or "")
    turn_list = as_turn_list(value) if columns.text else None
    if turn_list is None:
        if not isinstance(value, str):
            return [], f"column {columns.turns!r} holds no list of turns", 0
        script = script_of(value)
        turns = list(script.spoken())
        fault = script.problem or ("" if turns else f"column {columns.turns!r} holds no `Speaker: text` line")
        return turns, fault, len(script.turns) - len(turns)
    rows, fault = _rows(turn_list, columns, left_out)
    closing, damaged = _rows(_closing(values, turn_list, columns), columns, left_out)
    fault = fault or damaged
    filled = [row for row in (*_oldest_first(rows, reading), *closing) if row.text]
    # A message outside the list, as in Intercom's `source`, may repeat the first or the last turn of the list.
    opening = columns.opening_of(values)
    opening_rows, damage = _rows([opening], columns, left_out) if opening else ([], "")
    ends = [(row.speaker, row.text) for row in filled[:1] + filled[-1:]]
    new = [row for row in opening_rows if row.text and (row.speaker, row.text) not in ends]
    filled = [row for row in new if row.time] + filled
    sequence = order([row.time for row in filled], reading)
    if sequence is None:
        fault = fault or UNORDERED
    fault = fault or (damage and f"the first turn, outside the list: {damage.removeprefix('turn 1: ')}")
    # Turns are returned despite a fault: the names of their speakers may be in other dialogues.
    ordered = [row for row in new if not row.time] + [filled[at] for at in sequence or range(len(filled))]
    if not ordered:
        kinds = ", ".join(left_out)
        every = f"every turn is left out ({kinds})" if kinds else "every turn is blank"
        fault = fault or (every if turn_list else "it has no turns")
    return [Turn(row.speaker, row.text) for row in ordered], fault, sum(not row.text for row in rows)


def _closing(values: dict[str, Any], turn_list: list[Any], columns: Columns) -> list[dict[str, Any]]:
    """Return the turns of the answer that follows a list, unless it is the last turn of the list already."""
    value = values.get(columns.closing or "")
    if isinstance(value, str) and not closing_turns(value):
        turns = [{columns.speaker or "": "assistant", columns.text or "": value}] if value.strip() else []
    else:
        turns = closing_turns(value)
    known = [cell_text(turn.get(columns.text or "")) for turn in turn_list]
    return [turn for turn in turns if cell_text(turn.get(columns.text or "")) not in known[-len(turns) :]]


def _rows(turns: list[dict[str, Any]], columns: Columns, left_out: Counter[str]) -> tuple[list[Row], str]:
    """Return the turns of a list, and the fault of the first unusable one."""
    rows, fault = list[Row](), ""
    for number, turn in enumerate(turns, start=1):
        speaker, text = columns.speaker_of(turn), _text(turn, columns.text, columns)
        if text and (kind := columns.not_speech.kind(turn, speaker, text) or ("" if speaker else NAMELESS)):
            left_out[kind] += 1
            continue
        if is_damaged(text + speaker):
            fault = fault or f"turn {number}: {DAMAGED}"
        rows.append(Row(number, speaker, text, columns.time_of(turn)))
    return rows, fault


def _said(turns: Iterable[Turn], result: ImportResult) -> list[Turn]:
    """Return the turns without the notices of messengers, which are counted."""
    kinds = [(turn, ALL_SAID.kind({}, turn.speaker, turn.text)) for turn in turns]
    result.left_out.update(kind for _, kind in kinds if kind)
    return [turn for turn, kind in kinds if not kind]


def from_scripts(scripts: Iterator[Script], *, source: str, name: str, result: ImportResult) -> int:
    """Turn transcripts in plain text into dialogues.

    :param name: Id of the only dialogue; prefix of the ids of several dialogues without headings.
    :param result: Result that gets the dialogues.
    :returns: Number of lines that belong to no turn.
    """
    transcripts = list(scripts)
    seen: set[str] = set()
    for number, script in enumerate(transcripts, start=1):
        result.rows += 1
        turns = _said(script.spoken(), result)
        dialogue_id = script.name or (name if len(transcripts) == 1 else f"{name}-{number}")
        reason = script.problem or ("" if turns else "no line names a speaker, as in `Speaker: text`")
        if not reason and dialogue_id in seen:
            reason = "the id came before in this file"
        seen.add(dialogue_id)
        if reason:
            result.speakers.update(dict.fromkeys(turn.speaker for turn in turns))
            result.refuse(source, script.line, dialogue_id, reason)
            continue
        result.blank += len(script.turns) - len(script.spoken())
        result.accept(source, script.line, dialogue_id, turns, ())
    return sum(script.unused for script in transcripts)
