"""A corpus of JSON Lines cut into shards that are read by themselves, wherever there is a worker."""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Self

from dial2vec.dialogue import Dialogue, Origin, Quarantined, dialogues_of_lines, reading_errors
from dial2vec.errors import CorpusError

SIZE = 2048
ENDINGS = (".jsonl", ".jsonl.gz")


@dataclass(frozen=True, slots=True)
class Shard:
    """Consecutive lines of a file of dialogues.

    :param number: of the shard in its corpus, from 0.
    :param path: the file.
    :param byte: where its first line begins in the file, unpacked.
    :param line: number of that line, from 1.
    :param lines: how many there are, blank ones included.
    :param digest: of their bytes: a shard is read later than it was cut, and the file may have changed by then.
    """

    number: int
    path: Path
    byte: int
    line: int
    lines: int
    digest: bytes


def files_of(source: Path) -> list[Path]:
    """Return the files of a corpus, sorted: the source itself, or every `.jsonl` and `.jsonl.gz` in a folder.

    Hidden files and what embedding itself writes beside its output are none of it.

    :raises CorpusError: when a folder holds none.
    """
    if not source.is_dir():
        return [source]
    found = [path for path in _inside(source) if path.name.lower().endswith(ENDINGS)]
    if not found:
        raise CorpusError(f"{source} holds no .jsonl or .jsonl.gz file. `dial2vec import` makes one of an export.")
    return found


def look_at(source: Path) -> None:
    """Read the beginning of every file.

    :raises CorpusError: when one cannot be read.
    """
    for path in files_of(source):
        with reading_errors(path), _opened(path) as handle:
            handle.read(1)


def passed_over(source: Path) -> list[Path]:
    """Return the files of a folder that are no JSON Lines by their names."""
    return [path for path in _inside(source) if not path.name.lower().endswith(ENDINGS)] if source.is_dir() else []


def _inside(source: Path) -> list[Path]:
    """Return the files of a folder and those below it, also behind links to folders, sorted."""
    found, been = [], set()
    for folder, below, names in os.walk(source, followlinks=True):
        here = Path(folder).resolve()
        # A link may lead back to where it stands.
        below[:] = [] if here in been else [one for one in below if not one.startswith(".") and not _is_ours(one)]
        names = [] if here in been else names
        been.add(here)
        found += [Path(folder, name) for name in names if not name.startswith(".") and not _is_ours(name)]
    return sorted(path for path in found if path.is_file())


def _is_ours(name: str) -> bool:
    return name.endswith((".parts", ".quarantine.jsonl"))


def shards_of(source: Path, *, size: int = SIZE) -> tuple[list[Shard], str]:
    """Cut a corpus into shards of at most `size` lines, and return them with a hash of all their bytes.

    It is read once, in bounded memory; the shards themselves take some 200 bytes each.

    :raises CorpusError: when a file cannot be read, ends its lines by carriage returns alone, or there is no line.
    """
    shards: list[Shard] = []
    digest = hashlib.sha256()
    for path in files_of(source):
        byte, line = 0, 1
        with reading_errors(path), _opened(path) as handle:
            while lines := list(islice(handle, size)):
                block = b"".join(lines)
                _check_ends(block, path, line)
                shards.append(Shard(len(shards), path, byte, line, len(lines), hashlib.sha256(block).digest()))
                digest.update(block)
                byte, line = byte + len(block), line + len(lines)
        # What stands at the end of one file must not pass for the beginning of the next.
        digest.update(f"{path.name} {line}\n".encode())
    if not shards:
        raise CorpusError(f"{source} is empty; expected JSON Lines, one dialogue per line. Export it again.")
    return shards, digest.hexdigest()


class ShardReader:
    """Reads shards; the file stays open from one to the next, so that a packed one is unpacked once, not every time."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._open = ExitStack()
        self._handle: IO[bytes]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
        self._path = None

    def read(self, shard: Shard, *, quarantine: list[Quarantined]) -> list[Dialogue]:
        """Return the dialogues of a shard; lines that are none, and ids that came before in it, go to `quarantine`.

        :raises CorpusError: when the file cannot be read, or is no longer what it was.
        """
        numbered = self._numbered(shard, quarantine)
        return list(dialogues_of_lines(numbered, shard.path, quarantine=quarantine))

    def _numbered(self, shard: Shard, quarantine: list[Quarantined]) -> Iterator[tuple[int, str]]:
        for number, line in enumerate(self._lines(shard), start=shard.line):
            try:
                # A byte order mark stands at the beginning of a file only.
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                reason = f"it is not UTF-8 (byte {error.start + 1}: {error.reason}); save it as UTF-8"
                quarantine.append(Quarantined(Origin(str(shard.path), number), "", reason))
                continue
            if text.strip():
                yield number, text

    def _lines(self, shard: Shard) -> list[bytes]:
        with reading_errors(shard.path):
            if self._path != shard.path:
                self._open.close()
                self._handle = self._open.enter_context(_opened(shard.path))
                self._path = shard.path
            self._handle.seek(shard.byte)
            lines = list(islice(self._handle, shard.lines))
        if hashlib.sha256(b"".join(lines)).digest() != shard.digest:
            raise CorpusError(
                f"{shard.path} was changed while it was being embedded: lines {shard.line} to "
                f"{shard.line + shard.lines - 1} are not what they were. Start again when nobody writes to it."
            )
        return lines


def _check_ends(block: bytes, path: Path, line: int) -> None:
    """Raise where lines end by carriage returns alone: many dialogues would be one line."""
    if block.count(b"\r") != block.count(b"\r\n"):
        raise CorpusError(
            f"{path}: from line {line} on lines end by carriage returns alone; expected line feeds. "
            "Convert it, such as by `tr '\\r' '\\n'`."
        )


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]
