"""Dialogues from rows: a table has a row per turn, in any order; an unusable dialogue is quarantined whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from conversations.by_recipe.recipe import Recipe
from conversations.by_recipe.recipe_records import keeps_order
from conversations.dialogue import Origin
from conversations.formats.encodings import is_damaged
from conversations.formats.markup import without_html, without_quoted
from conversations.formats.records import Record
from conversations.guessing.evidence import age
from conversations.guessing.names import is_index
from conversations.guessing.speech import kind_of_text
from conversations.joining import joined
from conversations.options import QUOTED, Options
from conversations.pauses import Row, accept_rows
from conversations.result import AMBIGUOUS, DAMAGED, NAMELESS, UNORDERED, ImportResult, all_left_out
from conversations.values.cells import without_placeholders
from conversations.values.times import ClockReading, first_date, has_date, order, reading_of, unread

VARIES = object()
NOTHING: dict[str, Any] = {}


@dataclass
class Group:
    """The rows of one dialogue.

    :param first: File and line of the first row.
    :param in_order: True if the rows keep their order, whatever their times are.
    :param spans: True if its id alone tells that rows of another file belong to it, "folders" if of another folder.
    :param mergeable: True if rows of another file may belong to the dialogue too: its id and times show which.
    :param fault: Origin of the first unusable row, and the reason.
    :param left_out: Kind of the last non-speech row; "" without one.
    :param metadata: Values of the dialogue by key; `VARIES` if its rows do not agree.
    :param versions: Newest version and its row by message, if messages come in several versions.
    """

    first: Origin
    options: Options
    in_order: bool
    mergeable: bool = False
    spans: bool | str = False
    rows: list[Row] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)
    fault: tuple[Origin, str] | None = None
    left_out: str = ""
    versions: dict[str, tuple[float, Row | None]] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)


Groups = dict[str, Group]


def group_rows(
    records: Iterable[Record], recipe: Recipe, options: Options, *, source: str, name: str, result: ImportResult
) -> Groups:
    """Group rows by dialogue; the rows of a dialogue may be anywhere in the file.

    :param records: Plain records of turns.
    :param recipe: Recipe by which they were read.
    :param name: Id of the only dialogue if no row has an id.
    :param result: Result that gets the rows without a dialogue.
    """
    groups: Groups = {}
    in_order, has_ids = keeps_order(recipe), bool(recipe.id or recipe.branch)
    # Turn numbers may start again in each file, times do not.
    counted = recipe.time and is_index(recipe.time.text.strip('"'))
    timed = has_ids and (recipe.time or recipe.parts) and not (in_order or counted)
    spans = recipe.spans or options.parts
    # Few names and labels repeat in many rows: each is kept in memory once.
    known: dict[str, str] = {}
    for record in records:
        result.rows += 1
        dialogue_id = record.values.get("id", "") if has_ids else name
        if not dialogue_id:
            result.refuse(source, record.line, "", record.problem or "the dialogue's id is blank")
            continue
        group = groups.get(dialogue_id)
        if group is None:
            group = Group(Origin(source, record.line), options, in_order, bool(spans or timed), spans)
            groups[dialogue_id] = group
        if not record.problem and (speaker := record.values["speaker"] or options.blank_speaker):
            result.speakers.setdefault(known.setdefault(speaker, speaker))
        place = _place_in(group, record, result) if "version" in record.values else len(group.rows)
        if group.fault or place is None:
            continue
        if reason := record.problem or _add(group, record, recipe, known, result, place):
            group.fault = (Origin(source, record.line), reason)
    return groups


def _place_in(group: Group, record: Record, result: ImportResult) -> int | None:
    """Return the place of a row in its dialogue, where an older version of the message stood; None for an older one.

    A message keeps the time at which it was said first.
    """
    values = record.values
    name, version = values["version"]
    if not name or name not in group.versions:
        return len(group.rows)
    before, older = group.versions[name]
    again = older is not None and older.text == values["text"].strip()
    result.repeated += again
    result.left_out.update([] if again else ["edited"])
    place = next((at for at, row in enumerate(group.rows) if row is older), len(group.rows))
    if (age(version) or 0.0) < before:
        if older:
            group.rows[place] = older._replace(time=values["time"])
            group.versions[name] = before, group.rows[place]
        return None
    if older:
        values["time"] = group.rows.pop(place).time
    return place


def _add(group: Group, record: Record, recipe: Recipe, known: dict[str, str], result: ImportResult, place: int) -> str:
    """Add a row to its dialogue, or return the reason why the row cannot be used."""
    values = record.values
    labels = values.get("labels", ())
    row, kept = row_of(values, record.line, recipe, group.options, result.left_out), None
    if isinstance(row, str):
        group.left_out = row
    elif is_damaged("".join((row.text, row.speaker, *labels))):
        return DAMAGED
    elif row.text or row.speaker or "version" not in values:
        kept = row._replace(speaker=known.setdefault(row.speaker, row.speaker))
        group.rows.insert(place, kept)
    if "version" in values:
        name, version = values["version"]
        group.versions[name] = age(version) or 0.0, kept
    for key, value in values.get("metadata", NOTHING).items():
        if group.metadata.setdefault(key, value) != value:
            group.metadata[key] = VARIES
    group.labels.update(known.setdefault(label, label) for label in labels)
    return ""


def row_of(turn: dict[str, Any], line: int, recipe: Recipe, options: Options, left_out: Counter[str]) -> Row | str:
    """Return a turn as a row, or the kind of one that is not speech or that names nobody, which is counted.

    :param line: Line or number of the turn.
    :param left_out: Counter of what is left out, by kind.
    """
    speaker = turn["speaker"] or options.blank_speaker or ""
    text = text_of(turn["text"], recipe.html and not recipe.lines, options.keep, left_out)
    kind = (turn.get("kind") or kind_of_text(text)) if text else ""
    kind = kind if kind and kind not in options.keep else "" if speaker or not text else NAMELESS
    if kind:
        left_out[kind] += 1
    return kind or Row(line, speaker, text, turn["time"], turn.get("part"))


def text_of(text: str, html: bool, keep: Collection[str], left_out: Counter[str]) -> str:
    """Return the text of a turn, without HTML if the texts are HTML, and without a mail that it quotes.

    :param keep: Kinds of non-speech that count as speech.
    :param left_out: Counter of what is left out, by kind.
    """
    text = without_placeholders(without_html(text) if html else text)
    if text.startswith("<think>") and "thought" not in keep:
        # A model's thought before its answer; a text that is cut within it has no answer.
        text = text.partition("</think>")[2].strip()
    if QUOTED not in keep:
        whole, text = text, without_quoted(text, marked=not html)
        if text != whole:
            left_out[QUOTED] += 1
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
        new = [row for row in group.rows if row.part or not row.time or row[1:] not in before]
        result.repeated += len(group.rows) - len(new)
        known.rows += new
        known.labels |= group.labels
        known.metadata |= {key: value for key, value in group.metadata.items() if key not in known.metadata}
        known.fault = known.fault or group.fault


def _is_one(known: Group, group: Group) -> bool:
    """Return whether two files hold parts of one dialogue: its id and its dates tell, or the user says so."""
    # Seconds since the start of a call begin again in each file.
    dated = all(any(map(has_date, times)) for part in (known, group) if (times := [row.time for row in part.rows]))
    return known.mergeable and group.mergeable and bool(known.spans or dated)


def from_rows(groups: Groups, result: ImportResult) -> ClockReading:
    """Turn grouped rows into dialogues, and return how their times were read.

    Each group is removed, so that nothing is in memory twice.
    """
    reading = reading_of([row.time for row in group.rows] for group in groups.values())
    if reading.day_first is None:
        result.notes[AMBIGUOUS] = None
    for dialogue_id in list(groups):
        _finish(dialogue_id, groups.pop(dialogue_id), reading, result)
    return reading


def _finish(dialogue_id: str, group: Group, reading: ClockReading, result: ImportResult) -> None:
    if group.fault:
        result.refuse(*group.fault[0], dialogue_id, group.fault[1])
        return
    filled = [row for row in group.rows if row.text]
    if not filled and group.left_out:
        result.refuse(*group.first, dialogue_id, all_left_out([group.left_out]))
        return
    result.blank += len(group.rows) - len(filled)
    parts, in_order = any(row.part for row in filled), group.in_order
    rows = joined(filled, reading) if parts else filled if in_order else oldest_first(filled, reading)
    result.repeated += len(filled) - len(rows)
    times = [row.time for row in rows]
    sequence = range(len(rows)) if in_order else order(times, reading)
    result.unread.update(unread(times))
    result.varying.update(key for key, value in group.metadata.items() if value is VARIES)
    if sequence is None and not parts:
        result.refuse(*group.first, dialogue_id, UNORDERED)
        return
    accept_rows(
        dialogue_id,
        [rows[at] for at in sequence or range(len(rows))],
        group.options,
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
