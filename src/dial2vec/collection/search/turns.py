"""Vectors of a collection's turns, each read alone, in 8 bits; files that grow with the collection.

A collection by an encoder that was trained on nothing also has vectors of its dialogues by the general student, as if
each dialogue were a turn: topics are found by both together more often than by either (docs/search.md).
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from conversations.files import read_json, write_checked_json
from conversations.progress import bar_to
from dial2vec.collection.collection_folder import CollectionFolder, append_blocks, mended_by_index, whole_file
from dial2vec.data.workers import spread, works_alone
from dial2vec.encoder.checksums import note
from dial2vec.encoder.folder import check_files, is_student
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.names import PACKAGED
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.protocol import Encoder
from dial2vec.encoder.student import StudentEncoder
from dial2vec.errors import CorpusError, Dial2vecError
from dial2vec.files import folder_lock

if TYPE_CHECKING:
    from tqdm.auto import tqdm

# What has a vector, and the folder with these vectors.
Read: TypeAlias = Literal["turns", "themes"]
# Dialogues encoded at a time; dialogues of a part, after which the record is written; parts for which one more process
# is worth its start.
AT_ONCE, PART, FEWEST_PARTS = 32, 1_024, 4
# Turns of a block: 6 MB as float32 at d = 384, which a processor's cache holds; of a block of signs.
BLOCK, SIGNS_BLOCK = 4_096, 65_536
# Turns are far apart if they are spread over so many times their number.
FAR = 8


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """The content of `turns.json`.

    :param dialogues: number of dialogues whose turns are valid.
    :param turns: number of their turns.
    """

    model: str
    fingerprint: str
    dimension: int
    dialogues: int
    turns: int


@dataclass(frozen=True, slots=True)
class NewTurns:
    """Vectors of turns, as their files hold them.

    :param codes: vectors divided by their scales, int8 [m, d].
    :param scales: largest value of each vector, divided by 127, float32 [m].
    :param signs: a bit per value, set if it is above 0, uint64 [m, d / 64, rounded up].
    :param dialogues: number of dialogues that these m turns are of.
    """

    codes: NDArray[np.int8]
    scales: NDArray[np.float32]
    signs: NDArray[np.uint64]
    dialogues: int


class TurnVectors:
    """Vectors of the turns, mapped from files.

    :param folder: folder `turns` of a collection.
    :param starts: place of each dialogue's first turn, and the number of all turns, int64 [n + 1].
    """

    def __init__(self, folder: Path, record: TurnRecord, starts: NDArray[np.int64]) -> None:
        self.folder, self.record, self.starts = folder, record, starts
        shape = (record.turns, record.dimension)
        self._codes = np.memmap(folder / "vectors.i8", dtype=np.int8, mode="r", shape=shape)
        self._scattered = _without_reading_ahead(folder / "vectors.i8", shape)
        self._scales = np.memmap(folder / "scales.f32", dtype=np.float32, mode="r", shape=shape[:1])
        words = (record.turns, _sign_words(record.dimension))
        self._signs = np.memmap(folder / "signs.u64", dtype=np.uint64, mode="r", shape=words)

    @cached_property
    def encoder(self) -> Encoder:
        """Encoder of the turns and of queries for them."""
        copy = self.folder / "model"
        return load_encoder(copy if copy.is_dir() else self.record.model)

    def vectors(self, turns: NDArray[np.int64] | slice) -> NDArray[np.float32]:
        """Return the vectors of these turns, about of length 1, float32 [m, d]; numbers count over the collection."""
        return np.asarray(self._codes_of(turns) * self._scales[turns][:, None], dtype=np.float32)

    def cosines(self, queries: NDArray[np.float32], turns: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Return the cosines of turns and queries, float32 [m, q], block by block.

        :param queries: vectors of length 1, float32 [q, d].
        :param turns: turns to compare, numbered over the collection; None compares all.
        """
        n = self.record.turns if turns is None else len(turns)
        cosines = np.empty((n, len(queries)), dtype=np.float32)
        for first in range(0, n, BLOCK):
            part = slice(first, min(first + BLOCK, n))
            of = part if turns is None else turns[part]
            cosines[part] = (self._codes_of(of).astype(np.float32) @ queries.T) * self._scales[of][:, None]
        return cosines

    def _codes_of(self, turns: NDArray[np.int64] | slice) -> NDArray[np.int8]:
        """Return the numbers of these turns, int8 [m, d], from the file as it suits their distance."""
        near = isinstance(turns, slice) or not len(turns) or turns[-1] - turns[0] < FAR * len(turns)
        return np.asarray((self._codes if near else self._scattered)[turns])

    def agreement(self, query: NDArray[np.float32]) -> NDArray[np.int32]:
        """Return how many signs of the query's vector the turn has that shares most, per dialogue, int32 [n].

        Reads an eighth of the bytes that cosines read (Charikar 2002: signs estimate the angle).

        :param query: vector, float32 [d].
        """
        signs = _signs(query[None])[0]
        apart = np.empty(self.record.turns, dtype=np.int32)
        for first in range(0, len(apart), SIGNS_BLOCK):
            block = np.bitwise_count(self._signs[first : first + SIGNS_BLOCK] ^ signs)
            apart[first : first + SIGNS_BLOCK] = block.astype(np.float32) @ np.ones(block.shape[1], np.float32)
        return self.record.dimension - np.minimum.reduceat(apart, self.starts[:-1])

    def of_dialogues(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the turns of these dialogues, and where those of each begin in them, int64 [m] and [rows]."""
        sizes = self.starts[rows + 1] - self.starts[rows]
        begins = np.cumsum(sizes) - sizes
        return np.repeat(self.starts[rows] - begins, sizes) + np.arange(sizes.sum()), begins


def _without_reading_ahead(path: Path, shape: tuple[int, int]) -> NDArray[np.int8]:
    """Map a file of vectors for turns from all over it, int8.

    The system reads ahead of each, thirty times as much as is asked for. That takes most of the time of a question if
    the file does not fit into memory.
    """
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), shape[0] * shape[1], access=mmap.ACCESS_READ)
    if hasattr(mmap, "MADV_RANDOM"):
        mapped.madvise(mmap.MADV_RANDOM)
    return np.frombuffer(mapped, dtype=np.int8).reshape(shape)


def open_turns(collection: CollectionFolder, read: Read = "turns") -> TurnVectors | None:
    """Return the vectors of the turns; None if they are missing or damaged, or those of some dialogues are.

    :param read: "themes" for those of the dialogues by the general student.
    """
    record, folder = _record(collection, read), collection.folder / read
    if record is None or record.dialogues != len(collection) or not record.turns:
        return None
    return TurnVectors(folder, record, collection.starts if read == "turns" else np.arange(len(collection) + 1))


def complete_turns(collection: CollectionFolder, *, progress: bool = False) -> TurnVectors:
    """Return the vectors of the turns; missing ones are made first, as by `dial2vec index`.

    :raises CorpusError: if the collection has no turns.
    :raises BusyError: if another process adds to the collection.
    """
    turns = open_turns(collection)
    if turns is None:
        with folder_lock(collection.folder, "adds turns to"):
            update_turns(collection, load_encoder(collection.model), progress=progress)
        turns = open_turns(collection)
    if turns is None:
        raise CorpusError(f"{collection.folder} has no turns; expected dialogues with some. Index dialogues first.")
    return turns


def update_turns(
    collection: CollectionFolder,
    encoder: Encoder,
    *,
    batch_size: int = 32,
    progress: bool = True,
    read: Read = "turns",
) -> int:
    """Encode the turns of dialogues whose turns have no vectors, and return the number of these dialogues.

    The turns are read by the start of the encoder, the encoder that it was trained from, because training for themes
    makes single turns harder to find; by the encoder itself if it has no start, as a student. A killed run resumes.

    :param batch_size: turns per batch.
    :param read: "themes" encodes whole dialogues instead, by a student.
    """
    record, folder = _record(collection, read), collection.folder / read
    if record is not None and record.dialogues == len(collection):
        return 0
    again = record is None
    folder.mkdir(exist_ok=True)
    if record is None:
        reader = start_of(encoder)
        # A student, or an encoder whose start cannot be used, still has the name of its base encoder.
        if reader is encoder or reader.name not in PACKAGED:
            reader.save_copy(folder / "model")
        record = TurnRecord(reader.name, reader.fingerprint(), reader.dimension, 0, 0)
    else:
        copy = folder / "model"
        reader = load_encoder(copy if copy.is_dir() else record.model)
    n_new = len(collection) - record.dialogues
    dialogues = collection.dialogues(range(record.dialogues, len(collection)))
    with bar_to(n_new, read, unit="dialogue", shown=progress) as bar:
        for vectors in _encoded_parts(reader, folder, dialogues, batch_size, bar):
            record = append_turns(folder, record, vectors)
    for name, size in _sizes(record).items():
        note(folder / name, size, afresh=again)
    return n_new


def has_untrained(collection: CollectionFolder) -> bool:
    """Return whether an encoder that was trained on nothing, and is no student, made the vectors of a collection."""
    record = _record(collection, "turns")
    return (
        record is not None
        and record.fingerprint == collection.manifest.fingerprint
        and not is_student(collection.model)
    )


def append_turns(folder: Path, record: TurnRecord, new: NewTurns) -> TurnRecord:
    """Write vectors after those that the record counts, and return the new record, which is written last.

    :param folder: folder `turns` of a collection.
    """
    blocks: tuple[NDArray[Any], ...] = new.codes, new.scales, new.signs
    for (name, size), block in zip(_sizes(record).items(), blocks, strict=True):
        append_blocks(folder / name, size, [block])
    record = replace(record, dialogues=record.dialogues + new.dialogues, turns=record.turns + len(new.codes))
    write_checked_json(folder / "turns.json", asdict(record))
    return record


def start_of(encoder: Encoder) -> Encoder:
    """Return the encoder that a transformer was trained from; itself for all others, or if that cannot be loaded."""
    if encoder.max_length is None:
        return encoder
    try:
        start = load_encoder(encoder.name)
    except Dial2vecError:
        return encoder
    return start if start.dimension == encoder.dimension else encoder


def _encoded_parts(
    reader: Encoder, folder: Path, dialogues: Iterator[Dialogue], batch_size: int, bar: tqdm[Any]
) -> Iterator[NewTurns]:
    """Yield the vectors of parts of the dialogues, in order; their number moves the bar."""
    parts = iter(lambda: list(islice(dialogues, PART)), [])
    n_parts = -(-bar.total // PART)
    # torch uses all processors itself.
    if not isinstance(reader, StudentEncoder) or works_alone(n_parts, fewest=FEWEST_PARTS):
        for part in parts:
            yield encode_part(reader, part, folder.name, batch_size, bar.update)
        return
    copy = folder.resolve() / "model"
    name = str(copy) if copy.is_dir() else reader.name
    work = partial(_encode_part, name, folder.name, batch_size)
    for new in spread(work, parts, n_parts=n_parts, fewest=FEWEST_PARTS):
        yield new
        bar.update(new.dialogues)


def _encode_part(name: str, read: str, batch_size: int, dialogues: list[Dialogue]) -> NewTurns:
    return encode_part(_reader(name), dialogues, read, batch_size)


@cache
def _reader(name: str) -> Encoder:
    """Return the encoder of the turns; a process loads it once."""
    return load_encoder(name)


def encode_part(
    reader: Encoder,
    dialogues: list[Dialogue],
    read: str,
    batch_size: int,
    done: Callable[[int], object] = lambda _: None,
) -> NewTurns:
    """Return the vectors of the turns of some dialogues, or of the dialogues.

    :param read: "turns" or "themes".
    :param done: called with the number of dialogues of each step.
    """
    steps = []
    for first in range(0, len(dialogues), AT_ONCE):
        part = dialogues[first : first + AT_ONCE]
        texts = [turn.text for dialogue in part for turn in dialogue.turns]
        alone = read == "turns"
        steps.append(reader.encode_utterances(texts, batch_size=batch_size) if alone else reader.encode(part))
        done(len(part))
    units = unit_rows(np.concatenate(steps)).astype(np.float32)
    scales = np.maximum(np.abs(units).max(1), np.finfo(np.float32).tiny) / 127
    codes = np.rint(units / scales[:, None]).astype(np.int8)
    return NewTurns(codes, scales.astype(np.float32), _signs(units), len(dialogues))


def _sizes(record: TurnRecord) -> dict[str, int]:
    signs = record.turns * _sign_words(record.dimension) * 8
    return {"vectors.i8": record.turns * record.dimension, "scales.f32": record.turns * 4, "signs.u64": signs}


def _sign_words(dimension: int) -> int:
    return -(-dimension // 64)


def _signs(vectors: NDArray[np.float32]) -> NDArray[np.uint64]:
    bits = np.zeros((len(vectors), _sign_words(vectors.shape[1]) * 64), dtype=bool)
    bits[:, : vectors.shape[1]] = vectors > 0
    return np.packbits(bits, axis=1).view(np.uint64)


def _record(collection: CollectionFolder, read: Read) -> TurnRecord | None:
    """Return the record of the vectors; None if they are missing, or damaged, which is told and mended by `index`."""
    folder = collection.folder / read
    if not folder.is_dir():
        return None
    with mended_by_index():
        record = TurnRecord(**read_json(whole_file(folder / "turns.json", 1, "")))
        for name, size in _sizes(record).items():
            whole_file(folder / name, size, "")
        check_files(folder / "model", "")
        return record
    return None
