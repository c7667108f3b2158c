"""Summary of an import for people: columns, counts, faults and three dialogues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from conversations.by_recipe.known import known_recipes
from conversations.dialogue import Dialogue, Quarantined
from conversations.one_file import DROPPED
from conversations.options import KINDS, QUOTED
from conversations.reading import Export
from conversations.redaction import Redactor
from conversations.result import NAMELESS, Description, ImportResult, Tally
from conversations.words import printable

SHOWN_FORMATS = 5
SHOWN_NAMES = 6
SHOWN_COLUMNS = 40
SHOWN_REASONS = 8
SHOWN_TURNS = 4
WIDTH = 100


def import_summary(export: Export, redactor: Redactor | None) -> str:
    """Return the summary that is shown before anything is written."""
    tally = export.tally or Tally.of(export.result.dialogues)
    lines = [*_formats(export), "", *_counts(export, tally)]
    if export.result.quarantine:
        lines += ["", *_reasons(export.result.quarantine)]
    lines += ["", *_preview(tally.first)] if tally.first else []
    lines += ["", *redactor.report(export.result.dialogues)] if redactor else []
    return "\n".join(lines)


def usable_dialogues(result: ImportResult, usable: int | None = None) -> str:
    """Return how many dialogues of an import can be used; `usable` if they are not in the result."""
    return f"{len(result.dialogues) if usable is None else usable} can be used, {len(result.quarantine)} quarantined"


def _formats(export: Export) -> Iterator[str]:
    alike: dict[Description, list[Path]] = {}
    for path, description in export.descriptions.items():
        alike.setdefault(description, []).append(path)
    for description, paths in list(alike.items())[:SHOWN_FORMATS]:
        names = _some([_below(path, export.source) for path in paths], 3)
        parts = [
            description.format,
            description.encoding,
            description.delimiter and f"delimiter {description.delimiter}",
        ]
        how_many = f"{len(paths)} files ({names})" if len(paths) > 1 else names
        yield f"{how_many}: {', '.join(part for part in parts if part)}"
        if description.recipe:
            yield f"  read by the recipe {description.recipe}{_title(description.recipe)}"
        yield from _columns(description)
    if len(alike) > SHOWN_FORMATS:
        yield f"and files read in {len(alike) - SHOWN_FORMATS} more ways"
    if export.skipped:
        skipped = [_below(path, export.source) for path in export.skipped]
        yield f"skipped for their names: {_some(skipped, SHOWN_NAMES)}"


def _title(name: str) -> str:
    recipe = known_recipes().get(name)
    return f" ({recipe.title})" if recipe else ""


def _below(path: Path, source: Path) -> str:
    return str(path.relative_to(source)) if source in path.parents else path.name


def _columns(description: Description) -> Iterator[str]:
    if description.columns:
        meanings = {printable(name, 40): meaning for name, meaning in description.columns.meanings.items()}
        width = max(map(len, meanings))
        yield from (f"  {name:<{width}}  is the {meaning}" for name, meaning in list(meanings.items())[:SHOWN_COLUMNS])
        if len(meanings) > SHOWN_COLUMNS:
            yield f"  and {len(meanings) - SHOWN_COLUMNS} more columns"
        if description.columns.turns and not description.columns.text:
            yield "  its turns are written as `Speaker: text` lines"
        if not description.columns.labels:
            yield "  no label"
    if description.unused:
        yield f"  not used: {_some(list(dict.fromkeys(description.unused)), 12, width=80)}"
    yield from (f"  note: {printable(note, 300)}" for note in description.notes)


def _some(names: list[str], most: int, *, width: int = 40) -> str:
    shown = ", ".join(printable(name, width) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def _counts(export: Export, tally: Tally) -> Iterator[str]:
    result, turns, labels = export.result, tally.turns, tally.labels
    blank = f" (blank ones left out: {result.blank})" if result.blank else ""
    yield f"read         {result.rows} rows or records"
    yield f"dialogues    {usable_dialogues(result, tally.usable)}"
    yield f"turns        {turns.total()}{blank}"
    if result.repeated:
        yield f"repeated     {result.repeated} rows or turns that are equal to earlier ones, left out"
    if result.left_out:
        yield from _left_out(result.left_out)
    yield from (f"note: {note}" for note in result.notes)
    if result.unread:
        example = printable(next(iter(result.unread)), 40)
        yield f"note: {result.unread.total()} times, such as {example!r}, cannot be read; such turns keep their order"
    if result.varying:
        yield f"note: not kept, as they differ between turns of a dialogue: {_some([*result.varying], SHOWN_COLUMNS)}"
    if tally.usable and turns.total() == tally.usable:
        columns = any(description.columns for description in export.descriptions.values())
        remedy = "; if that is not so, name another column with --id or --turns" if columns else ""
        yield f"note: every dialogue has one turn{remedy}"
    yield f"speakers     {len(turns)}: {_most_common(turns)}"
    yield f"labels       {len(labels)}{': ' if labels else ''}{_most_common(labels)}"


def _left_out(kinds: Counter[str]) -> Iterator[str]:
    chosen, quoted = kinds[DROPPED], kinds[QUOTED]
    if others := Counter({kind: times for kind, times in kinds.items() if kind not in (DROPPED, QUOTED)}):
        shown = ", ".join(f"{kind} ({times})" for kind, times in others.most_common())
        ways = ["--keep KIND takes a kind in"] if not others.keys().isdisjoint(KINDS) else []
        ways += ["--speaker-of-blank NAME takes in those without a speaker"] if NAMELESS in others else []
        yield f"left out     {'; '.join([f'{others.total()} turns, by kind: {shown}', *ways])}"
    if quoted:
        yield f"cut off      mails that {quoted} turns quote below their own words; --keep {QUOTED} leaves them"
    if chosen:
        yield f"not chosen   {chosen} rows or turns, by --where or --drop"


def _most_common(names: Counter[str]) -> str:
    shown = ", ".join(f"{printable(name, 40)} ({times})" for name, times in names.most_common(SHOWN_NAMES))
    return f"{shown}, ..." if len(names) > SHOWN_NAMES else shown


def _reasons(quarantine: list[Quarantined]) -> Iterator[str]:
    first: dict[str, Quarantined] = {}
    for record in quarantine:
        first.setdefault(record.reason, record)
    yield "quarantined, by reason:"
    for reason, times in Counter(record.reason for record in quarantine).most_common(SHOWN_REASONS):
        where = first[reason].origin
        yield f"  {times:>6}  {printable(reason, 240)} (first: {Path(where.source).name}:{where.line})"
    if len(first) > SHOWN_REASONS:
        yield f"  and {len(first) - SHOWN_REASONS} more reasons"


def _preview(dialogues: list[Dialogue]) -> Iterator[str]:
    for dialogue in dialogues:
        labels = f"  [{printable(', '.join(dialogue.labels), WIDTH)}]" if dialogue.labels else ""
        yield f"{printable(dialogue.dialogue_id, WIDTH)}{labels}"
        for turn in dialogue.turns[:SHOWN_TURNS]:
            yield f"  {printable(f'{turn.speaker}: {turn.text}', WIDTH)}"
        if len(dialogue.turns) > SHOWN_TURNS:
            yield f"  ... {len(dialogue.turns) - SHOWN_TURNS} more turns"
