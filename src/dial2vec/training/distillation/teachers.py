"""What a student imitates: an encoder, or vectors that somebody has already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dial2vec.dialogue import Dialogue
from dial2vec.encoder.loading import Encoder
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.student import StudentEncoder
from dial2vec.encoder.vector_cache import kept_vectors
from dial2vec.errors import CorpusError

ID_COLUMNS = ("dialogue_id", "conversation_id", "id")
VECTOR_COLUMNS = ("embedding", "vector", "embeddings", "vectors")
# Dialogues that a file of vectors has to know.
LEAST_KNOWN = 100


class Teacher(Protocol):
    """Gives dialogues the vectors that a student learns to give."""

    @property
    def name(self) -> str:
        """Name for reports."""

    @property
    def fingerprint(self) -> str:
        """Hash of everything that decides the vectors."""

    def known(self, dialogues: Sequence[Dialogue]) -> list[Dialogue]:
        """Return the dialogues that have a vector."""

    def vectors(self, dialogues: Sequence[Dialogue], folder: Path) -> NDArray[np.float32]:
        """Return vectors of known dialogues at length 1, [n, e] float32; `folder` keeps what took long to compute."""


@dataclass(frozen=True, slots=True)
class EncoderTeacher:
    """An encoder as a teacher: it knows every dialogue.

    :param encoder: Any encoder, or a student.
    :param name: Its name.
    """

    encoder: Encoder
    name: str

    @property
    def fingerprint(self) -> str:
        """Hash of the encoder."""
        return self.encoder.fingerprint()

    def known(self, dialogues: Sequence[Dialogue]) -> list[Dialogue]:
        """Return all dialogues."""
        return list(dialogues)

    def vectors(self, dialogues: Sequence[Dialogue], folder: Path) -> NDArray[np.float32]:
        """Encode the dialogues; a killed run resumes."""
        if isinstance(self.encoder, StudentEncoder):
            return unit_rows(self.encoder.encode(dialogues))
        return unit_rows(kept_vectors(self.encoder, dialogues, folder=folder, precision="auto"))


class FileTeacher:
    """Vectors from a Parquet file, such as those of an API: a column of ids and a column of lists of numbers.

    :param path: File with `dialogue_id` and `embedding`, or names of `ID_COLUMNS` and `VECTOR_COLUMNS`.
    :raises CorpusError: if the file cannot be read, lacks a column, or has lists of different lengths or without
        numbers.
    """

    def __init__(self, path: Path) -> None:
        self.name = path.name
        table = _read(path)
        ids, column = (_column(table, names, path) for names in (ID_COLUMNS, VECTOR_COLUMNS))
        lengths = set(pc.unique(pc.list_value_length(column)).to_pylist())
        if len(lengths) != 1 or not (dimension := lengths.pop()):
            raise CorpusError(
                f"{path} holds vectors of different lengths, or without numbers; expected one length. Write it again."
            )
        values = np.asarray(pc.list_flatten(column).cast(pa.float32()))
        self._vectors = unit_rows(values.reshape(-1, dimension))
        if not np.isfinite(self._vectors).all():
            raise CorpusError(f"{path} holds vectors with NaN or infinity; expected finite numbers. Leave them out.")
        self._places = {str(key): place for place, key in enumerate(ids.to_pylist())}
        self.fingerprint = f"{path.resolve()} {path.stat().st_mtime_ns} {path.stat().st_size}"

    def known(self, dialogues: Sequence[Dialogue]) -> list[Dialogue]:
        """Return the dialogues whose ids the file has."""
        return [dialogue for dialogue in dialogues if dialogue.dialogue_id in self._places]

    def vectors(self, dialogues: Sequence[Dialogue], folder: Path) -> NDArray[np.float32]:
        """Return the vectors of known dialogues; `folder` is not used."""
        return self._vectors[[self._places[dialogue.dialogue_id] for dialogue in dialogues]]


def _read(path: Path) -> pa.Table:
    try:
        return pq.read_table(path)
    except FileNotFoundError as error:
        raise CorpusError(
            f"{path} does not exist; expected a Parquet file of vectors. Correct distil.teacher."
        ) from error
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise CorpusError(f"{path} is no whole Parquet file ({reason}). Write it again.") from error


def _column(table: pa.Table, names: Sequence[str], path: Path) -> Any:
    name = next((name for name in names if name in table.column_names), None)
    if name is None:
        raise CorpusError(
            f"{path} has the columns {', '.join(table.column_names[:8])}; expected {' or '.join(names)} as well. "
            "Rename its columns."
        )
    return table[name].combine_chunks()
