"""Your own transcripts: JSON Lines files in `data/<name>/`, and their labels in `labels.csv`."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from dial2vec.config import Read
from dial2vec.data.corpora.corpus import Splitting
from dial2vec.dialogue import Dialogue, Origin, Quarantined, read_dialogues
from dial2vec.errors import CorpusError

ENDINGS = (".jsonl", ".jsonl.gz")
LABELS = "labels.csv"
LABEL_COLUMNS = ["dialogue_id", "label"]
NOT_READ = "it is not read: only *.jsonl and *.jsonl.gz in the folder itself are; `dial2vec import` reads other exports"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Transcripts:
    """Reader of all `*.jsonl` and `*.jsonl.gz` files in a folder; add new exports as further files.

    If the folder has a `labels.csv`, only its labels count: `read_labels`.
    """

    url: ClassVar[str | None] = None
    splitting: ClassVar[Splitting] = "hashed"
    options: Read = field(default_factory=Read)

    def read(self, folder: Path, *, quarantine: list[Quarantined]) -> Iterator[Dialogue]:
        """Stream the dialogues of all files, sorted by name; the first dialogue of an id counts.

        Empty files, files that are no JSON Lines and files in subfolders are quarantined whole. A damaged file is an
        error, because the lost dialogues are unknown.

        :raises CorpusError: if a file is damaged, no file has a usable line, or `labels.csv` cannot be read.
        """
        quarantine += [Quarantined(Origin(str(path), 0), "", NOT_READ) for path in _other_files(folder)]
        first_file: dict[str, str] = {}
        labels = read_labels(folder / LABELS) if (folder / LABELS).is_file() else None
        earlier_problems = len(quarantine)
        files = transcript_files(folder)
        for path in files:
            if _is_empty(path):
                quarantine.append(Quarantined(Origin(str(path), 0), "", "the file is empty"))
                continue
            for dialogue in read_dialogues(path, quarantine=quarantine):
                earlier = first_file.setdefault(dialogue.dialogue_id, path.name)
                if earlier != path.name:
                    reason = f"the id came before in {earlier}"
                    quarantine.append(
                        Quarantined(dialogue.origin or Origin(str(path), 0), dialogue.dialogue_id, reason)
                    )
                elif labels is None:
                    yield dialogue
                else:
                    yield replace(dialogue, labels=labels.get(dialogue.dialogue_id, ()))
        if not first_file:
            problems = quarantine[earlier_problems:]
            first = f"; the first problem is {problems[0]}" if problems else ""
            raise CorpusError(
                f"no usable dialogue in the {len(files)} *.jsonl and *.jsonl.gz files of {folder}{first}. "
                'Expected lines like {"dialogue_id": "...", "turns": [{"speaker": "...", "text": "..."}]}. '
                "Put your transcripts there."
            )

    def missing(self, folder: Path) -> list[str]:
        """Return [], because own transcripts have no upstream."""
        return []


def transcript_files(folder: Path) -> list[Path]:
    """Return the transcripts in `folder`, sorted by name, without hidden files."""
    return sorted(
        path
        for path in folder.glob("*")
        if path.name.lower().endswith(ENDINGS) and not path.name.startswith(".") and path.is_file()
    )


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
                if row[1].strip():
                    labels.setdefault(row[0], set()).add(row[1].strip())
    except (UnicodeDecodeError, csv.Error) as error:
        raise CorpusError(f"{path} cannot be read ({error}); expected CSV in UTF-8. Write it again.") from error
    return {name: tuple(sorted(own)) for name, own in labels.items()}
