"""`Dialogue` and `Turn`: the only in-memory form of a conversation, and its reader and writer."""

from __future__ import annotations

import gzip
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain, groupby, islice
from pathlib import Path
from typing import IO, Any, NamedTuple

from conversations.errors import CorpusError, described, described_keys
from conversations.files import atomic_path, numbered_lines, write_json_lines

# Limits of metadata: keys per dialogue, characters of a key and of a text; longer texts are cut.
MAX_KEYS, MAX_KEY, MAX_VALUE = 100, 100, 2000
Value = str | float | bool


class Origin(NamedTuple):
    """Source of a record.

    :param source: File, or file and archive member.
    :param line: Line or record number from 1; 0 means the whole file.
    """

    source: str
    line: int

    def below(self, root: Path) -> Origin:
        """Return the origin with its source relative to a folder, so that it is the same in every checkout."""
        return Origin(self.source.removeprefix(f"{root}/"), self.line)

    def __str__(self) -> str:
        return f"{self.source}:{self.line}" if self.line else self.source


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance.

    :param speaker: Non-empty name of the speaker. The encoder sees only whether two turns have the same speaker.
    :param text: Text, never blank.
    """

    speaker: str
    text: str


class Metadata(Mapping[str, Value]):
    """Immutable facts by key; unlike `MappingProxyType` hashable and picklable, and equal keys share their memory."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = {sys.intern(key): value for key, value in values.items()}

    def __getitem__(self, key: str) -> Value:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return repr(self._values)


NO_METADATA = Metadata({})


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A whole conversation.

    :param dialogue_id: Id, unique within a corpus.
    :param turns: Turns in order, at least 1.
    :param labels: Sorted domain labels; may be empty, or several if the dialogue spans domains.
    :param split: Official split ("train", "dev" or "test"), or None.
    :param origin: Source of the record, or None; ignored when dialogues are compared.
    :param date: Start in ISO 8601 ("2026-03-04" or "2026-03-04T10:15:00+01:00"), or None.
    :param metadata: Further columns of the export, such as channel or duration; stored as `Metadata`.
    """

    dialogue_id: str
    turns: tuple[Turn, ...]
    labels: tuple[str, ...] = ()
    split: str | None = None
    origin: Origin | None = field(default=None, compare=False, repr=False)
    date: str | None = None
    metadata: Mapping[str, Value] = NO_METADATA

    def __post_init__(self) -> None:
        if type(self.metadata) is not Metadata:
            object.__setattr__(self, "metadata", Metadata(self.metadata))

    @classmethod
    def from_messages(cls, messages: Iterable[Any], *, dialogue_id: str = "0") -> Dialogue:
        """Return the conversation of chat messages, each a dict with "role" and "content".

        Messages without text, such as calls of tools, are left out; of a list of parts, the texts are read.

        :raises CorpusError: if a message is no such dict, or no message has text.
        """
        turns = []
        for number, message in enumerate(messages, start=1):
            content = message.get("content") if isinstance(message, dict) else None
            parts = [
                part.get("text") if isinstance(part, dict) else part
                for part in (content if isinstance(content, list) else [content])
            ]
            texts = [part for part in parts if part is not None]
            if not isinstance(message, dict) or "role" not in message or not all(isinstance(t, str) for t in texts):
                kind = f"is {described(message)}" if isinstance(message, dict) else f"is a {type(message).__name__}"
                if isinstance(message, dict) and "role" in message:
                    kind = f"has as content {described(content)}"
                raise CorpusError(
                    f"message {number} of conversation {dialogue_id!r} {kind}; expected a dict with the keys role "
                    "and content, both texts. Mend the message or leave it out."
                )
            turns.append({"speaker": message["role"], "text": "\n".join(texts)})
        try:
            return dialogue_from_record({"dialogue_id": dialogue_id, "turns": turns})
        except RecordError as error:
            raise CorpusError(f"conversation {dialogue_id!r} cannot be used: {error}. Leave it out.") from error

    @property
    def roles(self) -> tuple[int, ...]:
        """Role of each turn: speakers numbered 0, 1, 2, ... in the order of their first turns.

        The encoder never sees speakers' names, so renaming speakers changes no vector.
        """
        seen: dict[str, int] = {}
        return tuple(seen.setdefault(turn.speaker, len(seen)) for turn in self.turns)

    @property
    def n_speakers(self) -> int:
        """Number of different speakers, at least 1."""
        return len({turn.speaker for turn in self.turns})

    @property
    def text(self) -> str:
        """The texts of all turns, joined by blanks, for libraries that read one text."""
        return " ".join(turn.text for turn in self.turns)

    @property
    def label(self) -> str | None:
        """The label if the dialogue has exactly one, else None."""
        return self.labels[0] if len(self.labels) == 1 else None

    @property
    def moment(self) -> datetime | None:
        """The start in UTC, or None; a date without a time zone counts as UTC."""
        return None if self.date is None else moment_of(self.date)

    def side(self, number: int) -> Dialogue:
        """Return the dialogue with the turns of one side: 0 is the first speaker, 1 all other speakers."""
        turns = tuple(turn for turn, role in zip(self.turns, self.roles, strict=True) if min(role, 1) == number)
        return replace(self, turns=turns)

    def merged(self) -> Dialogue:
        """Return the dialogue with consecutive turns of one speaker joined, their texts separated by a blank."""
        runs = [(speaker, [turn.text for turn in turns]) for speaker, turns in groupby(self.turns, lambda t: t.speaker)]
        return replace(self, turns=tuple(Turn(speaker, " ".join(texts)) for speaker, texts in runs))

    def to_record(self) -> dict[str, Any]:
        """Return the JSON form: `{"dialogue_id", "turns": [{"speaker", "text"}], "labels", ...}`."""
        record: dict[str, Any] = {
            "dialogue_id": self.dialogue_id,
            "turns": [{"speaker": turn.speaker, "text": turn.text} for turn in self.turns],
            "labels": list(self.labels),
        }
        record |= {"split": self.split} if self.split else {}
        record |= {"date": self.date} if self.date else {}
        return record | {"metadata": dict(self.metadata)} if self.metadata else record


class RecordError(ValueError):
    """Error for a record that is not a dialogue; its message completes "line 3: ..."."""


def dialogue_from_record(record: object, *, origin: Origin | None = None) -> Dialogue:
    """Convert a decoded JSON object into a `Dialogue`: strip texts, drop blank turns, sort labels.

    :param origin: Source of the object.
    :raises RecordError: if the object is not a dialogue.
    """
    if not isinstance(record, dict):
        raise RecordError(f"expected an object with 'dialogue_id' and 'turns', found {described(record)}")
    for key in ("dialogue_id", "turns"):
        if key not in record:
            raise RecordError(f"the key '{key}' is missing; found {described_keys(record)}")
    dialogue_id, turns, labels = _id(record["dialogue_id"]), record["turns"], record.get("labels") or []
    if not isinstance(turns, list):
        raise RecordError(f"'turns' must be a list, found {described(turns)}")
    if not isinstance(labels, list) or not all(isinstance(label, str) and _is_unicode(label) for label in labels):
        raise RecordError(f"'labels' must be a list of strings, found {described(labels)}")
    kept = tuple(turn for turn in map(_turn, turns, range(1, len(turns) + 1)) if turn.text)
    if not kept:
        raise RecordError("it has no turns" if not turns else "every turn is blank")
    split = record.get("split")
    if split not in (None, "train", "dev", "test"):
        raise RecordError(f"'split' must be train, dev or test, found {split!r}")
    labels = tuple(sorted({label for label in labels if label.strip()}))
    metadata = _metadata(record["metadata"]) if "metadata" in record else NO_METADATA
    return Dialogue(dialogue_id, kept, labels, split, origin, _date(record.get("date")), metadata)


def _metadata(values: object) -> Metadata:
    """Return metadata without null, NaN and blank texts; long texts are cut."""
    if not isinstance(values, dict | None):
        raise RecordError(f"'metadata' must be an object, found {described(values)}")
    kept = {key: usable for key, value in (values or {}).items() if (usable := _value(key, value)) is not None}
    if len(kept) > MAX_KEYS:
        raise RecordError(f"'metadata' must have at most {MAX_KEYS} keys, found {len(kept)}")
    return Metadata(kept) if kept else NO_METADATA


def _value(key: str, value: object) -> Value | None:
    if not key.strip() or len(key) > MAX_KEY or not _is_unicode(key):
        raise RecordError(f"a key of 'metadata' must have 1 to {MAX_KEY} characters, found {key[:40]!a}")
    if isinstance(value, str) and _is_unicode(value):
        return value.strip()[:MAX_VALUE].strip() or None
    if value is None or value != value:
        return None
    if (isinstance(value, int) and -(2**63) <= value < 2**63) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise RecordError(f"metadata {key!r} must be a text, a number of 64 bits, true or false, found {described(value)}")


def _date(value: object) -> str | None:
    """Return an ISO date, else None, because many exports use the key `date` for something else."""
    return value if isinstance(value, str) and moment_of(value) else None


def moment_of(date: str) -> datetime | None:
    """Return an ISO date or time in UTC, also the assumed zone if it has none; None if it is not ISO."""
    try:
        moment = datetime.fromisoformat(date)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _id(value: object) -> str:
    # Exports with numbered dialogues are common.
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip() or not _is_unicode(value):
        raise RecordError(f"'dialogue_id' must be a non-empty string, found {described(value)}")
    return value


def _turn(turn: object, number: int) -> Turn:
    if not isinstance(turn, dict) or "speaker" not in turn or "text" not in turn:
        raise RecordError(f"turn {number} must be an object with 'speaker' and 'text', found {described(turn)}")
    speaker, text = turn["speaker"], turn["text"]
    # Two ASCII texts, as most turns have, need no further check; this halves the time of a turn.
    if not (isinstance(speaker, str) and isinstance(text, str) and speaker.isascii() and text.isascii()):
        # Exports with numbered speakers are common.
        speaker = str(speaker) if isinstance(speaker, int) and not isinstance(speaker, bool) else speaker
        for key, value in (("speaker", speaker), ("text", text)):
            if not isinstance(value, str):
                raise RecordError(f"turn {number}: '{key}' must be a string, found {described(value)}")
            if not _is_unicode(value):
                raise RecordError(f"turn {number}: '{key}' holds half of a character (an emoji that was cut in two)")
    name = speaker.strip()
    if not name:
        raise RecordError(f"turn {number}: 'speaker' is blank")
    return Turn(name, text.strip())


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A record that is not used.

    :param origin: Source of the record.
    :param dialogue_id: Id if the record has a readable one, else "".
    :param reason: Clause that says why the record is not used.
    """

    origin: Origin
    dialogue_id: str
    reason: str

    def __str__(self) -> str:
        return f"{self.origin}: {f'dialogue {self.dialogue_id!r}: ' if self.dialogue_id else ''}{self.reason}"


def read_dialogues(
    path: Path, *, quarantine: list[Quarantined] | None = None, may_be_empty: bool = False
) -> Iterator[Dialogue]:
    """Stream dialogues from a JSON Lines file (`.jsonl` or `.jsonl.gz`), one object per line.

    Blank lines and a byte order mark are ignored.

    :param quarantine: List that receives invalid lines and repeated ids, which are skipped; None raises instead.
    :param may_be_empty: True if an empty file is no error.
    :raises CorpusError: if the file is missing, unreadable or empty, or at an invalid line without `quarantine`.
    """
    lines = numbered_lines(path)
    if not (first := list(islice(lines, 1))) and not may_be_empty:
        raise CorpusError(f"{path} is empty; expected JSON Lines, one dialogue per line. Export it again.")
    yield from dialogues_of_lines(chain(first, lines), path, quarantine=quarantine)


def dialogues_of_lines(
    lines: Iterable[tuple[int, str]], path: Path, *, quarantine: list[Quarantined] | None = None
) -> Iterator[Dialogue]:
    """Stream dialogues from numbered lines of a JSON Lines file, otherwise like `read_dialogues`.

    :param lines: Number (from 1) and text of each line, never blank.
    :param path: File of the lines.
    """
    known: set[str] = set()
    for number, line in lines:
        record: object = None
        try:
            record = _decode(line)
            dialogue = dialogue_from_record(record, origin=Origin(str(path), number))
            if dialogue.dialogue_id in known:
                raise RecordError(f"the id {dialogue.dialogue_id!r} came before in this file")
        except RecordError as error:
            if quarantine is None:
                raise CorpusError(
                    f"{path}:{number}: {error}. Expected one dialogue per line: "
                    '{"dialogue_id": "...", "turns": [{"speaker": "...", "text": "..."}]}. Mend or remove this line.'
                ) from error
            name = record.get("dialogue_id", "") if isinstance(record, dict) else ""
            name = str(name)[:200].encode("utf-8", "replace").decode()
            quarantine.append(Quarantined(Origin(str(path), number), name, str(error)))
            continue
        known.add(dialogue.dialogue_id)
        yield dialogue


def _decode(line: str) -> object:
    try:
        return json.loads(line.rstrip())
    except json.JSONDecodeError as error:
        hint = "; if one dialogue takes several lines, `dial2vec import` reads it" if line.strip() in ("{", "[") else ""
        raise RecordError(f"not valid JSON ({error.msg} at column {error.colno}){hint}") from error
    except (ValueError, RecursionError) as error:
        raise RecordError("not valid JSON (a number of thousands of digits, or nesting without end)") from error


def write_dialogues(path: Path, dialogues: Iterable[Dialogue]) -> int:
    """Write dialogues as JSON Lines, atomically, and return their number; `.gz` files are reproducible."""
    with dialogue_writer(path) as write:
        return sum(1 for _ in map(write, dialogues))


@contextmanager
def dialogue_writer(path: Path) -> Iterator[Callable[[Dialogue], object]]:
    """Yield a function that writes one dialogue; the file appears when the block ends without error."""
    with atomic_path(path) as temporary, temporary.open("wb") as raw, ExitStack() as stack:
        packed: IO[bytes] | gzip.GzipFile = raw
        if path.suffix == ".gz":
            packed = stack.enter_context(gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0))
        yield lambda dialogue: packed.write(line_of(dialogue))


def line_of(dialogue: Dialogue) -> bytes:
    """Return a dialogue as a line of a JSON Lines file."""
    return (json.dumps(dialogue.to_record(), ensure_ascii=False) + "\n").encode()


def write_quarantine(path: Path, records: Iterable[Quarantined]) -> int:
    """Write records as JSON Lines `{"source", "line", "dialogue_id", "reason"}`, atomically; return their number."""
    return write_json_lines(
        path,
        (record.origin._asdict() | {"dialogue_id": record.dialogue_id, "reason": record.reason} for record in records),
    )
