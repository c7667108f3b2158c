"""A large table of turns, read in pieces: several processes read it, and no more than a piece each is in memory."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from random import Random

from conversations.dialogue import Origin, write_dialogues
from conversations.errors import CorpusError
from conversations.files import atomic_path
from conversations.formats.formats import stem
from conversations.formats.tables import named_delimiter
from conversations.kept import KeptReading
from conversations.one_file import FileReader
from conversations.options import Options
from conversations.reading import Export
from conversations.redaction import join_and_mask
from conversations.result import SEED, ImportResult, Tally
from conversations.rows import from_rows
from conversations.values.times import ClockReading

# Bytes from which a table is read in pieces, of a piece, and of a piece of which a sample takes a few.
LARGE, PIECE, SMALL_PIECE = 32_000_000, 8_000_000, 250_000
# Lines by which the columns are found; two dialogues are drawn for each one of a sample, because pieces differ.
HEAD_LINES, SPARE = 4_000, 2


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive rows of a table, with all rows of their dialogues if these are not mixed.

    :param begin: Offset of its first byte.
    :param end: Offset after its last byte.
    :param line: Number of its first line.
    """

    begin: int
    end: int
    line: int


@dataclass(frozen=True, slots=True)
class Way:
    """How each piece of a table is read.

    :param folder: Folder for what the pieces hold.
    :param header: First line, with the names of the columns.
    :param kept: Meanings of the columns.
    """

    source: Path
    folder: Path
    header: bytes
    options: Options
    kept: KeptReading
    merge_turns: bool


@dataclass(frozen=True, slots=True)
class Content:
    """What a piece holds, but its dialogues, which are in a file.

    :param ids: Hashes of the ids of its dialogues.
    :param clock: Reading of its times.
    """

    result: ImportResult
    tally: Tally
    ids: tuple[bytes, ...]
    clock: ClockReading
    notes: tuple[str, ...]
    file: Path


Given = tuple[Way, Piece]
Spread = Callable[[Callable[[Given], Content], Sequence[Given]], Iterable[Content]]


def read_in_pieces(
    source: Path, output: Path, options: Options, *, merge_turns: bool, spread: Spread, sample: int | None = None
) -> Export | None:
    """Read a large table into a file of dialogues, and return its description and counts; the result has no dialogues.

    :param output: JSON Lines file to write, atomically; the folder `<output>.pieces` holds the pieces meanwhile.
    :param spread: Applies a function to all pieces, in any processes, and yields the results in order.
    :param sample: Number of dialogues to draw, from pieces all over the table that hold about twice as many; None
        takes all.
    :return: None if the table is small, its columns are not simple, or a dialogue has rows in several pieces: then all
        of it has to be read at once.
    """
    if not source.is_file() or source.suffix.lower() not in (".csv", ".tsv") or source.stat().st_size < LARGE:
        return None
    folder = output.with_name(f"{output.name}.pieces")
    folder.mkdir(exist_ok=True)
    try:
        begun = _begun(source, folder, options, merge_turns)
        if begun is None:
            return None
        way, reader, column, delimiter = begun
        size = PIECE if sample is None else SMALL_PIECE
        pieces = list(_cut(source, column, delimiter, size))
        if sample is not None:
            pieces = pieces[:: max(1, len(pieces) // _needed(sample, reader, folder / "head.csv"))]
        contents = list(spread(read_piece, [(way, piece) for piece in pieces]))
        export = _joined(source, reader, contents)
        if export is not None:
            usable = range(export.tally.usable) if export.tally else range(0)
            drawn = usable if sample is None else set(Random(SEED).sample(usable, min(sample, len(usable))))
            with atomic_path(output) as temporary, temporary.open("wb") as joined:
                lines = chain.from_iterable(content.file.open("rb") for content in contents)
                joined.writelines(line for at, line in enumerate(lines) if at in drawn)
        return export
    except CorpusError:
        # A piece cannot be read in the way of the first one: the whole table tells why.
        return None
    finally:
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


def _begun(source: Path, folder: Path, options: Options, merge_turns: bool) -> tuple[Way, FileReader, int, str] | None:
    """Read the first rows, and return how to read the others, the column of the ids, and the delimiter."""
    with source.open("rb") as table, (folder / "head.csv").open("wb") as head:
        header = table.readline()
        head.write(header)
        head.writelines(line for line, _ in _rows(islice(table, HEAD_LINES)))
    reader = FileReader(folder / "head.csv", stem(source), options)
    reader.read()
    described, kept = reader.description, reader.kept_as
    columns = kept.columns if kept else None
    if kept is None or columns is None or described.notes or described.encoding != "UTF-8" or not options.header:
        return None
    complex_ = (columns.turns, columns.branch, columns.receiver, columns.versions, columns.other_id)
    delimiter = named_delimiter(described.delimiter)
    names = [name.strip() for name in next(csv.reader([header.decode("utf-8-sig")], delimiter=delimiter))]
    if any(complex_) or columns.dialogue_id not in names:
        return None
    way = Way(source, folder, header, replace(options, encoding="utf-8"), kept, merge_turns)
    return way, reader, names.index(columns.dialogue_id), delimiter


def _needed(sample: int, reader: FileReader, head: Path) -> int:
    """Return the number of small pieces that hold about twice so many dialogues as a sample."""
    per_piece = max(1.0, len(reader.groups) * SMALL_PIECE / head.stat().st_size)
    return 1 + int(SPARE * sample / per_piece)


def _rows(lines: Iterable[bytes]) -> Iterator[tuple[bytes, int]]:
    """Yield whole rows, which may have line ends in quotes, with their numbers of lines; a broken end is left out."""
    row, count = b"", 0
    for line in lines:
        row, count = row + line if row else line, count + 1
        if not row.count(b'"') % 2:
            yield row, count
            row, count = b"", 0


def _cut(source: Path, column: int, delimiter: str, size: int) -> Iterator[Piece]:
    """Cut a table into pieces, each at the first row of a dialogue."""
    with source.open("rb") as table:
        begin = end = len(table.readline())
        first = line = 2
        before: str | None = None
        name: str | None
        for row, count in _rows(table):
            if end - begin >= size:
                cells = next(csv.reader([row.decode("utf-8", "replace")], delimiter=delimiter), [])
                name = cells[column] if len(cells) > column else ""
                if before not in (None, name):
                    yield Piece(begin, end, first)
                    begin, first, name = end, line, None
                before = name
            end, line = end + len(row), line + count
        yield Piece(begin, source.stat().st_size, first)


def read_piece(given: Given) -> Content:
    """Read a piece, write its dialogues into a file, and return all else."""
    way, piece = given
    file = way.folder / f"{piece.begin:014d}.jsonl"
    table = file.with_suffix(way.source.suffix)
    with way.source.open("rb") as whole:
        whole.seek(piece.begin)
        table.write_bytes(way.header + whole.read(piece.end - piece.begin))
    reader = FileReader(table, stem(way.source), way.options, (way.kept,))
    reader.read()
    result = reader.result
    clock = from_rows(reader.groups, result)
    table.unlink()
    join_and_mask(result, None, name="", merge_turns=way.merge_turns)
    write_dialogues(file, result.dialogues)
    names = [
        *(dialogue.dialogue_id for dialogue in result.dialogues),
        *(record.dialogue_id for record in result.quarantine),
    ]
    ids = tuple(blake2b(name.encode("utf-8", "replace"), digest_size=8).digest() for name in names if name)
    result.quarantine[:] = [
        replace(record, origin=Origin(str(way.source), record.origin.line + piece.line - 2))
        for record in result.quarantine
    ]
    tally, result.dialogues, result.cuts = Tally.of(result.dialogues), [], {}
    return Content(result, tally, ids, clock, reader.description.notes, file)


def _joined(source: Path, reader: FileReader, contents: Sequence[Content]) -> Export | None:
    """Return the counts of all pieces; None if their dialogues, or the ways in which they were read, do not fit."""
    ids: set[bytes] = set()
    whole, tally = ImportResult(), Tally()
    for content in contents:
        if content.clock != contents[0].clock or content.notes or not ids.isdisjoint(content.ids):
            return None
        ids.update(content.ids)
        whole.add(content.result)
        tally.add(content.tally)
    if not tally.usable:
        return None
    return Export(source, {source: reader}, whole, tally=tally)
