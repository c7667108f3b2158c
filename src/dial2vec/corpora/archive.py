"""Opening the one zip archive of a corpus and reading its members in memory: nothing is ever unpacked to disk."""

from __future__ import annotations

import contextlib
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from dial2vec.errors import CorpusError

# What `zipfile` really raises on damaged bytes (tried on random cuts and flips). As broad as it is, it is
# only ever caught around a call into `zipfile`.
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError)


@contextlib.contextmanager
def open_archive(folder: Path) -> Iterator[zipfile.ZipFile]:
    """Open the single `*.zip` in `folder` (`data/<corpus>`), whatever its name.

    :raises CorpusError: when the folder or the archive is missing, there are several, or it is no zip.
    """
    path = find_archive(folder)
    if path is None:
        raise CorpusError(
            f"{folder} {'holds no *.zip' if folder.is_dir() else 'does not exist'}; "
            f"expected the archive of {folder.name}. Run `dial2vec fetch {folder.name}`."
        )
    try:
        archive = zipfile.ZipFile(path)
    except DAMAGE as error:
        raise CorpusError(f"{path} cannot be read as a zip archive ({error}). {_fetch_again(path)}") from error
    with archive:
        yield archive


def find_archive(folder: Path) -> Path | None:
    """Return the single `*.zip` in `folder`, or None when there is none (or no such folder).

    :raises CorpusError: when there are several, because nobody can say which one is meant.
    """
    found = sorted(path for path in folder.glob("*.zip") if path.is_file() and not path.name.startswith("."))
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise CorpusError(f"{folder} holds {len(found)} archives ({names}); expected one. Remove the others.")
    return found[0] if found else None


def members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the files of an archive, sorted by path *below the top folder*, whose name differs between mirrors.

    `dialogues-main/train/1.json` is found under `train/1.json`.
    """
    files = {info.filename.partition("/")[2]: info for info in archive.infolist() if not info.is_dir()}
    return dict(sorted(files.items()))


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Read one member whole (the largest of our corpora has 4 MB); its checksum is compared on the way.

    :raises CorpusError: naming archive and member, when the bytes are damaged.
    """
    try:
        return archive.read(info)
    except DAMAGE as error:
        reason = str(error) or type(error).__name__
        path = Path(archive.filename or "")
        raise CorpusError(f"{address(archive, info)} is damaged ({reason}). {_fetch_again(path)}") from error


def address(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> str:
    """Return `<path of the archive>/<member>`, by which errors and records set aside name their source."""
    return f"{archive.filename}/{info.filename}"


def damage(path: Path) -> str | None:
    """Read every member and compare its checksum; return what is wrong as a clause, or None for a whole archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            bad = archive.testzip()
    except DAMAGE as error:
        return str(error) or type(error).__name__
    return f"bad checksum in {bad}" if bad else None


def _fetch_again(path: Path) -> str:
    return f"Remove the archive and run `dial2vec fetch {path.parent.name}`."
