"""SHA-256 of a corpus's archive: recorded at its first fetch, compared at every later fetch.

For the corpora of `PINNED` the first archive is compared as well: with the dialogues that this project has read.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
from pathlib import Path

from conversations.files import atomic_path
from dial2vec.data.corpora.archive import members, read_member
from dial2vec.errors import CorpusError

ENDING = ".sha256"
LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")
# The files that hold a corpus's dialogues, by their paths below the top folder, and the SHA-256 over their paths and
# contents. Upstream publishes none, and hosts pack the same files differently; these are of archives whose dialogues
# were counted and compared with the published figures. Of the other corpora no archive was at hand.
PINNED = {
    "sgd": (
        r"(train|dev|test)/dialogues_\d+\.json",
        "4456fbb8bc54046edd52f0062af990a12358b85925d68c9f31ec91fa4fe8c8b3",
    ),
    "self_dialogue": (r"corpus/[^/]+/[^/]+\.csv", "5a7c955d6ed9480e3bfa8907f5818d68a9fdc81982d2ff114ac1ad547b9c5b02"),
}


def require_recorded(archive: Path, *, folder: Path, source: str, otherwise: str) -> None:
    """Compare an archive with the digest recorded in `folder` (`data/<corpus>`), else with `PINNED`, if it is there.

    :param source: Source of the archive, for the error.
    :param otherwise: Advice for an unwanted difference, as an imperative clause.
    :raises CorpusError: if the digests differ or the record is unreadable.
    """
    records = _records(folder)
    if not records and folder.name in PINNED:
        pattern, pinned = PINNED[folder.name]
        if (digest := content_digest(archive, pattern)) != pinned:
            raise CorpusError(
                f"the dialogues in {source} have the SHA-256 {digest}, expected {pinned}, that of the dialogues which "
                f"this version was tested with. {otherwise}, or, if you trust it, write its `sha256sum` into "
                f"{folder / (folder.name + '.zip' + ENDING)}."
            )
    for record in records:
        recorded, digest = _read(record), _sha256(archive)
        if digest != recorded:
            raise CorpusError(
                f"{source} has the SHA-256 {digest}, but {record} expects {recorded}, that of the first archive. "
                f"{otherwise}, or, if you know why the archive changed, remove {record} and run this again."
            )


def content_digest(path: Path, pattern: str) -> str:
    """Return the SHA-256 over paths and contents of an archive's files, however they are packed.

    :param pattern: Regular expression of the paths below the top folder.
    """
    digest = hashlib.sha256()
    with zipfile.ZipFile(path) as archive:
        for name, info in members(archive).items():
            if re.fullmatch(pattern, name):
                content = hashlib.sha256(read_member(archive, info)).hexdigest()
                digest.update(f"{content}  {name}\n".encode())
    return digest.hexdigest()


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
