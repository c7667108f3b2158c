"""What a collection is on disk, and how it is read.

Everything in the folder only ever grows at its end; `collection.json`, written last, says how much of it counts. What a
killed addition has left behind it is not read, and is cut off by the next.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dial2vec.dialogue import Dialogue, dialogue_from_record
from dial2vec.errors import ArtifactError, CorpusError, did_you_mean
from dial2vec.files import write_json

MANIFEST = "collection.json"
FORMAT = 1
ROWS = pa.schema(
    [
        ("dialogue_id", pa.string()),
        ("labels", pa.list_(pa.string())),
        ("date", pa.timestamp("s", tz="UTC")),
        ("speakers", pa.list_(pa.string())),
        ("turns", pa.int32()),
        ("words", pa.int32()),
        # Where its line begins in `dialogues.jsonl`, and a hash of what is said.
        ("byte", pa.int64()),
        ("content", pa.uint64()),
    ]
)


@dataclass(frozen=True, slots=True)
class Addition:
    """Dialogues that came together.

    :param source: file or folder they are from.
    :param added: when, ISO 8601 in UTC.
    :param dialogues: how many.
    :param text_bytes: of their lines in `dialogues.jsonl`.
    """

    source: str
    added: str
    dialogues: int
    text_bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What `collection.json` holds.

    :param model: what the encoder was loaded from; a copy of it is in the folder `model`.
    :param fingerprint: of that encoder, `dial2vec.encoder.vector_cache.model_fingerprint`.
    :param dimension: length of the vectors.
    :param additions: oldest first.
    """

    model: str
    fingerprint: str
    dimension: int
    additions: tuple[Addition, ...] = ()

    @property
    def dialogues(self) -> int:
        """Return how many there are."""
        return sum(addition.dialogues for addition in self.additions)

    @property
    def text_bytes(self) -> int:
        """Return how much of `dialogues.jsonl` counts."""
        return sum(addition.text_bytes for addition in self.additions)

    def write(self, folder: Path) -> None:
        """Make it what the folder holds; atomic."""
        write_json(folder / MANIFEST, {"format": FORMAT} | asdict(self))

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read it.

        :raises ArtifactError: when the folder is no collection, or one of another version.
        """
        try:
            found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            if (version := found.pop("format")) != FORMAT:
                raise ArtifactError(
                    f"{folder} is a collection in format {version}; expected {FORMAT}. Index its dialogues anew."
                )
            return cls(**found | {"additions": tuple(Addition(**one) for one in found["additions"])})
        except (FileNotFoundError, NotADirectoryError) as error:
            raise ArtifactError(
                f"{folder} is no collection: it has no {MANIFEST}. `dial2vec index FILE --output {folder}` makes one."
            ) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ArtifactError(
                f"{folder / MANIFEST} cannot be read ({error}). Remove {folder}, and index its dialogues anew."
            ) from error


class Collection:
    """Dialogues with their vectors, as they were when it was opened; what is added later is seen by opening anew.

    :param folder: made by `dial2vec.collection.add`.
    :raises ArtifactError: when it is no collection.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.manifest = Manifest.read(self.folder)

    def __len__(self) -> int:
        """Return the number of dialogues."""
        return self.manifest.dialogues

    @property
    def model(self) -> Path:
        """The folder of the encoder whose vectors these are, for `DialogueEncoder.from_pretrained`."""
        return self.folder / "model"

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        """Vectors of length 1, float32 [n, d], mapped from the file and read-only; what has none is all zeros."""
        shape = (len(self), self.manifest.dimension)
        if not len(self):
            return np.zeros(shape, dtype=np.float32)
        return np.memmap(self._whole("vectors.f32", shape[0] * shape[1] * 4), dtype=np.float32, mode="r", shape=shape)

    @cached_property
    def rows(self) -> pa.Table:
        """What is known of each dialogue, in the order of the vectors: the columns of `ROWS`."""
        files = [rows_file(self.folder, number) for number in range(len(self.manifest.additions))]
        return pa.concat_tables([pq.read_table(path, schema=ROWS) for path in files]) if files else ROWS.empty_table()

    @cached_property
    def row_of(self) -> dict[str, int]:
        """Row of each dialogue by its id."""
        return {name: row for row, name in enumerate(self.rows["dialogue_id"].to_pylist())}

    def row(self, dialogue_id: str) -> int:
        """Return the row of a dialogue.

        :raises CorpusError: when it is not in the collection.
        """
        try:
            return self.row_of[dialogue_id]
        except KeyError:
            hint = did_you_mean(dialogue_id, self.row_of) if len(self) <= 10_000 else ""
            raise CorpusError(
                f"{self.folder} has no dialogue {dialogue_id!r}; expected one of its {len(self)} ids.{hint}"
            ) from None

    def dialogues(self, rows: Sequence[int] | None = None) -> Iterator[Dialogue]:
        """Yield the dialogues of these rows, or all, in this order."""
        starts = self.rows["byte"]
        with self._whole("dialogues.jsonl", self.manifest.text_bytes).open("rb") as handle:
            for row in range(len(self)) if rows is None else rows:
                handle.seek(starts[row].as_py())
                yield dialogue_from_record(json.loads(handle.readline()))

    def _whole(self, name: str, size: int) -> Path:
        path = self.folder / name
        found = path.stat().st_size if path.is_file() else 0
        if found < size:
            raise ArtifactError(
                f"{path} has {found} bytes; expected at least {size}. Remove {self.folder}, and index its dialogues "
                "anew."
            )
        return path


def rows_file(folder: Path, number: int) -> Path:
    """Return where the rows of an addition are."""
    return folder / "rows" / f"{number:06d}.parquet"
