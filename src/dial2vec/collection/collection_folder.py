"""The files of a collection, and reading them.

Each file only grows at its end. `collection.json` is written last and says how many bytes count. Bytes that a killed
addition left after them are not read; the next addition cuts them off.
"""

from __future__ import annotations

import json
import logging
import os
import textwrap
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from safetensors import SafetensorError

from conversations.dialogue import Dialogue, dialogue_from_record
from conversations.files import read_json, write_checked_json, write_errors
from dial2vec.collection.adapting.adaptation import Adaptation, read_adaptation
from dial2vec.data.metadata import PACKED, Evidence, kinds_of, typed, with_fact
from dial2vec.encoder.checksums import damage_of, has_checksum, once
from dial2vec.errors import ArtifactError, CorpusError, Dial2vecError, did_you_mean

MANIFEST = "collection.json"
# Folder of labels of one's own.
LENSES = "lenses"
FORMAT = 1
log = logging.getLogger(__name__)
# Vectors that are looked at, at a time.
AT_ONCE = 65_536
# Errors of damaged arrays, which derive from no other.
DAMAGED = (zipfile.BadZipFile, SafetensorError)
ROWS = pa.schema(
    [
        ("dialogue_id", pa.string()),
        ("labels", pa.list_(pa.string())),
        ("date", pa.timestamp("s", tz="UTC")),
        ("speakers", pa.list_(pa.string())),
        ("turns", pa.int32()),
        ("words", pa.int32()),
        # Offset of the line in `dialogues.jsonl`, and hash of speakers and texts.
        ("byte", pa.int64()),
        ("content", pa.uint64()),
        # Missing in rows that older versions wrote, and then read as null.
        ("metadata", PACKED),
    ]
)


@dataclass(frozen=True, slots=True)
class Addition:
    """Dialogues added in one run.

    :param source: file or folder of the dialogues.
    :param added: time of the addition, ISO 8601 in UTC.
    :param text_bytes: length of their lines in `dialogues.jsonl`.
    """

    source: str
    added: str
    dialogues: int
    text_bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of `collection.json`.

    :param model: name or folder of the encoder; a copy of the encoder is in the folder `model`.
    :param fingerprint: result of that encoder's `fingerprint()`.
    :param additions: oldest first.
    """

    model: str
    fingerprint: str
    dimension: int
    additions: tuple[Addition, ...] = ()

    @property
    def dialogues(self) -> int:
        """Return the number of dialogues."""
        return sum(addition.dialogues for addition in self.additions)

    @property
    def text_bytes(self) -> int:
        """Return the number of bytes of `dialogues.jsonl` that count."""
        return sum(addition.text_bytes for addition in self.additions)

    def write(self, folder: Path) -> None:
        """Write `collection.json` atomically."""
        write_checked_json(folder / MANIFEST, {"format": FORMAT} | asdict(self))

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read `collection.json`.

        :raises ArtifactError: if the folder is no collection, or a collection in another format.
        """
        path = folder / MANIFEST
        if not path.is_file():
            made = f"index {folder} --output FOLDER" if folder.is_file() else f"index FILE --output {folder}"
            raise ArtifactError(f"{folder} is no collection: it has no {MANIFEST}. `dial2vec {made}` makes one.")
        with readable(path, f". Remove {folder}, and index its dialogues again."):
            record = read_json(path)
            version, additions = record.pop("format"), tuple(Addition(**each) for each in record.pop("additions"))
            manifest = cls(**record, additions=additions)
        if version != FORMAT:
            raise ArtifactError(
                f"{folder} is a collection in format {version}; expected {FORMAT}. Index its dialogues again."
            )
        return manifest


class CollectionFolder:
    """Dialogues with their vectors. Open the collection again to see dialogues that were added since.

    :param folder: folder made by `dial2vec.collection.add`.
    :raises ArtifactError: if the folder is no collection.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.manifest = Manifest.read(self.folder)

    def __len__(self) -> int:
        """Return the number of dialogues."""
        return self.manifest.dialogues

    @property
    def model(self) -> Path:
        """Folder of the encoder that made the vectors, for `dial2vec.load_encoder`."""
        return self.folder / "model"

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        """Vectors of length 1, float32 [n, d], mapped from the file, read-only; a zero vector stays zero."""
        shape = (len(self), self.manifest.dimension)
        if not len(self):
            return np.zeros(shape, dtype=np.float32)
        path = self._whole("vectors.f32", shape[0] * shape[1] * 4)
        vectors: NDArray[np.float32] = np.memmap(path, dtype=np.float32, mode="r", shape=shape)
        # Written with checksums, vectors are finite.
        if not has_checksum(path) and (problem := once(path, f"finite {shape}", lambda: _not_finite(vectors))):
            raise ArtifactError(f"{path} is damaged: {problem}; expected finite numbers. {self._again}")
        return vectors

    @cached_property
    def adaptation(self) -> Adaptation | None:
        """Adaptation of the vectors to the dialogues; None if `dial2vec index` was told to leave it out."""
        return read_adaptation(self.folder)

    @cached_property
    def adapted(self) -> NDArray[np.float32]:
        """Vectors that are grouped and drawn, like `vectors`: the adapted ones, if there is an adaptation."""
        if self.adaptation is None or self.adaptation.weight is None:
            return self.vectors
        return self.adaptation.vectors(self.folder, self.vectors)

    @cached_property
    def rows(self) -> pa.Table:
        """Table with the columns of `ROWS`, one row per dialogue, in the order of the vectors.

        The values of lenses (`dial2vec.collection.lenses`) count as metadata; a key of the import goes first.
        """
        files = [rows_file(self.folder, number) for number in range(len(self.manifest.additions))]
        if not files:
            return ROWS.empty_table()
        table = pa.concat_tables([_rows_of(path, self._again) for path in files])
        for path in sorted((self.folder / LENSES).glob("*.parquet")):
            table = _with_lens(table, path)
        return table

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Place of each dialogue's first turn among all turns, and the number of all turns, int64 [n + 1]."""
        # By DLPack, because pyarrow imports pandas to make an array of numpy.
        sizes: NDArray[Any] = np.from_dlpack(self.rows["turns"].combine_chunks())
        return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])

    @property
    def times(self) -> NDArray[np.datetime64]:
        """Start of each dialogue in UTC, datetime64[s]; NaT without a date."""
        seconds = self.rows["date"].cast(pa.int64()).fill_null(np.iinfo(np.int64).min)
        return np.asarray(seconds.to_numpy().astype("datetime64[s]"))

    @property
    def days(self) -> NDArray[np.int64]:
        """Day of each dialogue, in days since 1970, int64 [n]; its addition's without a date, or with a later one."""
        additions = self.manifest.additions
        days = np.array([addition.added[:10] for addition in additions], dtype="datetime64[D]")
        added = np.repeat(days, [addition.dialogues for addition in additions])
        own = self.times.astype("datetime64[D]")
        return np.where(own <= added, own, added).astype(np.int64)

    @cached_property
    def metadata_kinds(self) -> dict[str, Evidence]:
        """Kind and type of each key of the metadata, the most frequent key first."""
        return kinds_of([self.rows["metadata"]])

    def metadata(self, key: str) -> pa.Array:
        """Return the values of a key of the metadata, one per dialogue, in the type of `metadata_kinds`."""
        return typed(self.rows["metadata"], key, self.metadata_kinds[key])

    @cached_property
    def row_of(self) -> dict[str, int]:
        """Row number by dialogue id."""
        return {name: row for row, name in enumerate(self.rows["dialogue_id"].to_pylist())}

    @cached_property
    def originals(self) -> NDArray[np.int64]:
        """Row of the first dialogue with the same speakers and texts as each one, int64 [n]."""
        _, first, copies = np.unique(self.rows["content"].to_numpy(), return_index=True, return_inverse=True)
        return np.asarray(first[copies])

    def row(self, dialogue_id: str) -> int:
        """Return the row of a dialogue.

        :raises CorpusError: if the collection has no such dialogue.
        """
        try:
            return self.row_of[dialogue_id]
        except KeyError:
            hint = did_you_mean(dialogue_id, self.row_of) if len(self) <= 10_000 else ""
            raise CorpusError(
                f"{self.folder} has no dialogue {dialogue_id!r}; expected one of its {len(self)} ids.{hint}"
            ) from None

    def dialogues(self, rows: Sequence[int] | None = None) -> Iterator[Dialogue]:
        """Yield the dialogues of these rows, in this order; of all rows if `rows` is None."""
        if not len(self):
            # Nothing was added yet, so there is no file.
            return
        starts = self.rows["byte"]
        with self._whole("dialogues.jsonl", self.manifest.text_bytes).open("rb") as handle:
            for row in range(len(self)) if rows is None else rows:
                handle.seek(starts[row].as_py())
                with readable(f"dialogue {row + 1} of {handle.name}", f". {self._again}"):
                    dialogue = dialogue_from_record(json.loads(handle.readline()))
                yield dialogue

    def check(self) -> None:
        """Raise `ArtifactError` if vectors, dialogues or rows are damaged, as reading them does."""
        if self.rows.num_rows and len(self.vectors):
            self._whole("dialogues.jsonl", self.manifest.text_bytes)

    @property
    def _again(self) -> str:
        return f"Bring it back from a backup, or remove {self.folder} and index its dialogues again."

    def _whole(self, name: str, size: int) -> Path:
        return whole_file(self.folder / name, size, self._again)


def _not_finite(vectors: NDArray[np.float32]) -> str:
    for first in range(0, len(vectors), AT_ONCE):
        # The sum of a vector is not finite if a number is not.
        broken = np.flatnonzero(~np.isfinite(vectors[first : first + AT_ONCE].sum(1)))
        if len(broken):
            return f"row {first + broken[0]} has NaN or infinity"
    return ""


def _rows_of(path: Path, mend: str) -> pa.Table:
    whole_file(path, 1, mend)
    with readable(path, f". {mend}"):
        table = checked_table(path)
    for field in ROWS:
        if field.name not in table.column_names:
            table = table.append_column(field, pa.nulls(len(table), field.type))
    return table.select(ROWS.names).cast(ROWS)


def _with_lens(table: pa.Table, path: Path) -> pa.Table:
    """Return the rows with the values of a lens in their metadata; dialogues added since have none."""
    again = f"Remove it, and make it again with `dial2vec lens {path.parents[1]} --name {path.stem}`."
    with readable(path, f"; expected the labels of a lens. {again}"):
        lens = checked_table(path, ["dialogue_id", "value"])
        places = pc.index_in(table["dialogue_id"], value_set=lens["dialogue_id"]).combine_chunks()
        values = lens["value"].cast(pa.string()).combine_chunks().take(places)
    place = table.column_names.index("metadata")
    return table.set_column(place, table.schema.field(place), with_fact(table["metadata"], path.stem, values))


def checked_table(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read a table and compare the checksums of its pages; `pq.read_table` imports pandas, which takes longer."""
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        return file.read(None if columns is None else list(columns))


@contextmanager
def readable(what: object, mend: str) -> Iterator[None]:
    """Say in one sentence that what is read meanwhile is damaged.

    :param what: path, or what is read from it.
    :param mend: rest of the sentence, and what to do.
    :raises ArtifactError: instead of the errors that a damaged file causes.
    """
    try:
        yield
    except (ArtifactError, OSError, ValueError, LookupError, TypeError, AttributeError, *DAMAGED) as error:
        reason = textwrap.shorten(" ".join(str(error).split()), 200, placeholder=" ...")
        raise ArtifactError(f"{what} cannot be read ({reason}){mend}") from error


@contextmanager
def mended_by_index() -> Iterator[None]:
    """Go on without what is read meanwhile if it is damaged, and say that `dial2vec index` makes it again."""
    try:
        yield
    except (Dial2vecError, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        log.warning("%s It is left out until `dial2vec index` makes it again.", str(error).strip())


def whole_file(path: Path, size: int, mend: str) -> Path:
    """Return a file that has at least `size` bytes and the content of its checksums, if there are some.

    :param mend: sentence on what to do otherwise.
    :raises ArtifactError: if it is missing, shorter or damaged.
    """
    _long_enough(path, size, mend)
    if problem := damage_of(path):
        raise ArtifactError(f"{problem}. {mend}")
    return path


def _long_enough(path: Path, size: int, mend: str) -> None:
    size_found = path.stat().st_size if path.is_file() else 0
    if size_found < size:
        raise ArtifactError(f"{path} has {size_found} bytes; expected at least {size}. {mend}")


def rows_file(folder: Path, number: int) -> Path:
    """Return the file with the rows of an addition."""
    return folder / "rows" / f"{number:06d}.parquet"


def sampled(n: int, most: int, seed: int) -> NDArray[np.int64]:
    """Return at most `most` of n rows, ascending; the same rows for the same seed."""
    return np.arange(n) if n <= most else np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def within(rows: NDArray[np.int64], sizes: NDArray[Any], most: int, seed: int, *, fewest: int = 1) -> NDArray[np.int64]:
    """Return as many of some rows as have together about `most` of what they have, ascending; drawn by the seed.

    :param sizes: size of each row, such as its words, [rows].
    :param fewest: rows that are returned at least.
    """
    total = int(sizes.sum())
    if total <= most:
        return rows
    return np.sort(np.random.default_rng(seed).permutation(rows)[: max(fewest, len(rows) * most // total)])


def append_blocks(path: Path, size: int, blocks: Iterable[bytes | NDArray[Any]]) -> int:
    """Write blocks after the first `size` bytes of a file, and return the number of bytes written.

    :raises ArtifactError: if the file has fewer than `size` bytes.
    """
    with write_errors(path), path.open("ab") as handle:
        _long_enough(path, size, "Index all dialogues in another folder.")
        handle.truncate(size)
        written = sum(_write_block(handle, block) for block in blocks)
        handle.flush()
        os.fsync(handle.fileno())
    return written


def _write_block(handle: IO[bytes], block: bytes | NDArray[Any]) -> int:
    return handle.write(block if isinstance(block, bytes) else block.tobytes())
