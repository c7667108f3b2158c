"""`Dialogue` and `Turn`: the one in-memory form of a conversation, and the one place where it is read and written."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import IO, Any, NamedTuple

from dial2vec.errors import CorpusError
from dial2vec.files import atomic_path

# Of an object that is no dialogue, in an error.
N_KEYS = 5


class Origin(NamedTuple):
    """Where a record was read.

    :param source: file, or file and archive member.
    :param line: line or record number, counted from 1; 0 when the whole file is meant.
    """

    source: str
    line: int

    def below(self, root: Path) -> Origin:
        """Return the origin with its source relative to a folder, if it is below it: alike in every checkout."""
        return Origin(self.source.removeprefix(f"{root}/"), self.line)

    def __str__(self) -> str:
        return f"{self.source}:{self.line}" if self.line else self.source


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance.

    :param speaker: who speaks, any non-empty name; only *whether two turns share it* matters to the encoder.
    :param text: what is said, never blank.
    """

    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A whole conversation, turns in the order in which they were said.

    :param dialogue_id: unique within a corpus.
    :param turns: at least one.
    :param labels: domain labels, sorted, possibly none; several mean a dialogue that spans domains.
    :param split: the official split ("train", "dev" or "test") where the corpus has one, else None.
    :param origin: where it was read, if anywhere; it makes no difference between two dialogues.
    :param date: when it began, ISO 8601 ("2026-03-04" or "2026-03-04T10:15:00+01:00"), where that is known.
    """

    dialogue_id: str
    turns: tuple[Turn, ...]
    labels: tuple[str, ...] = ()
    split: str | None = None
    origin: Origin | None = field(default=None, compare=False, repr=False)
    date: str | None = None

    @property
    def roles(self) -> tuple[int, ...]:
        """Role of each turn: speakers numbered 0, 1, 2, ... in the order in which they first speak.

        Roles by order make the encoder blind to speakers' names: renaming everybody changes no vector.
        """
        seen: dict[str, int] = {}
        return tuple(seen.setdefault(turn.speaker, len(seen)) for turn in self.turns)

    @property
    def n_speakers(self) -> int:
        """Number of different speakers, at least 1."""
        return len({turn.speaker for turn in self.turns})

    @property
    def text(self) -> str:
        """The texts of the turns, joined by blanks: what other libraries read in the place of a dialogue."""
        return " ".join(turn.text for turn in self.turns)

    @property
    def label(self) -> str | None:
        """The label of a single-domain dialogue; None for a dialogue with no label or with several."""
        return self.labels[0] if len(self.labels) == 1 else None

    @property
    def moment(self) -> datetime | None:
        """When it began, in UTC; a date without a zone is taken as UTC. None where it is not known."""
        return None if self.date is None else moment_of(self.date)

    def side(self, number: int) -> Dialogue:
        """Return the dialogue with the turns of one side only: 0 is the first speaker, 1 everybody else."""
        turns = tuple(turn for turn, role in zip(self.turns, self.roles, strict=True) if min(role, 1) == number)
        return replace(self, turns=turns)

    def merged(self) -> Dialogue:
        """Return the dialogue with consecutive turns of one speaker made one, their texts joined by a blank."""
        runs = [(speaker, [turn.text for turn in turns]) for speaker, turns in groupby(self.turns, lambda t: t.speaker)]
        return replace(self, turns=tuple(Turn(speaker, " ".join(texts)) for speaker, texts in runs))

    def to_record(self) -> dict[str, Any]:
        """Return the JSON form: `{"dialogue_id", "turns": [{"speaker", "text"}], "labels", "split", "date"}`."""
        record: dict[str, Any] = {
            "dialogue_id": self.dialogue_id,
            "turns": [{"speaker": turn.speaker, "text": turn.text} for turn in self.turns],
            "labels": list(self.labels),
        }
        record |= {"split": self.split} if self.split else {}
        return record | ({"date": self.date} if self.date else {})


class RecordError(ValueError):
    """One record is not a dialogue; the message completes the sentence "line 3: ..."."""


def dialogue_from_record(record: object, *, origin: Origin | None = None) -> Dialogue:
    """Turn one decoded JSON object into a `Dialogue`: texts stripped, blank turns dropped, labels sorted.

    :param origin: where the object was read.
    :raises RecordError: with what was found and what was expected, when the object is not a dialogue.
    """
    if not isinstance(record, dict):
        raise RecordError(f"expected an object with 'dialogue_id' and 'turns', found {_kind(record)}")
    for key in ("dialogue_id", "turns"):
        if key not in record:
            raise RecordError(f"the key '{key}' is missing; found {_keys(record)}")
    dialogue_id, turns, labels = _id(record["dialogue_id"]), record["turns"], record.get("labels") or []
    if not isinstance(turns, list):
        raise RecordError(f"'turns' must be a list, found {_kind(turns)}")
    if not isinstance(labels, list) or not all(isinstance(label, str) and _is_unicode(label) for label in labels):
        raise RecordError(f"'labels' must be a list of strings, found {_kind(labels)}")
    kept = tuple(turn for turn in map(_turn, turns, range(1, len(turns) + 1)) if turn.text)
    if not kept:
        raise RecordError("it has no turns" if not turns else "every turn is blank")
    split = record.get("split")
    if split not in (None, "train", "dev", "test"):
        raise RecordError(f"'split' must be train, dev or test, found {split!r}")
    labels = tuple(sorted({label for label in labels if label.strip()}))
    return Dialogue(dialogue_id, kept, labels, split, origin, _date(record.get("date")))


def _date(value: object) -> str | None:
    """Return an ISO date; others are left out, since many exports have such a key and mean all kinds of things."""
    return value if isinstance(value, str) and moment_of(value) else None


def moment_of(date: str) -> datetime | None:
    """Return an ISO date or time in UTC, as which it is taken where it has no zone; None when it is none."""
    try:
        moment = datetime.fromisoformat(date)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _id(value: object) -> str:
    # Numbered exports are common, and a number names a dialogue as well as a text does.
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip() or not _is_unicode(value):
        raise RecordError(f"'dialogue_id' must be a non-empty string, found {_kind(value)}")
    return value


def _turn(turn: object, number: int) -> Turn:
    if not isinstance(turn, dict) or not {"speaker", "text"} <= turn.keys():
        raise RecordError(f"turn {number} must be an object with 'speaker' and 'text', found {_kind(turn)}")
    # Numbered speakers are as common as numbered dialogues.
    numbered = isinstance(turn["speaker"], int) and not isinstance(turn["speaker"], bool)
    found = {"speaker": str(turn["speaker"]) if numbered else turn["speaker"], "text": turn["text"]}
    for key, value in found.items():
        if not isinstance(value, str):
            raise RecordError(f"turn {number}: '{key}' must be a string, found {_kind(value)}")
        if not _is_unicode(value):
            raise RecordError(f"turn {number}: '{key}' holds half of a character (an emoji that was cut in two)")
    if not found["speaker"].strip():
        raise RecordError(f"turn {number}: 'speaker' is blank")
    return Turn(found["speaker"].strip(), found["text"].strip())


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _kind(value: object) -> str:
    """Name a JSON value as a person would: `a number (3)`, `a list`, `null`."""
    if value is None:
        return "null"
    if isinstance(value, bool | int | float):
        return f"{'a boolean' if isinstance(value, bool) else 'a number'} ({json.dumps(value)})"
    if isinstance(value, str):
        return f"the string {value[:40]!r}"
    if isinstance(value, dict):
        return f"an object with {_keys(value)}"
    return "a list"


def _keys(value: dict[str, Any]) -> str:
    """Name the keys of an object, which may be as many as dialogues."""
    shown = ", ".join(repr(key[:40]) for key in list(value)[:N_KEYS])
    return f"{shown} and {len(value) - N_KEYS} more" if len(value) > N_KEYS else shown or "no keys"


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A record that is not used, written down so that nothing is lost.

    :param origin: where it was read.
    :param dialogue_id: id where one could be read, else an empty string.
    :param reason: why, as a clause.
    """

    origin: Origin
    dialogue_id: str
    reason: str

    def __str__(self) -> str:
        return f"{self.origin}: {f'dialogue {self.dialogue_id!r}: ' if self.dialogue_id else ''}{self.reason}"


def read_dialogues(
    path: Path, *, quarantine: list[Quarantined] | None = None, may_be_empty: bool = False
) -> Iterator[Dialogue]:
    """Stream dialogues from a JSON Lines file (`.jsonl`, or `.jsonl.gz`), one object per line.

    Lines that are no dialogue, and ids that came before, are appended to `quarantine` and skipped;
    without that list the first one raises. Blank lines are ignored. A byte order mark is accepted. An empty file
    is an error unless it may be empty, as a split may.

    :raises CorpusError: when the file is missing, unreadable, empty, or (without `quarantine`) at a bad line.
    """
    lines = 0

    def counted() -> Iterator[tuple[int, str]]:
        nonlocal lines
        for numbered in _numbered_lines(path):
            lines += 1
            yield numbered

    yield from dialogues_of_lines(counted(), path, quarantine=quarantine)
    if not lines and not may_be_empty:
        raise CorpusError(f"{path} is empty; expected JSON Lines, one dialogue per line. Export it again.")


def dialogues_of_lines(
    lines: Iterable[tuple[int, str]], path: Path, *, quarantine: list[Quarantined] | None = None
) -> Iterator[Dialogue]:
    """Stream dialogues from numbered lines of a JSON Lines file; otherwise like `read_dialogues`.

    :param lines: number, from 1, and text of each; none is blank.
    :param path: where they are from.
    """
    seen: set[str] = set()
    for number, line in lines:
        record: object = None
        try:
            record = _decode(line)
            dialogue = dialogue_from_record(record, origin=Origin(str(path), number))
            if dialogue.dialogue_id in seen:
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
        seen.add(dialogue.dialogue_id)
        yield dialogue


def _decode(line: str) -> object:
    try:
        return json.loads(line.rstrip())
    except json.JSONDecodeError as error:
        hint = "; if one dialogue takes several lines, `dial2vec import` reads it" if line.strip() in ("{", "[") else ""
        raise RecordError(f"not valid JSON ({error.msg} at column {error.colno}){hint}") from error
    except (ValueError, RecursionError) as error:
        raise RecordError("not valid JSON (a number of thousands of digits, or nesting without end)") from error


def _numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    with reading_errors(path), _open_text(path) as handle:
        for number, line in enumerate(handle, start=1):
            if line.strip():
                yield number, line


@contextmanager
def reading_errors(path: Path) -> Iterator[None]:
    """Turn whatever keeps a file of dialogues from being read into a CorpusError of one sentence."""
    try:
        yield
    except FileNotFoundError as error:
        raise CorpusError(f"{path} does not exist; expected a JSON Lines file of dialogues. Check the path.") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CorpusError(f"{path} is not a whole gzip file ({error}). Fetch or export it again.") from error
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"{path} is not UTF-8 (byte {error.start} of a block: {error.reason}). Save it as UTF-8."
        ) from error
    except OSError as error:
        raise CorpusError(f"{path} cannot be read: {error.strerror}. Check the path and its permissions.") from error


def _open_text(path: Path) -> io.TextIOWrapper:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig")  # type: ignore[return-value]
    return path.open(encoding="utf-8-sig")


def write_dialogues(path: Path, dialogues: Iterable[Dialogue]) -> int:
    """Write dialogues as JSON Lines, atomically, and return how many; `.gz` compresses, the same bytes every time."""
    with dialogue_writer(path) as write:
        return sum(1 for _ in map(write, dialogues))


@contextmanager
def dialogue_writer(path: Path) -> Iterator[Callable[[Dialogue], None]]:
    """Yield the function that writes one dialogue after the other; the file is there when the block ends well."""
    with atomic_path(path) as temporary, temporary.open("wb") as raw, ExitStack() as stack:
        packed: IO[bytes] | gzip.GzipFile = raw
        if path.suffix == ".gz":
            packed = stack.enter_context(gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0))

        def write(dialogue: Dialogue) -> None:
            packed.write((json.dumps(dialogue.to_record(), ensure_ascii=False) + "\n").encode())

        yield write


def write_quarantine(path: Path, records: Iterable[Quarantined]) -> int:
    """Write records as JSON Lines `{"source", "line", "dialogue_id", "reason"}`, atomically, and return how many."""
    count = 0
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as handle:
        for record in records:
            line = {"source": record.origin.source, "line": record.origin.line}
            line |= {"dialogue_id": record.dialogue_id, "reason": record.reason}
            handle.write(json.dumps(line, ensure_ascii=False) + "\n")
            count += 1
    return count
