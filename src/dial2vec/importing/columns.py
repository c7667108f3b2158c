"""Which column means what: by its name first, by what it holds where no name is known."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from dial2vec.errors import CorpusError, did_you_mean
from dial2vec.importing.cells import as_labels, as_name, as_text, as_turn_list
from dial2vec.importing.options import Options
from dial2vec.importing.plain_text import is_script

DIALOGUE_WORDS = ["dialogue", "dialog", "conversation", "conv", "call", "chat", "session", "thread", "ticket", "case"]
# The better name first. A name also counts with words before it, "msg_text", unless it is one of `BARE`.
NAMES: dict[str, tuple[str, ...]] = {
    "id": (
        *(f"{what}{end}" for end in ("_id", "_ts", "_number", "_no", "_ref", "_key", "") for what in DIALOGUE_WORDS),
        *("interaction_id", "contact_id", "meeting_id", "transcript_id", "interaction", "meeting"),
    ),
    "own id": ("id", "uuid", "guid", "key", "record_id"),
    "order": (
        *("turn_index", "turn_number", "turn_no", "turn_order", "turn_idx", "turn_id", "turn", "utterance_index"),
        *("utterance_id", "message_index", "message_number", "sequence_number", "sequence", "seq"),
    ),
    "time": (
        *("timestamp", "created_at", "sent_at", "datetime", "date_time", "ts", "time", "start_time", "start"),
        *("started_at", "created", "begin", "offset", "date", "message_time", "sent_time", "event_time"),
    ),
    "text": (
        *("text", "utterance", "message", "body", "content", "msg", "comment", "reply", "sentence", "transcript"),
        *("value", "line", "description"),
    ),
    "speaker": (
        *("speaker", "speaker_name", "participant", "author", "author_name", "sender", "sender_name", "from"),
        *("from_name", "role", "user", "username", "user_name", "speaker_id", "name", "author_id", "user_id"),
        *("sender_id", "sender_type", "author_type", "who", "party", "side"),
    ),
    "label": (
        *("label", "labels", "domain", "topic", "category", "queue", "intent", "tag", "tags", "topics", "categories"),
        *("department", "reason", "queue_name", "topic_name", "category_name", "intent_name"),
    ),
    "turns": (
        *("turns", "messages", "utterances", "transcript", "conversation", "conversations", "dialogue", "dialog"),
        *("comments", "conversation_parts", "history", "chat", "log", "entries", "thread", "lines", "segments"),
        *("replies", "events"),
    ),
}
# Words that end the names of other things too: "call" in "previous_call", "time" in "response_time".
BARE = {
    *(
        *DIALOGUE_WORDS,
        "meeting",
        "interaction",
        "ts",
        "time",
        "start",
        "created",
        "begin",
        "offset",
        "date",
        "value",
        "line",
        "description",
    ),
    *("user", "name", "who", "party", "side", "reason", "user_id", "user_name"),
}
SEVERAL = re.compile(r"(labels|tags|topics|categories|domains|intents)$")
# So many speakers are few in any sample.
FEW = 5
Values = Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Columns:
    """What the columns of an export mean.

    :param dialogue_id: None when there is none: a file of turns is one dialogue, records are numbered.
    :param other_id: taken where the id is blank: a Slack message outside any thread has a `ts` only.
    :param speaker: of the rows, or of the turns of a record; None for turns written as `Speaker: text` lines.
    :param text: likewise.
    :param time: column that puts turns in order, likewise.
    :param labels: of the rows, or of the record.
    :param turns: column with a whole dialogue per record; None for one row per turn.
    :param notes: sentences for the summary.
    """

    dialogue_id: str | None = None
    other_id: str | None = None
    speaker: str | None = None
    text: str | None = None
    time: str | None = None
    labels: tuple[str, ...] = ()
    turns: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def meanings(self) -> dict[str, str]:
        """Meaning of each used column by its name; those inside a record's turns are written `turns.name`."""
        inside = f"{self.turns}." if self.turns else ""
        pairs = [(self.dialogue_id, "dialogue id"), (self.turns, "turns"), (self.other_id, "dialogue id, else")]
        pairs += [(name and inside + name, what) for name, what in self._of_turns()]
        return {name: what for name, what in pairs if name} | dict.fromkeys(self.labels, "label")

    def _of_turns(self) -> list[tuple[str | None, str]]:
        return [(self.speaker, "speaker"), (self.text, "text"), (self.time, "order of turns")]

    def labels_of(self, values: dict[str, Any]) -> list[str]:
        """Return the labels in a row or record."""
        return [
            label
            for name in self.labels
            for label in as_labels(values.get(name), several=bool(SEVERAL.search(plain(name))))
        ]


@lru_cache(maxsize=4096)
def plain(name: str) -> str:
    """Return a column's name in small letters, its words joined by `_`: `conversationId` is `conversation_id`."""
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return re.sub(r"[\W_]+", "_", words).strip("_").lower()


def known_names(names: Sequence[str]) -> int:
    """Return how many of the names a person could have meant as one of ours."""
    known = {name for group in NAMES.values() for name in group}
    return sum(plain(name) in known for name in names)


def by_name(meaning: str, names: Sequence[str], fits: Callable[[str], bool] = lambda name: True) -> str | None:
    """Return the column whose name says `meaning` best, among those that `fits` accepts.

    A whole name goes before one with words before it.
    """
    found = {name: plain(name) for name in names}
    whole = [name for wanted in NAMES[meaning] for name in names if found[name] == wanted]
    ended = [wanted for wanted in NAMES[meaning] if wanted not in BARE and meaning not in ("own id", "order")]
    longer = [name for wanted in ended for name in names if found[name].endswith(f"_{wanted}")]
    return next((name for name in whole + longer if fits(name)), None)


def find_columns(sample: Values, options: Options, path: Path) -> Columns:
    """Tell what the columns mean.

    :param sample: the first records.
    :param options: columns that were named; they go before any guess.
    :param path: for errors.
    :raises CorpusError: when a named column is not there, or speaker or text cannot be told.
    """
    names = _names(sample)
    turns = options.turns or _turns_column(sample, names, options)
    if turns:
        _require({"turns": (turns,)}, names, path)
        return _of_records(sample, names, turns, options, path)
    _require(options.named, names, path)
    return _of_rows(sample, names, options, path)


def _names(sample: Values) -> list[str]:
    """Return the names of the columns, those in most records first: a name that is damaged in one is not taken."""
    return [name for name, _ in Counter(name for values in sample for name in values).most_common()]


def _require(named: dict[str, tuple[str, ...]], names: Sequence[str], path: Path) -> None:
    for meaning, wanted in named.items():
        for name in wanted:
            if name not in names:
                raise CorpusError(
                    f"{path} has no column {name!r} (--{meaning}).{did_you_mean(name, names)} "
                    f"It has {_listed(names)}. Correct --{meaning}, or leave it out."
                )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:40]) for name in names[:12])
    return f"{shown} and {len(names) - 12} more" if len(names) > 12 else shown or "no columns"


def _turns_column(sample: Values, names: Sequence[str], options: Options) -> str | None:
    """Return the column that holds whole dialogues, if one does."""

    def mostly(name: str, holds: Callable[[Any], bool]) -> bool:
        filled = [values[name] for values in sample[:100] if values.get(name)]
        return bool(filled) and sum(map(holds, filled)) > len(filled) / 2

    def is_list(value: Any) -> bool:
        found = as_turn_list(value)
        return bool(found) and any(by_name("text", list(turn)) for turn in found or ())

    found = by_name("turns", names, lambda name: mostly(name, is_list))
    found = found or next((name for name in names if mostly(name, is_list)), None)
    if found or options.speaker or (by_name("speaker", names) and by_name("text", names)):
        return found
    scripts = [name for name in names if name == options.text or options.text is None]
    return next((name for name in scripts if mostly(name, lambda value: is_script(as_text(value)))), None)


def _of_records(sample: Values, names: list[str], turns: str, options: Options, path: Path) -> Columns:
    lists = [found for values in sample if (found := as_turn_list(values.get(turns)))]
    turn_values = [turn for found in lists for turn in found]
    inside = _names(turn_values)
    outside = [name for name in names if name != turns]
    of_turns = {meaning: name for meaning, name in options.named.items() if meaning in ("speaker", "text", "time")}
    _require(of_turns if lists else {}, inside, path)
    _require({k: v for k, v in options.named.items() if k in ("id", "label")}, outside, path)
    columns = Columns(
        dialogue_id=options.dialogue_id or by_name("id", outside) or by_name("own id", outside),
        labels=options.labels or _one(by_name("label", outside)),
        turns=turns,
    )
    if not lists:
        return columns
    text = options.text or by_name("text", inside)
    speaker = options.speaker or by_name("speaker", inside, lambda name: name != text)
    if not text or not speaker:
        raise _not_told("text" if not text else "speaker", inside, path, f"the turns in column {turns!r}")
    rest = [name for name in inside if name not in (text, speaker)]
    return replace(columns, text=text, speaker=speaker, time=options.time or _time(turn_values, rest))


def _of_rows(sample: Values, names: list[str], options: Options, path: Path) -> Columns:
    left = [name for name in names if name not in {used for group in options.named.values() for used in group}]

    def take(found: str | None) -> str | None:
        if found in left:
            left.remove(found)
        return found

    dialogue_id = options.dialogue_id or take(by_name("id", left, lambda name: _filled(sample, name)))
    time = options.time or take(_time(sample, left))
    text = options.text or take(_fullest("text", sample, left))
    speaker = options.speaker or take(_fullest("speaker", sample, left))
    if not dialogue_id:
        dialogue_id = take(by_name("own id", left, lambda name: _repeats(sample, name)))
    if not (dialogue_id or time or text or speaker):
        raise _no_header(names, path)
    labels = options.labels or _one(take(by_name("label", left, lambda name: _filled(sample, name))))
    text = text or take(_longest(sample, left))
    dialogue_id = dialogue_id or take(_repeating(sample, left))
    speaker = speaker or take(_alternating(sample, left, dialogue_id))
    if not text or not speaker:
        raise _not_told("text" if not text else "speaker", names, path, "the rows")
    labels, notes = _steady(sample, labels, dialogue_id, options)
    if dialogue_id is None:
        notes += ("no column tells the dialogues apart: the whole file is one dialogue; if not so, name it with --id",)
    # Slack: a message outside any thread has only the time by which a thread would be named.
    other = by_name("time", names) if dialogue_id and plain(dialogue_id) == "thread_ts" else None
    return Columns(dialogue_id, other, speaker, text, time, labels, None, notes)


def _one(name: str | None) -> tuple[str, ...]:
    return (name,) if name else ()


def _cells(sample: Values, name: str) -> list[str]:
    return [text for values in sample if (text := as_name(values.get(name)) or as_text(values.get(name)).strip())]


def _filled(sample: Values, name: str) -> bool:
    return bool(_cells(sample, name))


def _mostly_filled(sample: Values, name: str) -> bool:
    return 2 * len(_cells(sample, name)) >= len(sample)


def _fullest(meaning: str, sample: Values, names: list[str]) -> str | None:
    """Return the column whose name says `meaning` best, one that most rows fill before one that few do."""
    found = by_name(meaning, names, lambda name: _mostly_filled(sample, name))
    return found or by_name(meaning, names, lambda name: _filled(sample, name))


def _repeats(sample: Values, name: str) -> bool:
    cells = _cells(sample, name)
    return len(set(cells)) < len(cells)


def _time(sample: Values, names: list[str]) -> str | None:
    def numbers(name: str) -> bool:
        cells = _cells(sample, name)
        return bool(cells) and all(cell.replace(".", "", 1).isdecimal() for cell in cells)

    # The number of a turn goes before its time, which may be cut to minutes.
    return by_name("order", names, numbers) or by_name("time", names, lambda name: _filled(sample, name))


def _longest(sample: Values, names: list[str]) -> str | None:
    """Return the column of the longest texts, if they have words at all."""
    filled = {name: _cells(sample, name) for name in names if _mostly_filled(sample, name)}
    lengths = {name: sum(map(len, cells)) / len(cells) for name, cells in filled.items() if cells}
    found = max(lengths, key=lambda name: lengths[name], default=None)
    return found if found and any(" " in cell for cell in _cells(sample, found)) else None


def _repeating(sample: Values, names: list[str]) -> str | None:
    """Return the column with the most different values, each of them twice or more on average."""
    filled = {name: _cells(sample, name) for name in names if _mostly_filled(sample, name)}
    counts = {name: (len(set(cells)), len(cells)) for name, cells in filled.items()}
    found = {name: different for name, (different, total) in counts.items() if 1 < different <= total / 2}
    # A column of as few values as there are speakers is the speakers'.
    return max((name for name in found if found[name] > 2), key=lambda name: found[name], default=None)


def _alternating(sample: Values, names: list[str], dialogue_id: str | None) -> str | None:
    """Return the column of the fewest values that still changes inside dialogues."""
    found = {}
    for name in names:
        cells = [(as_name(v.get(dialogue_id)) if dialogue_id else "", as_name(v.get(name))) for v in sample]
        pairs = {(first, second) for first, second in cells if second}
        dialogues, values = {first for first, _ in pairs}, {second for _, second in pairs}
        changes = len(pairs) > len(dialogues) and 1 < len(values) <= max(FEW, len(sample) / 2)
        if changes and _mostly_filled(sample, name):
            found[name] = len(values)
    return min(found, key=lambda name: found[name], default=None)


def _steady(
    sample: Values, labels: tuple[str, ...], dialogue_id: str | None, options: Options
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Drop a guessed label that changes inside dialogues: it is one of the turn, not of the dialogue."""
    if not labels or options.labels:
        return labels, ()
    seen: dict[str, set[str]] = {}
    for values in sample:
        cell = as_name(values.get(labels[0]))
        if cell:
            seen.setdefault(as_name(values.get(dialogue_id)) if dialogue_id else "", set()).add(cell)
    if sum(len(found) > 1 for found in seen.values()) <= len(seen) / 5:
        return labels, ()
    return (), (f"{labels[0]!r} changes inside dialogues, so it is not taken as a label; --label {labels[0]} takes it",)


def _not_told(meaning: str, names: Sequence[str], path: Path, where: str) -> CorpusError:
    return CorpusError(
        f"{path}: which column of {where} holds the {meaning} cannot be told; there are {_listed(names)}. "
        f"Name it with --{meaning} COLUMN."
    )


def _no_header(names: Sequence[str], path: Path) -> CorpusError:
    return CorpusError(
        f"{path}:1: none of its {len(names)} columns has a name that is known; expected names such as "
        "conversation_id, speaker, text. Name them with --id, --speaker and --text, or, if the first row names no "
        "columns, use --no-header and their numbers."
    )
