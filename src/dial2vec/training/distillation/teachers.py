"""What a student imitates: an encoder, or vectors that somebody has already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec.encoder.encoder import DialogueEncoder
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.protocol import Encoder
from dial2vec.encoder.student import StudentEncoder
from dial2vec.encoder.vector_cache import kept_vectors
from dial2vec.errors import CorpusError

ID_COLUMNS = ("dialogue_id", "conversation_id", "id")
VECTOR_COLUMNS = ("embedding", "vector", "embeddings", "vectors")


class Teacher(Protocol):
    """Gives dialogues the vectors that a student learns to give."""

    @property
    def name(self) -> str:
        """Name for reports."""

    @property
    def fingerprint(self) -> str:
        """Hash of everything that decides the vectors."""

    def known(self, dialogues: Sequence[Dialogue]) -> Sequence[Dialogue]:
        """Return the dialogues that have a vector."""

    def vectors(self, dialogues: Sequence[Dialogue], folder: Path) -> NDArray[np.float32]:
        """Return vectors of known dialogues at length 1, [n, e] float32; `folder` keeps what took long to compute."""


@dataclass(frozen=True, slots=True)
class EncoderTeacher:
    """An encoder as a teacher: it knows every dialogue.

    :param encoder: Any encoder, or a student.
    """

    encoder: Encoder
    name: str

    @property
    def fingerprint(self) -> str:
        """Hash of the encoder."""
        return self.encoder.fingerprint()

    def known(self, dialogues: Sequence[Dialogue]) -> Sequence[Dialogue]:
        """Return all dialogues."""
        return dialogues

    def vectors(self, dialogues: Sequence[Dialogue], folder: Path) -> NDArray[np.float32]:
        """Encode the dialogues; a killed run resumes."""
        if isinstance(self.encoder, StudentEncoder):
            return unit_rows(self.encoder.encode(dialogues))
        transformer = cast(DialogueEncoder, self.encoder)
        return unit_rows(kept_vectors(transformer, dialogues, folder=folder, precision="auto"))


class FileTeacher:
    """Vectors from a Parquet file, such as those of an API: a column of ids and a column of lists of numbers.

    :param path: File with `dialogue_id` and `embedding`, or names of `ID_COLUMNS` and `VECTOR_COLUMNS`.
    :raises CorpusError: if the file cannot be read, lacks a column, or has lists of different lengths or without
        numbers.
    """

    def __init__(self, path: Path) -> None:
        self.name = path.name
        table = _read(path)
        names = [_name(table, names, path) for names in (ID_COLUMNS, VECTOR_COLUMNS)]
        table = table.select(names).drop_null()
        ids, column = (table[name].combine_chunks() for name in names)
        _check_types(ids.type, column.type, path)
        lengths = set(pc.unique(pc.list_value_length(column)).to_pylist())
        if len(lengths) != 1 or not (dimension := lengths.pop()):
            raise CorpusError(
                f"{path} holds vectors of different lengths, or without numbers; expected one length. Write it again."
            )
        values = np.asarray(pc.list_flatten(column).cast(pa.float32()).to_numpy(zero_copy_only=False))
        self._vectors = unit_rows(values.reshape(-1, dimension))
        if not np.isfinite(self._vectors).all():
            raise CorpusError(f"{path} holds vectors with NaN or infinity; expected finite numbers. Leave them out.")
        self._places = {str(key): place for place, key in enumerate(ids.to_pylist())}
        if len(self._places) < len(ids):
            twice = next(key for key, count in Counter(map(str, ids.to_pylist())).items() if count > 1)
            raise CorpusError(f"{path} holds the id {twice!r} more than once; expected each id once. Keep one of them.")
        self.fingerprint = f"{path.resolve()} {path.stat().st_mtime_ns} {path.stat().st_size}"

    def known(self, dialogues: Sequence[Dialogue]) -> list[Dialogue]:
        """Return the dialogues whose ids the file has."""
        return [dialogue for dialogue in dialogues if dialogue.dialogue_id in self._places]

    def vectors(self, dialogues: Sequence[Dialogue], folder: Path) -> NDArray[np.float32]:
        """Return the vectors of known dialogues; `folder` is not used."""
        return self._vectors[[self._places[dialogue.dialogue_id] for dialogue in dialogues]]


def _read(path: Path) -> pa.Table:
    try:
        return pq.read_table(path, page_checksum_verification=True)
    except FileNotFoundError as error:
        raise CorpusError(
            f"{path} does not exist; expected a Parquet file of vectors. Correct distil.teacher."
        ) from error
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise CorpusError(f"{path} is no whole Parquet file ({reason}). Write it again.") from error


def _name(table: pa.Table, names: Sequence[str], path: Path) -> str:
    """Return the first of some names that a table has as a column."""
    name = next((name for name in names if name in table.column_names), None)
    if name is None:
        raise CorpusError(
            f"{path} has the columns {', '.join(table.column_names[:8])}; expected {' or '.join(names)} as well. "
            "Rename its columns."
        )
    return name


def _check_types(ids: pa.DataType, vectors: pa.DataType, path: Path) -> None:
    """Raise if ids are no texts or whole numbers, or vectors no lists of numbers."""
    is_list = pa.types.is_list(vectors) or pa.types.is_large_list(vectors) or pa.types.is_fixed_size_list(vectors)
    numbers = is_list and (pa.types.is_floating(vectors.value_type) or pa.types.is_integer(vectors.value_type))
    texts = pa.types.is_string(ids) or pa.types.is_large_string(ids) or pa.types.is_integer(ids)
    if not (texts and numbers):
        raise CorpusError(
            f"{path} holds ids of type {ids} and vectors of type {vectors}; expected texts or whole numbers, and lists "
            "of numbers. Convert its columns."
        )
