"""The files of a corpus wherever they lie in `data/<corpus>`: in zip or tar archives, packed by gzip, or unpacked."""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, cast

from conversations.formats.archives import (
    DAMAGE,
    MIB,
    Member,
    folder_members,
    harm_of,
    leads_out,
    mebibytes,
    most_unpacked,
    open_tar,
    read_whole,
    zip_members,
)
from dial2vec.errors import CorpusError

ZIP, GZIP = ".zip", ".gz"
# Ending of the record of an archive's SHA-256.
DIGEST = ".sha256"
TAR = (".tar", ".tar.gz", ".tgz")
COMMENT = b"#"
# Maximum size of a file that is read whole; larger ones are streamed.
MOST_WHOLE = 256 * MIB
BRING = "Bring it again."
# Added by macOS when it packs a folder: `__MACOSX/`, with a `._name` for every name.
MAC_FOLDER, MAC_FILE = "__MACOSX", "._"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a corpus.

    :param path: Path within its archive or below `data/<corpus>`, without a last `.gz`.
    :param address: Place for errors and for the quarantine: path on disk, within an archive its path there.
    :param size: Size in bytes; of a gzip file the packed size.
    :param open: Function that opens the file's unpacked bytes.
    :param again: Way to replace it, for errors.
    """

    path: str
    address: str
    size: int
    open: Callable[[], IO[bytes]]
    again: str = BRING


@contextlib.contextmanager
def open_sources(folder: Path, *, source: str) -> Iterator[dict[str, SourceFile]]:
    """Yield the files of a corpus by address, sorted; archives are opened, and stay open within the block.

    :param folder: Folder `data/<corpus>` with archives, unpacked files, or both.
    :param source: Source of the corpus, for errors.
    :raises CorpusError: if the folder is missing or empty, or an archive is damaged or harmful.
    """
    with contextlib.ExitStack() as stack:
        listed: list[SourceFile] = []
        for member in folder_members(folder):
            path = folder / member.name
            if path.name.startswith(".") or path.name.endswith((DIGEST, ".part")):
                continue
            if path.name.lower().endswith(ZIP) and path.parent == folder:
                listed += stack.enter_context(open_zip(path, str(path)))
            elif path.name.lower().endswith(TAR) and path.parent == folder:
                listed += _tarred(path, stack)
            else:
                listed += _files([member], str(folder))
        if not listed:
            raise CorpusError(
                f"{folder} {'holds no files' if folder.is_dir() else 'does not exist'}; expected those of {source}. "
                f"Put them there, packed or unpacked, or run `dial2vec fetch {folder.name}`."
            )
        yield {file.address: file for file in sorted(listed, key=lambda file: file.address)}


@contextlib.contextmanager
def open_zip(content: Path | io.BytesIO, where: str, *, again: str = BRING) -> Iterator[list[SourceFile]]:
    """Yield the files of a zip archive in its order, without those that macOS adds.

    :param content: Path or bytes of the archive.
    :param where: Address of the archive.
    :param again: Way to replace it.
    :raises CorpusError: if it is damaged, no zip or harmful.
    """
    packed = content.stat().st_size if isinstance(content, Path) else content.getbuffer().nbytes
    try:
        archive = zipfile.ZipFile(content)
        harm = harm_of(archive, packed=packed)
    except DAMAGE as error:
        raise CorpusError(f"{where} cannot be read as a zip archive ({error}). {again}") from error
    with archive:
        if harm is not None:
            raise CorpusError(f"{where} was not read: {harm}. {again}")
        yield _files(zip_members(archive), where, again=again)


@contextlib.contextmanager
def open_folder_or_zip(path: Path, *, again: str) -> Iterator[dict[str, SourceFile]]:
    """Yield the files below a folder, or of a zip archive, by their sorted paths.

    :param again: Way to replace them, for errors.
    :raises CorpusError: if the archive is damaged, no zip or harmful.
    """
    with contextlib.ExitStack() as stack:
        if path.is_dir():
            listed = _files(folder_members(path), str(path), again=again)
        else:
            listed = stack.enter_context(open_zip(path, str(path), again=again))
        yield {file.path: file for file in sorted(listed, key=lambda file: file.path)}


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
            if end in chosen and _digest(chosen[end][0]) == _digest(file):
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


def _digest(file: SourceFile) -> str:
    digest = hashlib.sha256()
    try:
        with file.open() as raw:
            while block := raw.read(MIB):
                digest.update(block)
    except DAMAGE as error:
        raise damaged(file, error) from error
    return digest.hexdigest()


def lines_of(file: SourceFile) -> Iterator[tuple[int, str]]:
    """Yield number, from 1, and text of each line without its end; other line ends of Unicode are part of a line.

    :raises CorpusError: if the file is damaged or not UTF-8.
    """
    with opened_text(file, newline="\n") as text:
        for number, line in enumerate(text, start=1):
            yield number, line.rstrip("\r\n")


def rows_of(file: SourceFile, *, most: int = 0) -> Iterator[tuple[int, list[str]]]:
    """Yield number, from 1, and cells of each line that is not blank; tabs separate the cells.

    :param most: Largest number of cells, the last of which holds further tabs; 0 is no limit.
    :raises CorpusError: if the file is damaged or not UTF-8.
    """
    for number, line in lines_of(file):
        if line.strip():
            yield number, line.split("\t", most - 1)


def table_of(
    file: SourceFile, columns: Sequence[str], *, delimiter: str = ","
) -> Iterator[tuple[int, dict[str | None, Any]]]:
    """Yield the number of the last line, and the cells by column, of each row of a CSV table.

    A row with more cells than the header has a list of them under None; one with fewer has None for them.

    :param columns: Columns that the header must have.
    :raises CorpusError: if the file is damaged, not UTF-8 or no such table.
    """
    with opened_text(file, newline="") as text:
        reader = csv.DictReader(text, delimiter=delimiter, strict=True)
        try:
            present = reader.fieldnames or ()
            if lacking := [column for column in columns if column not in present]:
                raise CorpusError(
                    f"{file.address} has no column {lacking[0]!r}, only {', '.join(map(str, list(present)[:5]))}; "
                    f"expected {', '.join(columns[:5])} among the columns. {file.again}"
                )
            for row in reader:
                yield reader.line_num, row
        except csv.Error as error:
            raise CorpusError(f"{file.address}:{reader.line_num}: no CSV table ({error}). {file.again}") from error


@contextlib.contextmanager
def opened_text(file: SourceFile, *, newline: str | None) -> Iterator[IO[str]]:
    """Open a file as UTF-8 text, with or without a byte order mark.

    :raises CorpusError: if the file is damaged or not UTF-8, also while the block reads it.
    """
    try:
        with file.open() as raw:
            yield io.TextIOWrapper(raw, encoding="utf-8-sig", newline=newline)
    except UnicodeDecodeError as error:
        raise CorpusError(f"{file.address} is not UTF-8 ({error.reason}). {file.again}") from error
    except DAMAGE as error:
        raise damaged(file, error) from error


def bytes_of(file: SourceFile) -> bytes:
    """Return the bytes of a whole file.

    :raises CorpusError: if the file is damaged or too large.
    """
    if file.size > MOST_WHOLE:
        raise CorpusError(
            f"{file.address} unpacks to {mebibytes(file.size)}; expected {mebibytes(MOST_WHOLE)} at most. {file.again}"
        )
    try:
        return read_whole(file.open)
    except DAMAGE as error:
        raise damaged(file, error) from error


def json_of(file: SourceFile) -> Any:
    """Return the JSON value of a whole file.

    :raises CorpusError: if the file is damaged, too large or no JSON.
    """
    try:
        return json.loads(b"".join(_beginning(io.BytesIO(bytes_of(file)))))
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{file.address} is not JSON ({error}). {file.again}") from error


def records_of(file: SourceFile) -> Iterator[tuple[int, Any]]:
    """Yield number, from 1, and value of each element of a JSON list, one in memory at a time.

    :raises CorpusError: if the file is damaged, no JSON or no list with elements, after all earlier elements.
    """
    number = 0
    for number, record in enumerate(_streamed(file, "item"), start=1):
        yield number, record
    if not number:
        raise CorpusError(f"{file.address} is no JSON list with elements, as upstream has it. {file.again}")


def entries_of(file: SourceFile, *, below: str = "") -> Iterator[tuple[str, Any]]:
    """Yield key and value of each entry of a JSON object, one in memory at a time.

    :param below: Key of the object within the file, or "" for the file itself.
    :raises CorpusError: if the file is damaged, no JSON, or no object with entries, after all earlier entries.
    """
    empty = True
    for entry in _streamed(file, below, entries=True):
        empty = False
        yield entry
    if empty and not below:
        raise CorpusError(f"{file.address} is no JSON object with entries, as upstream has it. {file.again}")


def _streamed(file: SourceFile, place: str, *, entries: bool = False) -> Iterator[Any]:
    """Yield the elements of the list, or the entries of the object, at a place of a JSON file."""
    import ijson

    n_read = 0
    parse = ijson.kvitems if entries else ijson.items
    try:
        with file.open() as raw:
            # Floats, because with exact numbers ijson 3.6 crashes on 5,000 digits.
            for value in parse(ijson.from_iter(_beginning(raw)), place, use_float=True):
                n_read += 1
                yield value
            return
    except (ijson.JSONError, ValueError, RecursionError):
        pass
    except DAMAGE as error:
        raise damaged(file, error) from error
    # Perhaps it stopped at `NaN` or a long number, which Python can read.
    value = json_of(file)
    if entries and place:
        value = value.get(place) if isinstance(value, dict) else None
    if entries:
        value = value.items() if isinstance(value, dict) else ()
    yield from islice(value if entries or isinstance(value, list) else (), n_read, None)


def damaged(file: SourceFile, error: Exception) -> CorpusError:
    """Return the error for a file whose bytes cannot be read."""
    return CorpusError(f"{file.address} is damaged ({str(error) or type(error).__name__}). {file.again}")


def _beginning(raw: IO[bytes]) -> Iterator[bytes]:
    """Yield the blocks of a JSON stream without its byte order mark and the comments above it (as CamRest676 has)."""
    head = raw.read(MIB).removeprefix(codecs.BOM_UTF8)
    while head.lstrip().startswith(COMMENT) and b"\n" in head:
        head = head.lstrip().partition(b"\n")[2]
    return chain([head], iter(lambda: raw.read(MIB), b""))


def listed_twice(file: SourceFile, line: int, name: str, split: str) -> CorpusError:
    """Return the error for a dialogue in the lists of two splits.

    :param file: Second list.
    :param split: Split of the first list.
    """
    return CorpusError(
        f"{file.address}:{line}: {name} is also listed for {split}; expected it in one list. Bring the lists again."
    )


def _tarred(path: Path, stack: contextlib.ExitStack) -> list[SourceFile]:
    most = most_unpacked(path.stat().st_size)

    def require(unpacked: int) -> None:
        if unpacked > most:
            raise CorpusError(f"{path} was not read: it unpacks to more than {most / MIB:,.0f} MiB. Bring it again.")

    try:
        members = stack.enter_context(open_tar(path, require))
    except DAMAGE as error:
        raise CorpusError(f"{path} cannot be read as a tar archive ({error}). Bring it again.") from error
    if away := [member.name for member in members if leads_out(member.name)]:
        raise CorpusError(f"{path} was not read: its member {away[0]!r} names a place outside. Bring it again.")
    return _files(members, str(path))


def _files(members: list[Member], where: str, *, again: str = BRING) -> list[SourceFile]:
    """Return the files of an archive or a folder without those that macOS adds; `.gz` files are unpacked."""
    return [
        SourceFile(
            member.name.removeprefix("./").removesuffix(GZIP),
            f"{where}/{member.name}",
            member.size,
            partial(_gunzipped, member.open) if member.name.endswith(GZIP) else member.open,
            again,
        )
        for member in members
        if MAC_FOLDER not in member.name.split("/") and not member.name.rpartition("/")[2].startswith(MAC_FILE)
    ]


def _gunzipped(opened: Callable[[], IO[bytes]]) -> IO[bytes]:
    raw = opened()
    unpacked = gzip.GzipFile(fileobj=raw)
    # Closed together with the stream above it.
    unpacked.myfileobj = raw  # type: ignore[assignment]
    return cast(IO[bytes], unpacked)
