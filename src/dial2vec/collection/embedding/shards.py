"""Cutting a corpus of JSON Lines into shards, which any worker can read alone."""

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

from conversations.dialogue import Dialogue, Origin, Quarantined, dialogues_of_lines
from conversations.files import reading_errors
from conversations.formats.addresses import as_address
from dial2vec.errors import CorpusError

SIZE = 2048
ENDINGS = (".jsonl", ".jsonl.gz")


@dataclass(frozen=True, slots=True)
class Shard:
    """Consecutive lines of a file of dialogues.

    :param number: number of the shard in its corpus, from 0.
    :param path: file of the shard.
    :param byte: offset of the first line in the decompressed file.
    :param line: number of the first line, from 1.
    :param lines: number of lines, including blank ones.
    :param digest: hash of the bytes, because the file may change before the shard is read.
    """

    number: int
    path: Path
    byte: int
    line: int
    lines: int
    digest: bytes


def files_of(source: Path) -> list[Path]:
    """Return the files of a corpus, sorted: the source itself, or every `.jsonl` and `.jsonl.gz` in a folder.

    Hidden files and files written by embedding (`.parts`, `.quarantine.jsonl`) do not count.
    """
    if as_address(source) or not source.is_dir():
        return [source]
    return [path for path in _inside(source) if path.name.lower().endswith(ENDINGS)]


def look_at(source: Path) -> None:
    """Read the beginning of every file, to fail early.

    :raises CorpusError: if a file cannot be read.
    """
    for path in files_of(source):
        with reading_errors(path), _opened(path) as handle:
            handle.read(1)


def passed_over(source: Path) -> list[Path]:
    """Return the files of a folder whose names do not end in .jsonl or .jsonl.gz."""
    return [path for path in _inside(source) if not path.name.lower().endswith(ENDINGS)] if source.is_dir() else []


def _inside(source: Path) -> list[Path]:
    """Return the files of a folder and its subfolders, including linked folders, sorted."""
    paths, visited = [], set()
    for folder, below, names in os.walk(source, followlinks=True):
        here = Path(folder).resolve()
        # A link may lead back to a visited folder.
        below[:] = (
            [] if here in visited else [name for name in below if not name.startswith(".") and not _is_ours(name)]
        )
        names = [] if here in visited else names
        visited.add(here)
        paths += [Path(folder, name) for name in names if not name.startswith(".") and not _is_ours(name)]
    return sorted(path for path in paths if path.is_file())


def _is_ours(name: str) -> bool:
    return name.endswith((".parts", ".quarantine.jsonl"))


def shards_of(source: Path, *, size: int = SIZE) -> tuple[list[Shard], str]:
    """Cut a corpus into shards of at most `size` lines, and return them with a hash of all bytes.

    The corpus is read once, in bounded memory; each shard takes some 200 bytes.

    :raises CorpusError: if a file cannot be read, ends lines with carriage returns alone, or the corpus is empty.
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
        # Lines that move from one file to the next change the hash.
        digest.update(f"{path.name} {line}\n".encode())
    if not shards:
        raise CorpusError(
            f"{source} is empty or holds no .jsonl file; expected JSON Lines, one dialogue per line. `dial2vec import` "
            "makes such a file from an export."
        )
    return shards, digest.hexdigest()


class ShardReader:
    """Reads shards. The file stays open between shards, so a compressed file is decompressed only once."""

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
        """Return the dialogues of a shard; invalid lines and repeated ids go to `quarantine`.

        :raises CorpusError: if the file cannot be read, or has changed since it was cut.
        """
        numbered = self._numbered(shard, quarantine)
        return list(dialogues_of_lines(numbered, shard.path, quarantine=quarantine))

    def _numbered(self, shard: Shard, quarantine: list[Quarantined]) -> Iterator[tuple[int, str]]:
        for number, line in enumerate(self._lines(shard), start=shard.line):
            try:
                # Only the first line of a file can have a byte order mark.
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
                f"{shard.line + shard.lines - 1} are different now. Start again when nobody writes to it."
            )
        return lines


def _check_ends(block: bytes, path: Path, line: int) -> None:
    """Raise if lines end with carriage returns alone: many dialogues would be one line."""
    if block.count(b"\r") != block.count(b"\r\n"):
        raise CorpusError(
            f"{path}: from line {line} on, lines end with carriage returns alone; expected line feeds. "
            "Convert it, for example with `tr '\\r' '\\n'`."
        )


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]
