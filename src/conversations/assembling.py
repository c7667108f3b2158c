"""Dialogues from records that hold a whole one each, and from transcripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from conversations.by_recipe.recipe import Recipe
from conversations.by_recipe.recipe_records import keeps_order
from conversations.dialogue import Dialogue, Origin, Turn
from conversations.formats.encodings import is_damaged
from conversations.formats.plain_text import Script, script_of
from conversations.formats.records import Record
from conversations.guessing.names import plain
from conversations.guessing.plausibility import REMEDY
from conversations.guessing.speech import NotSpeech
from conversations.options import Options
from conversations.pauses import Row, accept_rows, turns_of
from conversations.result import AMBIGUOUS, DAMAGED, UNORDERED, ImportResult, all_left_out
from conversations.rows import oldest_first, row_of
from conversations.values.times import ClockReading, first_date, order, reading_of, unread
from conversations.vocabulary import word_set

SYSTEM = word_set("speech", "systems")
# Number of first dialogues by which the order of day and month is found.
SAMPLE = 2000


def from_records(
    records: Iterable[Record], recipe: Recipe, options: Options, *, source: str, result: ImportResult
) -> None:
    """Turn records that each hold a whole dialogue into dialogues.

    :param recipe: Recipe by which they were read.
    :param result: Result that gets the dialogues.
    """
    # The latest state of each dialogue, or of the conversations of a chat.
    states: dict[str, list[Dialogue]] = {}
    lines: dict[str, int] = {}
    records = iter(records)
    first = list(islice(records, SAMPLE))
    dates = [record.values.get("date") or "" for record in first]
    reading = reading_of([_times(record.values, recipe) for record in first], dates)
    if reading.day_first is None:
        result.notes[AMBIGUOUS] = None
    for record in chain(first, records):
        result.rows += 1
        dialogue_id, labels = record.values.get("id", ""), record.values.get("labels", ())
        left_out = Counter[str]()
        rows, fault, blank = _ordered(record.values, recipe, options, reading, left_out)
        result.left_out.update(left_out)
        reason = record.problem or ("" if dialogue_id else "the dialogue's id is blank") or fault
        if not reason and is_damaged("".join((dialogue_id, *labels))):
            reason = DAMAGED
        if not reason and (state := states.get(dialogue_id)):
            before = [turn for part in state for turn in part.turns]
            if _goes_on(before, turns_of(rows, options.join, reading)):
                result.repeated += len(before)
            else:
                reason = f"the id came before on line {lines[dialogue_id]}"
        if reason:
            result.speakers.update(dict.fromkeys(row.speaker for row in rows if row.speaker))
            result.refuse(source, record.line, dialogue_id if not record.problem or record.values else "", reason)
            continue
        result.blank += blank
        times = [*_times(record.values, recipe), record.values.get("date") or ""]
        result.unread.update(unread(times))
        date, metadata = first_date(times, reading), record.values.get("metadata")
        made, origin = len(result.dialogues), Origin(source, record.line)
        given: Any = {"origin": origin, "result": result, "labels": labels, "date": date, "metadata": metadata}
        accept_rows(dialogue_id, rows, options, reading, **given)
        if new := result.dialogues[made:]:
            states[dialogue_id], lines[dialogue_id] = new, record.line
        del result.dialogues[made:]
    result.dialogues += chain.from_iterable(states.values())


def _goes_on(before: Sequence[Turn], turns: Sequence[Turn]) -> bool:
    """Return whether a later state of a dialogue has more turns: programs save one again with each new turn."""
    return len(before) < len(turns) and list(before) == list(turns[: len(before)])


def _times(values: dict[str, Any], recipe: Recipe) -> list[str]:
    turns = values.get("turns")
    known = () if keeps_order(recipe) or not isinstance(turns, list) else turns
    return [turn["time"] for turn in known if "kind" not in turn]


def _ordered(
    values: dict[str, Any], recipe: Recipe, options: Options, reading: ClockReading, left_out: Counter[str]
) -> tuple[list[Row], str, int]:
    """Return the turns of a record in their order, the reason why they cannot be used, and the number of blank ones."""
    turn_list = values.get("turns")
    if not isinstance(turn_list, list):
        column = recipe.turns.text if recipe.turns else "turns"
        where = f"column {column!r}"
        if turn_list is None:
            return [], f"{where} holds no list of turns", 0
        script = script_of(turn_list)
        script.sort(reading_of([script.times]))
        turns = _said(script, left_out, options.keep)
        fault = script.problem or ("" if turns else f"{where} holds no `Speaker: text` line")
        return turns, fault, len(script.turns) - len(turns)
    in_order = keeps_order(recipe)
    rows, fault = _rows(turn_list, recipe, options, left_out)
    known = [turn["text"] for turn in turn_list]
    last = values.get("last", [])
    closing, damaged = _rows([t for t in last if t["text"] not in known[-len(last) :]], recipe, options, left_out)
    fault = fault or damaged
    filled = [row for row in (*oldest_first(rows, reading), *closing) if row.text]
    # A message outside the list, as in Intercom's `source`, may repeat the first or the last turn of the list.
    opening, damage = _rows(values.get("first", []), recipe, options, left_out)
    ends = [(row.speaker, row.text) for row in filled[:1] + filled[-1:]]
    new = [row for row in opening if row.text and (row.speaker, row.text) not in ends]
    filled = [row for row in new if row.time] + filled
    sequence = range(len(filled)) if in_order else order([row.time for row in filled], reading)
    if sequence is None:
        fault = fault or UNORDERED
    fault = fault or (damage and f"the first turn, outside the list: {damage.removeprefix('turn 1: ')}")
    # Rows are returned despite a fault: the names of their speakers may be in other dialogues.
    ordered = [row for row in new if not row.time] + [filled[at] for at in sequence or range(len(filled))]
    if not ordered:
        every = all_left_out(left_out) if left_out else "every turn is blank"
        fault = fault or (every if turn_list else "it has no turns")
    return ordered, fault, sum(not row.text for row in rows)


def _rows(
    turns: list[dict[str, Any]], recipe: Recipe, options: Options, left_out: Counter[str]
) -> tuple[list[Row], str]:
    """Return the turns of a list, and the fault of the first unusable one."""
    rows, fault = list[Row](), ""
    for number, turn in enumerate(turns, start=1):
        row = row_of(turn, number, recipe, options, left_out)
        if isinstance(row, str):
            continue
        if is_damaged(row.text + row.speaker):
            fault = fault or f"turn {number}: {DAMAGED}"
        rows.append(row)
    return rows, fault


def _said(script: Script, left_out: Counter[str], keep: Sequence[str]) -> list[Row]:
    """Return the turns without notices, which are counted: those of messengers, and of a system beside two people."""
    rows = [Row(script.line, turn.speaker, turn.text, time) for turn, time in script.timed()]
    programs = {row.speaker for row in rows if plain(row.speaker) in SYSTEM}
    several = len({row.speaker for row in rows} - programs) > 1
    speakers = tuple((name, "system") for name in sorted(programs)) if several else ()
    rules = NotSpeech(keep=tuple(keep), speakers=speakers)
    kinds = [(row, rules.kind({}, row.speaker, row.text)) for row in rows]
    left_out.update(kind for _, kind in kinds if kind)
    return [row for row, kind in kinds if not kind]


def from_scripts(scripts: Iterator[Script], options: Options, *, source: str, name: str, result: ImportResult) -> int:
    """Turn transcripts in plain text into dialogues.

    :param name: Id of the only dialogue; prefix of the ids of several dialogues without headings.
    :param result: Result that gets the dialogues.
    :returns: Number of lines that belong to no turn.
    """
    transcripts = list(scripts)
    reading = reading_of([script.times for script in transcripts])
    if reading.day_first is None:
        result.notes[AMBIGUOUS] = None
    seen: set[str] = set()
    for number, script in enumerate(transcripts, start=1):
        result.rows += 1
        script.sort(reading)
        rows = _said(script, result.left_out, options.keep)
        dialogue_id = script.name or (name if len(transcripts) == 1 else f"{name}-{number}")
        reason = script.problem or ("" if rows else f"no line names a speaker, as in `Speaker: text`; {REMEDY}")
        if not reason and dialogue_id in seen:
            reason = "the id came before in this file"
        seen.add(dialogue_id)
        if reason:
            result.speakers.update(dict.fromkeys(row.speaker for row in rows))
            result.refuse(source, script.line, dialogue_id, reason)
            continue
        result.blank += len(script.turns) - len(script.spoken())
        date = first_date(script.times, reading)
        origin = Origin(source, script.line)
        accept_rows(dialogue_id, rows, options, reading, origin=origin, result=result, date=date)
    return sum(script.unused for script in transcripts)
