"""Zip and tar archives from strangers: their names are not believed, and they unpack within bounds."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import re
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Any, cast

from conversations.errors import CorpusError

MIB = 1 << 20
# Raised by `zipfile`, `tarfile` and the decompressors on damaged bytes (tested with random cuts and flips); caught only
# around calls of them.
DAMAGE = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError, ValueError)
# Only these methods can be unpacked in blocks of a known size.
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# First bytes of a packed tar -> function that unpacks them.
PACKINGS: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ": lzma.open,
}


# The largest public corpus unpacks to 0.5 GiB, 17 times its packed size; single JSON files reach 23 times.
MOST, RATIO = 4096 * MIB, 200
# The ratio is not checked below this size: small files are harmless, and repeated lines reach any ratio.
SMALL = 100 * MIB


def most_unpacked(packed: int) -> int:
    """Return the bytes to which a file may unpack: one that holds more was made to fill a disk or the memory.

    :param packed: Size of the file in bytes.
    """
    return int(min(MOST, max(SMALL, RATIO * packed)))


def require_bounds(path: Path, unpacked: int) -> None:
    """Raise if the content of a file is far larger than the file.

    :param unpacked: Bytes of the content.
    :raises CorpusError: if it is over 4 GiB, or over 100 MiB and 200 times the file.
    """
    packed = path.stat().st_size
    if unpacked > most_unpacked(packed):
        raise CorpusError(
            f"{path} unpacks to over {unpacked / 1e9:.1f} GB from {packed / 1e6:.1f} MB; expected at most "
            f"{MOST >> 30} GiB and {RATIO} times its size. Unpack it yourself if you trust it, and import the folder."
        )


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
    if unpacked > most_unpacked(packed):
        limit = f"at most {mebibytes(MOST)} and {RATIO} times its size"
        return f"it unpacks from {mebibytes(packed)} to {mebibytes(unpacked)}, expected {limit}"
    return None


def leads_out(name: str) -> bool:
    """Return whether a member's name is a place outside the archive."""
    # Windows' rules cover slashes, backslashes and drives.
    path = PureWindowsPath(name)
    return bool(path.drive or path.root or ".." in path.parts)


def place_within(folder: Path, name: str) -> Path:
    """Return the path for a member below a folder, which is made: "..", roots and drive letters are left out."""
    parts = [re.sub(r'[\\:*?"<>|\0]', "_", part) for part in PurePosixPath(name).parts]
    place = folder.joinpath(*(part for part in parts if part not in ("/", "..", ".")))
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def mebibytes(n_bytes: int) -> str:
    """Return a size in words."""
    return f"{n_bytes / MIB:,.1f} MiB"


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive or a folder; links and devices in archives are none.

    :param name: Path in the archive or the folder, with slashes.
    :param size: Size in bytes that the archive declares; no more is unpacked.
    :param open: Function that opens its bytes.
    """

    name: str
    size: int
    open: Callable[[], IO[bytes]]


def read_whole(opened: Callable[[], IO[bytes]]) -> bytes:
    """Return all bytes of a member, given its `open`.

    :raises Exception: one of `DAMAGE`, if they are damaged, or more than the archive declares.
    """
    with opened() as stream:
        # In blocks, because a read of everything unpacks all before `zipfile` checks the declared size.
        return b"".join(iter(lambda: stream.read(MIB), b""))


def folder_members(folder: Path) -> list[Member]:
    """Return the files in a folder and its subfolders, sorted."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return [Member(path.relative_to(folder).as_posix(), path.stat().st_size, partial(_opened, path)) for path in paths]


def _opened(path: Path) -> IO[bytes]:
    return path.open("rb")


def zip_members(archive: zipfile.ZipFile) -> list[Member]:
    """Return the files of a zip archive, in its order."""
    infos = [info for info in archive.infolist() if not info.is_dir()]
    return [Member(info.filename, info.file_size, partial(archive.open, info)) for info in infos]


@contextlib.contextmanager
def open_tar(path: Path, require: Callable[[int], object]) -> Iterator[list[Member]]:
    """Yield the files of a tar archive, in its order; a packed one is unpacked first, so that any order is quick.

    :param require: Function that raises if the archive may not unpack to so many bytes.
    :raises Exception: one of `DAMAGE`, if the archive is damaged.
    """
    with contextlib.ExitStack() as stack:
        archive = stack.enter_context(tarfile.TarFile(fileobj=_unpacked(path, require, stack)))
        members = [member for member in archive.getmembers() if member.isreg()]
        # A sparse file is larger than the archive.
        require(sum(member.size for member in members))
        yield [Member(info.name, info.size, partial(_stream, archive, info)) for info in members]


def _stream(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    return cast(IO[bytes], archive.extractfile(member))


def _unpacked(path: Path, require: Callable[[int], object], stack: contextlib.ExitStack) -> IO[bytes]:
    raw = stack.enter_context(path.open("rb"))
    start = raw.read(6)
    raw.seek(0)
    unpack = next((unpack for begins, unpack in PACKINGS.items() if start.startswith(begins)), None)
    if unpack is None:
        return raw
    temporary = stack.enter_context(cast(IO[bytes], tempfile.TemporaryFile()))  # noqa: SIM115
    with unpack(raw) as stream:
        while block := stream.read(MIB):
            temporary.write(block)
            require(temporary.tell())
    temporary.seek(0)
    return temporary
