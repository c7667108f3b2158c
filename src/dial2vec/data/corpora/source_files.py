"""The files of a corpus wherever they lie in `data/<corpus>`: in zip or tar archives, packed by gzip, or unpacked."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import hashlib
import io
import json
import re
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, cast

from dial2vec.data.corpora.archive import DAMAGE, MAX_UNPACKED, MAX_WHOLE, MIB, address, files, harm_of, leads_out
from dial2vec.data.corpora.checksum import ENDING as DIGEST
from dial2vec.errors import CorpusError

ZIP, GZIP = ".zip", ".gz"
TAR = (".tar", ".tar.gz", ".tgz")
GZIP_START = b"\x1f\x8b"
COMMENT = b"#"
# `tarfile` and the decompressors below it raise these on damaged bytes, besides those of `zipfile`.
BROKEN = (*DAMAGE, tarfile.TarError)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a corpus.

    :param path: Path within its archive or below `data/<corpus>`, without a last `.gz`.
    :param address: Place for errors and for the quarantine: path on disk, within an archive its path there.
    :param size: Size in bytes; of a gzip file the packed size.
    :param open: Function that opens the file's unpacked bytes.
    """

    path: str
    address: str
    size: int
    open: Callable[[], IO[bytes]]


@contextlib.contextmanager
def open_sources(folder: Path, *, source: str) -> Iterator[dict[str, SourceFile]]:
    """Yield the files of a corpus by address, sorted; archives are opened, and stay open within the block.

    :param folder: Folder `data/<corpus>` with archives, unpacked files, or both.
    :param source: Source of the corpus, for errors.
    :raises CorpusError: if the folder is missing or empty, or an archive is damaged or harmful.
    """
    with contextlib.ExitStack() as stack:
        listed: list[SourceFile] = []
        for path in _listed(folder):
            if path.name.lower().endswith(ZIP) and path.parent == folder:
                listed += _zipped(path, stack)
            elif path.name.lower().endswith(TAR) and path.parent == folder:
                listed += _tarred(path, stack)
            else:
                listed.append(_plain(path, folder))
        if not listed:
            raise CorpusError(
                f"{folder} {'holds no files' if folder.is_dir() else 'does not exist'}; expected those of {source}. "
                f"Put them there, packed or unpacked, or run `dial2vec fetch {folder.name}`."
            )
        yield {file.address: file for file in sorted(listed, key=lambda file: file.address)}


def matching_files(
    sources: Mapping[str, SourceFile], pattern: str, *, folder: Path, source: str
) -> list[tuple[SourceFile, re.Match[str]]]:
    """Return the files whose path ends with a pattern, sorted by the matched part.

    Of equal copies, such as an archive and what was unpacked from it, only the first counts.

    :param pattern: Regular expression of the end of a path; it starts after a `/` or at the start.
    :raises CorpusError: if there are none, or two different files match with the same part.
    """
    expression = re.compile(rf"(?:^|.*/)(?P<end>{pattern})")
    chosen: dict[str, tuple[SourceFile, re.Match[str]]] = {}
    for file in sources.values():
        if match := expression.fullmatch(file.path):
            end = match["end"]
            if end in chosen and _equal(chosen[end][0], file):
                continue
            if end in chosen:
                raise CorpusError(
                    f"{folder} holds two different {end}, {chosen[end][0].address} and {file.address}; expected one. "
                    "Remove the other."
                )
            chosen[end] = (file, match)
    if not chosen:
        raise CorpusError(
            f"{folder} holds no file {pattern}; expected those of {source}. Put them there, packed or unpacked."
        )
    return [chosen[end] for end in sorted(chosen)]


def _equal(first: SourceFile, other: SourceFile) -> bool:
    return _digest(first) == _digest(other)


def _digest(file: SourceFile) -> str:
    digest = hashlib.sha256()
    try:
        with file.open() as raw:
            while block := raw.read(MIB):
                digest.update(block)
    except BROKEN as error:
        raise damaged(file, error) from error
    return digest.hexdigest()


def absent(folder: Path, patterns: Mapping[str, str], *, source: str) -> list[str]:
    """Return the names of the files that a corpus lacks.

    :param patterns: Name -> pattern, as `matching_files` takes it.
    """
    with open_sources(folder, source=source) as sources:
        paths = [file.path for file in sources.values()]
    return [
        name
        for name, pattern in patterns.items()
        if not any(re.fullmatch(rf"(?:^|.*/)(?:{pattern})", path) for path in paths)
    ]


def lines_of(file: SourceFile) -> Iterator[tuple[int, str]]:
    """Yield number, from 1, and text of each line without its end; other line ends of Unicode are part of a line.

    :raises CorpusError: if the file is damaged or not UTF-8.
    """
    with opened_text(file, newline="\n") as text:
        for number, line in enumerate(text, start=1):
            yield number, line.rstrip("\r\n")


@contextlib.contextmanager
def opened_text(file: SourceFile, *, newline: str | None) -> Iterator[IO[str]]:
    """Open a file as UTF-8 text, with or without a byte order mark.

    :raises CorpusError: if the file is damaged or not UTF-8, also while the block reads it.
    """
    try:
        with file.open() as raw:
            yield io.TextIOWrapper(raw, encoding="utf-8-sig", newline=newline)
    except UnicodeDecodeError as error:
        raise CorpusError(f"{file.address} is not UTF-8 ({error.reason}). Bring the file again.") from error
    except BROKEN as error:
        raise damaged(file, error) from error


def json_of(file: SourceFile) -> Any:
    """Return the JSON value of a whole file.

    :raises CorpusError: if the file is damaged, too large or no JSON.
    """
    if file.size > MAX_WHOLE:
        raise CorpusError(
            f"{file.address} has {file.size / MIB:,.0f} MiB; expected at most {MAX_WHOLE / MIB:,.0f}. Bring it again."
        )
    try:
        with file.open() as raw:
            content = b"".join(_beginning(raw))
    except BROKEN as error:
        raise damaged(file, error) from error
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{file.address} is not JSON ({error}). Bring the file again.") from error


def records_of(file: SourceFile) -> Iterator[tuple[int, Any]]:
    """Yield number, from 1, and value of each element of a JSON list, one in memory at a time.

    :raises CorpusError: if the file is damaged, no JSON or no list with elements, after all earlier elements.
    """
    import ijson

    number = 0
    try:
        with file.open() as raw:
            # Floats, because with exact numbers ijson 3.6 crashes on 5,000 digits.
            records = ijson.items(ijson.from_iter(_beginning(raw)), "item", use_float=True)
            for number, record in enumerate(records, start=1):
                yield number, record
    except (ijson.JSONError, ValueError, RecursionError) as error:
        # Perhaps at `NaN` or a long number, which Python can read.
        value = json_of(file)
        if not isinstance(value, list):
            raise _no_list(file) from error
        for later, record in enumerate(islice(value, number, None), start=number + 1):
            number = later
            yield later, record
    except BROKEN as error:
        raise damaged(file, error) from error
    if not number:
        raise _no_list(file)


def damaged(file: SourceFile, error: Exception) -> CorpusError:
    """Return the error for a file whose bytes cannot be read."""
    return CorpusError(f"{file.address} is damaged ({error or type(error).__name__}). Bring the file again.")


def _no_list(file: SourceFile) -> CorpusError:
    return CorpusError(f"{file.address} is no JSON list with elements, as upstream has it. Bring the file again.")


def _beginning(raw: IO[bytes]) -> Iterator[bytes]:
    """Yield the blocks of a JSON stream without its byte order mark and the comments above it (as CamRest676 has)."""
    head = raw.read(MIB).removeprefix(codecs.BOM_UTF8)
    while head.lstrip().startswith(COMMENT) and b"\n" in head:
        head = head.lstrip().partition(b"\n")[2]
    return chain([head], iter(lambda: raw.read(MIB), b""))


def _listed(folder: Path) -> list[Path]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return [path for path in paths if not path.name.startswith(".") and not path.name.endswith((DIGEST, ".part"))]


def _plain(path: Path, folder: Path) -> SourceFile:
    name = path.relative_to(folder).as_posix()
    if name.endswith(GZIP):
        return SourceFile(name.removesuffix(GZIP), str(path), path.stat().st_size, lambda: _gunzipped(path.open("rb")))
    return SourceFile(name, str(path), path.stat().st_size, lambda: path.open("rb"))


def _zipped(path: Path, stack: contextlib.ExitStack) -> list[SourceFile]:
    try:
        archive = stack.enter_context(zipfile.ZipFile(path))
        members = files(archive)
        harm = harm_of(archive, packed=path.stat().st_size)
    except DAMAGE as error:
        raise CorpusError(f"{path} cannot be read as a zip archive ({error}). Bring it again.") from error
    if harm is not None:
        raise CorpusError(f"{path} was not read: {harm}. Bring it again.")

    def opening(info: zipfile.ZipInfo) -> Callable[[], IO[bytes]]:
        if info.filename.endswith(GZIP):
            return lambda: _gunzipped(archive.open(info))
        return lambda: archive.open(info)

    return [
        SourceFile(name.removesuffix(GZIP), address(archive, info), info.file_size, opening(info))
        for name, info in members.items()
    ]


def _tarred(path: Path, stack: contextlib.ExitStack) -> list[SourceFile]:
    try:
        archive = stack.enter_context(tarfile.TarFile(fileobj=_unpacked(path, stack)))
        members = [member for member in archive.getmembers() if member.isfile()]
    except BROKEN as error:
        raise CorpusError(f"{path} cannot be read as a tar archive ({error}). Bring it again.") from error
    if away := [member.name for member in members if leads_out(member.name)]:
        raise CorpusError(f"{path} was not read: its member {away[0]!r} names a place outside. Bring it again.")

    def opening(member: tarfile.TarInfo) -> Callable[[], IO[bytes]]:
        def opened() -> IO[bytes]:
            content = archive.extractfile(member)
            assert content is not None
            return _gunzipped(content) if member.name.endswith(GZIP) else content

        return opened

    kept = [member for member in members if not member.name.rpartition("/")[2].startswith("._")]
    return [
        SourceFile(
            member.name.removeprefix("./").removesuffix(GZIP), f"{path}/{member.name}", member.size, opening(member)
        )
        for member in kept
    ]


def _unpacked(path: Path, stack: contextlib.ExitStack) -> IO[bytes]:
    """Return the tar stream of an archive; a packed one is unpacked to a temporary file, so that any order is quick.

    :raises CorpusError: if it unpacks to more than any corpus.
    """
    raw = stack.enter_context(path.open("rb"))
    packed = raw.read(2) == GZIP_START
    raw.seek(0)
    if not packed:
        return raw
    temporary = stack.enter_context(cast(IO[bytes], tempfile.TemporaryFile()))  # noqa: SIM115
    with gzip.GzipFile(fileobj=raw) as stream:
        while block := stream.read(MIB):
            temporary.write(block)
            if temporary.tell() > MAX_UNPACKED:
                raise CorpusError(
                    f"{path} was not read: it unpacks to more than {MAX_UNPACKED / MIB:,.0f} MiB. Bring it again."
                )
    temporary.seek(0)
    return temporary


def _gunzipped(raw: IO[bytes]) -> IO[bytes]:
    unpacked = gzip.GzipFile(fileobj=raw)
    # Closed together with the stream above it.
    unpacked.myfileobj = raw  # type: ignore[assignment]
    return cast(IO[bytes], unpacked)
