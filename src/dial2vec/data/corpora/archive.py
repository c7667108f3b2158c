"""Read members of a corpus's zip archive in memory; nothing is unpacked to disk."""

from __future__ import annotations

import contextlib
import io
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PureWindowsPath

from dial2vec.errors import CorpusError

# Errors that `zipfile` raises on damaged bytes (tested with random cuts and flips); caught only around calls of it.
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError)
MIB = 1 << 20
# The largest public corpus unpacks to 0.5 GiB, 17 times its packed size; single JSON files reach 23 times.
MAX_UNPACKED = 4096 * MIB
MAX_RATIO = 200
# The ratio is not checked below this size: small files are harmless, and repeated lines reach any ratio.
SMALL = 64 * MIB
# Maximum size of a member that is read whole; larger members are streamed.
MAX_WHOLE = 256 * MIB
# Only these methods can be unpacked in blocks of a known size.
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# Added by macOS when it packs a folder: `__MACOSX/`, with a `._name` for every name.
MAC_FOLDER = "__MACOSX"


@contextlib.contextmanager
def open_archive(folder: Path) -> Iterator[zipfile.ZipFile]:
    """Open the single `*.zip` in `folder` (`data/<corpus>`).

    :raises CorpusError: if the folder or the archive is missing, there are several archives, or the archive is no zip
        or harmful: a member's name leads out of it, or it unpacks to more than any corpus.
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
        raise CorpusError(f"{path} cannot be read as a zip archive ({error}). {fetch_again(path)}") from error
    with archive:
        _require_harmless(archive, packed=path.stat().st_size)
        yield archive


@contextlib.contextmanager
def open_nested(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[zipfile.ZipFile]:
    """Open a zip that is a member of an archive, with the same limits.

    :raises CorpusError: if it is damaged, no zip, or harmful.
    """
    content = read_member(archive, info)
    where = address(archive, info)
    try:
        nested = zipfile.ZipFile(io.BytesIO(content))
    except DAMAGE as error:
        raise CorpusError(f"{where} cannot be read as a zip archive ({error}). {fetch_again(where)}") from error
    nested.filename = where
    with nested:
        _require_harmless(nested, packed=len(content))
        yield nested


def find_archive(folder: Path) -> Path | None:
    """Return the single `*.zip` in `folder`, or None if there is no archive or no folder.

    :raises CorpusError: if there are several archives.
    """
    archives = sorted(path for path in folder.glob("*.zip") if path.is_file() and not path.name.startswith("."))
    if len(archives) > 1:
        names = ", ".join(path.name for path in archives)
        raise CorpusError(f"{folder} holds {len(archives)} archives ({names}); expected one. Remove the others.")
    return archives[0] if archives else None


def files(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the files of an archive, sorted by path, without files that macOS adds."""
    infos = {info.filename: info for info in archive.infolist() if not info.is_dir()}
    return {path: infos[path] for path in sorted(infos) if not _is_added(path.split("/"))}


def members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the files of an archive by their sorted paths *below the top folder*, whose name differs between mirrors.

    `dialogues-main/train/1.json` becomes `train/1.json`. Without a single top folder, paths stay whole.
    """
    infos = files(archive)
    tops = {path.partition("/")[0] for path in infos if "/" in path}
    below = {path.partition("/")[2] or path: info for path, info in infos.items()} if len(tops) == 1 else infos
    return {path: below[path] for path in sorted(below)}


def files_by_name(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the files of an archive by name only, because folders differ between mirrors.

    Of several files with one name, the least nested one counts.
    """
    deepest_first = sorted(files(archive).items(), key=lambda item: item[0].count("/"), reverse=True)
    return {path.rpartition("/")[2]: info for path, info in deepest_first}


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Read one whole member and compare its checksum.

    :raises CorpusError: if the member is damaged or too large.
    """
    if info.file_size > MAX_WHOLE:
        raise CorpusError(
            f"{address(archive, info)} unpacks to {_size(info.file_size)}; expected {_size(MAX_WHOLE)} at most. "
            f"{fetch_again(address(archive, info))}"
        )
    with open_member(archive, info) as stream:
        return b"".join(iter(lambda: stream.read(MIB), b""))


class Member:
    """A byte stream of one member, as `open_member` yields it."""

    def __init__(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
        self._address = address(archive, info)
        try:
            self._stream = archive.open(info)
        except DAMAGE as error:
            raise self._damaged(error) from error

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, or b"" at the end, after the checksum was compared.

        :raises CorpusError: if the bytes are damaged.
        """
        try:
            # In blocks, because a read of everything unpacks all before `zipfile` checks the declared size.
            return self._stream.read(min(size, MIB))
        except DAMAGE as error:
            raise self._damaged(error) from error

    def close(self) -> None:
        """Close the stream; the archive stays open."""
        self._stream.close()

    def _damaged(self, error: Exception) -> CorpusError:
        reason = str(error) or type(error).__name__
        return CorpusError(f"{self._address} is damaged ({reason}). {fetch_again(self._address)}")


@contextlib.contextmanager
def open_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[Member]:
    """Open one member to be read block by block.

    :raises CorpusError: if the bytes are damaged (here, or while they are read).
    """
    with contextlib.closing(Member(archive, info)) as stream:
        yield stream


def address(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> str:
    """Return `<path of the archive>/<member>`, the source in errors and in the quarantine."""
    return f"{archive.filename}/{info.filename}"


def damage(path: Path) -> str | None:
    """Read every member and compare its checksum; return the damage as a clause, or None.

    A harmful archive is not read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            harm = harm_of(archive, packed=path.stat().st_size)
            bad = None if harm else archive.testzip()
    except DAMAGE as error:
        return str(error) or type(error).__name__
    return f"bad checksum in {bad}" if bad else harm


def _is_added(parts: list[str]) -> bool:
    return MAC_FOLDER in parts or parts[-1].startswith("._")


def _require_harmless(archive: zipfile.ZipFile, *, packed: int) -> None:
    harm = harm_of(archive, packed=packed)
    if harm is not None:
        raise CorpusError(f"{archive.filename} was not read: {harm}. {fetch_again(archive.filename or '')}")


def harm_of(archive: zipfile.ZipFile, *, packed: int) -> str | None:
    """Return a clause if the declared members of an archive are harmful, else None.

    :param packed: Size of the archive in bytes.
    """
    for info in archive.infolist():
        if leads_out(info.filename):
            return f"its member {info.filename!r} names a place outside the archive"
        if info.compress_type not in METHODS:
            return f"its member {info.filename!r} is packed by method {info.compress_type}, expected none or deflate"
    unpacked = sum(info.file_size for info in archive.infolist())
    if unpacked > MAX_UNPACKED or (unpacked > SMALL and unpacked > MAX_RATIO * packed):
        limit = f"at most {_size(MAX_UNPACKED)} and {MAX_RATIO} times its size"
        return f"it unpacks from {_size(packed)} to {_size(unpacked)}, expected {limit}"
    return None


def leads_out(name: str) -> bool:
    """Return whether a member's name is a place outside the archive."""
    # Windows' rules cover slashes, backslashes and drives.
    path = PureWindowsPath(name)
    return bool(path.drive or path.root or ".." in path.parts)


def _size(n_bytes: int) -> str:
    return f"{n_bytes / MIB:,.1f} MiB"


def wrong_archive(archive: zipfile.ZipFile, lacking: str, url: str | None) -> CorpusError:
    """Return the error for an archive that lacks files of its corpus.

    :param lacking: Name or pattern of a file that is not in the archive.
    """
    where = archive.filename or ""
    return CorpusError(f"{where} holds no {lacking}; expected the archive of {url}. {fetch_again(where)}")


def fetch_again(where: Path | str) -> str:
    """Return how to replace an archive, given its path or an address within it."""
    where = Path(where)
    path = next((path for path in (where, *where.parents) if path.is_file()), where)
    return f"Remove the archive and run `dial2vec fetch {path.parent.name}`."
