"""A corpus of JSON Lines cut into shards that are read by themselves, wherever there is a worker."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Self

from dial2vec.dialogue import Dialogue, Quarantined, dialogues_of_lines, reading_errors
from dial2vec.errors import CorpusError

SIZE = 2048


@dataclass(frozen=True, slots=True)
class Shard:
    """Consecutive lines of a file of dialogues.

    :param number: of the shard in its corpus, from 0.
    :param path: the file.
    :param byte: where its first line begins in the file, unpacked.
    :param line: number of that line, from 1.
    :param lines: how many there are, blank ones included.
    """

    number: int
    path: Path
    byte: int
    line: int
    lines: int


def files_of(source: Path) -> list[Path]:
    """Return the files of a corpus, sorted: the source itself, or every `.jsonl` and `.jsonl.gz` in a folder.

    :raises CorpusError: when a folder holds none.
    """
    if not source.is_dir():
        return [source]
    found = sorted(path for path in source.rglob("*.jsonl*") if path.name.endswith((".jsonl", ".jsonl.gz")))
    if not found:
        raise CorpusError(f"{source} holds no .jsonl or .jsonl.gz file. `dial2vec import` makes one of an export.")
    return found


def shards_of(source: Path, *, size: int = SIZE) -> tuple[list[Shard], str]:
    """Cut a corpus into shards of at most `size` lines, and return them with a hash of all their bytes.

    It is read once, in bounded memory; the shards themselves take some 200 bytes each.

    :raises CorpusError: when a file cannot be read, or there is no line at all.
    """
    shards: list[Shard] = []
    digest = hashlib.sha256()
    for path in files_of(source):
        byte, line = 0, 1
        with reading_errors(path), _opened(path) as handle:
            while lines := list(islice(handle, size)):
                shards.append(Shard(len(shards), path, byte, line, len(lines)))
                block = b"".join(lines)
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

        :raises CorpusError: when the file cannot be read.
        """
        return list(dialogues_of_lines(self._lines(shard), shard.path, quarantine=quarantine))

    def _lines(self, shard: Shard) -> Iterator[tuple[int, str]]:
        with reading_errors(shard.path):
            if self._path != shard.path:
                self._open.close()
                self._handle = self._open.enter_context(_opened(shard.path))
                self._path = shard.path
            self._handle.seek(shard.byte)
            for number, line in enumerate(islice(self._handle, shard.lines), start=shard.line):
                # A byte order mark stands at the beginning of a file only.
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                if text.strip():
                    yield number, text


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]
