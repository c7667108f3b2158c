"""SHA-256 of a corpus's archive: recorded at its first fetch, compared at every later fetch."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from dial2vec.errors import CorpusError
from dial2vec.files import atomic_path

ENDING = ".sha256"
LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")


def require_recorded(archive: Path, *, folder: Path, source: str, otherwise: str) -> None:
    """Compare an archive with the digest recorded in `folder` (`data/<corpus>`), if there is one.

    :param source: Source of the archive, for the error.
    :param otherwise: Advice for an unwanted difference, as an imperative clause.
    :raises CorpusError: if the digests differ or the record is unreadable.
    """
    for record in _records(folder):
        recorded, digest = _read(record), _sha256(archive)
        if digest != recorded:
            raise CorpusError(
                f"{source} has the SHA-256 {digest}, but {record} expects {recorded}, that of the first archive. "
                f"{otherwise}, or, if you know why the archive changed, remove {record} and run this again."
            )


def record_digest(archive: Path) -> None:
    """Write `<archive>.sha256` in the format of `sha256sum`, and remove other records in its folder."""
    path = archive.with_name(archive.name + ENDING)
    line = f"{_sha256(archive)}  {archive.name}\n"
    if not path.is_file() or path.read_text(encoding="utf-8") != line:
        with atomic_path(path) as temporary:
            temporary.write_text(line, encoding="utf-8")
    for other in _records(archive.parent):
        if other != path:
            other.unlink()


def _records(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob(f"*{ENDING}") if path.is_file() and not path.name.startswith("."))


def _read(record: Path) -> str:
    match = LINE.fullmatch(record.read_text(encoding="utf-8", errors="replace").strip())
    if match is None:
        raise CorpusError(
            f"{record} is not one line of `sha256sum`: 64 hexadecimal digits, two blanks, a name. Restore it with "
            "`dvc checkout`, or remove it to record the archive again."
        )
    return match[1]


def _sha256(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
