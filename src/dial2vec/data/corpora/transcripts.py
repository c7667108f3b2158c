"""Your own transcripts: JSON Lines files in `data/<name>/`, and their labels in `labels.csv`."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from conversations.dialogue import Dialogue, Origin, Quarantined, dialogues_of_lines
from conversations.files import numbered_lines, reading_errors, transcript_files
from dial2vec.config import Read
from dial2vec.data.corpora.corpus import Splitting
from dial2vec.errors import CorpusError

LABELS = "labels.csv"
MARK = re.compile(r"\A'(?=[=+\-@\t\r])")
LABEL_COLUMNS = ["dialogue_id", "label"]
NOT_READ = "it is not read: only *.jsonl and *.jsonl.gz in the folder itself are; `dial2vec import` reads other exports"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Most lines of a part, a second of work for the checks of stage validate, and its characters.
PART, PART_SIZE = 5000, 10_000_000


@dataclass(frozen=True, slots=True)
class LinesOf:
    """Some lines of a file of transcripts, which any process can read.

    :param path: File of the lines.
    :param lines: Number, from 1, and text of each line.
    :param labels: The `labels.csv` that gives their labels and the time of its last change, if there is one.
    :param others: Files before these lines that are not read.
    :param before: Id of a dialogue that came before -> name of the file in which it did.
    """

    path: Path
    lines: list[tuple[int, str]]
    labels: tuple[Path, int] | None
    others: list[Quarantined]
    before: Mapping[str, str] = field(default_factory=dict)

    def dialogues(self, rejected: list[Quarantined]) -> list[Dialogue]:
        """Return their dialogues; files that are not read, invalid lines and repeated ids go to `rejected`.

        :raises CorpusError: if `labels.csv` is missing here, or was changed meanwhile.
        """
        rejected += self.others
        labels = _known_labels(*self.labels) if self.labels else None
        dialogues = []
        for dialogue in dialogues_of_lines(self.lines, self.path, quarantine=rejected):
            name = dialogue.dialogue_id
            if earlier := self.before.get(name):
                same = earlier == self.path.name
                reason = f"the id {name!r} came before in this file" if same else f"the id came before in {earlier}"
                rejected.append(Quarantined(dialogue.origin or Origin(str(self.path), 0), name, reason))
            else:
                dialogues.append(dialogue if labels is None else replace(dialogue, labels=labels.get(name, ())))
        return dialogues


class FirstFiles:
    """The file in which each id came first, over the parts of a folder in their order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.first: dict[str, str] = {}

    def repeated(self, part: LinesOf, ids: Sequence[str]) -> LinesOf | None:
        """Return the part with those of its ids that came in earlier parts, to be read again; None without any."""
        before = {name: self.first[name] for name in ids if name in self.first}
        return replace(part, before=before) if before else None

    def add(self, part: LinesOf, ids: Sequence[str]) -> None:
        """Note the ids that a part brought."""
        self.first.update(dict.fromkeys(ids, part.path.name))

    def require_some(self, quarantine: Sequence[Quarantined]) -> None:
        """Raise if no part had a dialogue.

        :param quarantine: Records of this folder that are not used.
        :raises CorpusError: if so, with the first problem of a file that is read.
        """
        if self.first:
            return
        problem = next((str(record) for record in quarantine if record.reason != NOT_READ), "")
        raise CorpusError(
            f"no usable dialogue in the {len(transcript_files(self.folder))} *.jsonl and *.jsonl.gz files of "
            f"{self.folder}{problem and f'; the first problem is {problem}'}. "
            'Expected lines like {"dialogue_id": "...", "turns": [{"speaker": "...", "text": "..."}]}. '
            "Put your transcripts there."
        )


@dataclass(frozen=True, slots=True)
class Transcripts:
    """Reader of all `*.jsonl` and `*.jsonl.gz` files in a folder; add new exports as further files.

    If the folder has a `labels.csv`, only its labels count: `read_labels`.
    """

    splitting: ClassVar[Splitting] = "hashed"
    options: Read = field(default_factory=Read)

    def read(self, folder: Path, *, quarantine: list[Quarantined]) -> Iterator[Dialogue]:
        """Stream the dialogues of all files, sorted by name; the first dialogue of an id counts.

        Empty files, files that are no JSON Lines and files in subfolders are quarantined whole. A damaged file is an
        error, because the lost dialogues are unknown.

        :raises CorpusError: if a file is damaged, no file has a usable line, or `labels.csv` cannot be read.
        """
        known, n_before = FirstFiles(folder), len(quarantine)
        for part in self.parts(folder):
            dialogues = replace(part, before=known.first).dialogues(quarantine)
            known.add(part, [dialogue.dialogue_id for dialogue in dialogues])
            yield from dialogues
        known.require_some(quarantine[n_before:])

    def parts(self, folder: Path) -> Iterator[LinesOf]:
        """Yield the lines of all files, some thousands or some megabytes at a time.

        :raises CorpusError: if a file is damaged, or `labels.csv` cannot be read.
        """
        table, labels = folder / LABELS, None
        if table.is_file():
            labels = (table, table.stat().st_mtime_ns)
            _known_labels(*labels)
        others = [Quarantined(Origin(str(path), 0), "", NOT_READ) for path in _other_files(folder)]
        for path in transcript_files(folder):
            if _is_empty(path):
                others.append(Quarantined(Origin(str(path), 0), "", "the file is empty"))
                continue
            for lines in _cut(numbered_lines(path)):
                yield LinesOf(path, lines, labels, others)
                others = []
        if others:
            yield LinesOf(folder, [], None, others)


def _other_files(folder: Path) -> list[Path]:
    """Return the files that are not read: other files, and all files in subfolders."""
    read = {*transcript_files(folder), folder / LABELS}
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith("."))
    return [path for path in files if path not in read]


def _is_empty(path: Path) -> bool:
    """Return whether a file has no line; False for a damaged file, which `read_dialogues` reports."""
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as lines:
            return not any(line.removeprefix(BYTE_ORDER_MARK).strip() for line in lines)
    except (EOFError, OSError, zlib.error):
        return False


def _cut(lines: Iterator[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Yield lines by the thousand, or fewer if they are long."""
    part: list[tuple[int, str]] = []
    size = 0
    for number, text in lines:
        part.append((number, text))
        size += len(text)
        if len(part) >= PART or size >= PART_SIZE:
            yield part
            part, size = [], 0
    if part:
        yield part


@lru_cache(maxsize=1)
def _known_labels(path: Path, changed: int) -> dict[str, tuple[str, ...]]:
    """Return the labels of a file that was last written at the time `changed`."""
    with reading_errors(path):
        same = path.stat().st_mtime_ns == changed
    if not same:
        raise CorpusError(f"{path} was changed while it was read. Start again when nobody writes to it.")
    return read_labels(path)


def without_mark(cell: str) -> str:
    """Return a cell without the ' that `dial2vec export` puts before what a spreadsheet would take for a formula."""
    return MARK.sub("", cell)


def read_labels(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the sorted labels of each dialogue from a CSV file with the columns `dialogue_id` and `label`, in UTF-8.

    A dialogue with several rows has several labels.

    :raises CorpusError: if the file is no such table.
    """
    labels: dict[str, set[str]] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as handle:
            rows = csv.reader(handle)
            if (columns := next(rows, [])) != LABEL_COLUMNS:
                raise CorpusError(
                    f"{path} has the columns {', '.join(columns) or 'none'}; expected {', '.join(LABEL_COLUMNS)}. Mend "
                    "the first line, or move the file away."
                )
            for row in rows:
                if len(row) != len(LABEL_COLUMNS):
                    raise CorpusError(
                        f"{path}:{rows.line_num} has {len(row)} cells; expected {len(LABEL_COLUMNS)}. Mend the line."
                    )
                name, label = map(without_mark, row)
                if label.strip():
                    labels.setdefault(name, set()).add(label.strip())
    except (UnicodeDecodeError, csv.Error) as error:
        raise CorpusError(f"{path} cannot be read ({error}); expected CSV in UTF-8. Write it again.") from error
    return {name: tuple(sorted(own)) for name, own in labels.items()}
