"""What becomes of a shard: a part, written whole or not at all, by whichever process; and parts brought together."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dial2vec.collection.embedding.shards import Shard, ShardReader
from dial2vec.dialogue import Origin, Quarantined, write_quarantine
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.windows import windows_of
from dial2vec.files import atomic_path

ID, VECTOR = "dialogue_id", "embedding"
LINE, LONG = "line", "long"
Hashes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Part:
    """Where the vectors of a shard are, and what of it could not be used."""

    shard: Shard
    folder: Path

    @property
    def vectors(self) -> Path:
        """Parquet: `dialogue_id`, `embedding`, and of each dialogue the `line` it is from and whether it is `long`."""
        return self.folder / f"{self.shard.number:08d}.parquet"

    @property
    def quarantine(self) -> Path:
        """JSON Lines; there before the vectors are."""
        return self.folder / f"{self.shard.number:08d}.quarantine.jsonl"

    @property
    def is_there(self) -> bool:
        """Whether it was written; to its end, since its file appears only then."""
        return self.vectors.is_file()


def schema_of(dimension: int) -> pa.Schema:
    """Return the schema of what users get: `dialogue_id` (string) and `embedding` (fixed-size list of float32)."""
    return pa.schema([(ID, pa.string()), (VECTOR, pa.list_(pa.float32(), dimension))])


def embed_part(part: Part, encoder: DialogueEncoder, reader: ShardReader, *, batch_size: int) -> int:
    """Encode the dialogues of a shard, write its part, and return how many lines it had.

    Writing it twice changes nothing, so nothing is lost and nothing comes twice, whoever was killed in between.
    """
    quarantine: list[Quarantined] = []
    dialogues = reader.read(part.shard, quarantine=quarantine)
    windows = windows_of(encoder.tokens, dialogues)
    vectors = np.array(encoder.encode_windows(windows, batch_size=batch_size), np.float32)
    columns = [
        pa.array([dialogue.dialogue_id for dialogue in dialogues], pa.string()),
        pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel(), pa.float32()), encoder.dimension),
        pa.array([dialogue.origin.line if dialogue.origin else 0 for dialogue in dialogues], pa.int64()),
        pa.array([one.long for one in windows], pa.bool_()),
    ]
    write_quarantine(part.quarantine, quarantine)
    with atomic_path(part.vectors) as temporary:
        pq.write_table(pa.table(columns, [ID, VECTOR, LINE, LONG]), temporary)
        # A part counts as written once it has its name, also after a machine went down.
        with temporary.open("rb+") as handle:
            os.fsync(handle.fileno())
    return part.shard.lines


def kept_rows(parts: Sequence[Part], *, quarantine: list[Quarantined]) -> Iterator[pa.Table]:
    """Yield the table of each part, without dialogues whose id came before in the corpus; these go to `quarantine`.

    Beside a part there are in memory 9 bytes for each dialogue of the corpus, for a while, and ids that come twice.
    """
    suspects = _hashes_that_repeat(parts)
    seen: set[str] = set()
    for part in parts:
        table = pq.read_table(part.vectors)
        ids, lines = table[ID].to_pylist(), table[LINE].to_pylist()
        keep = np.ones(len(ids), dtype=bool)
        for row in np.flatnonzero(_among(_hashes(table[ID]), suspects)):
            if ids[row] in seen:
                keep[row] = False
                origin = Origin(str(part.shard.path), lines[row])
                quarantine.append(Quarantined(origin, ids[row], f"the id {ids[row]!r} came before in this corpus"))
            seen.add(ids[row])
        yield table if keep.all() else table.filter(pa.array(keep))


def _hashes_that_repeat(parts: Sequence[Part]) -> Hashes:
    """Return the hashes of ids that more than one dialogue has, sorted, each once."""
    hashes, first = np.empty(sum(pq.read_metadata(part.vectors).num_rows for part in parts), dtype=np.uint64), 0
    for part in parts:
        found = _hashes(pq.read_table(part.vectors, columns=[ID])[ID])
        hashes[first : first + len(found)] = found
        first += len(found)
    hashes.sort()
    return np.unique(hashes[1:][hashes[1:] == hashes[:-1]])


def _among(hashes: Hashes, suspects: Hashes) -> NDArray[np.bool_]:
    """Tell which hashes are suspects. `np.isin` would sort these anew for every part."""
    if not len(suspects):
        return np.zeros(len(hashes), dtype=bool)
    places = np.searchsorted(suspects, hashes).clip(max=len(suspects) - 1)
    return np.asarray(suspects[places] == hashes)


def _hashes(ids: pa.ChunkedArray) -> Hashes:
    return np.asarray(pd.util.hash_array(ids.to_numpy(zero_copy_only=False).astype(object), categorize=False))


def quarantined(part: Part) -> list[Quarantined]:
    """Return what of a shard could not be used."""
    # Not by `splitlines`, which also cuts where an id has a line separator of Unicode.
    with part.quarantine.open(encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    return [Quarantined(Origin(one["source"], one["line"]), one["dialogue_id"], one["reason"]) for one in found]


@contextmanager
def vector_writer(output: Path, dimension: int, *, within: Path) -> Iterator[Any]:
    """Yield the function that writes the table of one part after the other; what it wrote is there in the end.

    :param output: a `.parquet` file, or a folder that gets a file per part.
    :param within: folder on the same file system in which they are until then.
    """
    schema = schema_of(dimension)
    with atomic_path(output, within=within) as temporary:
        if output.suffix == ".parquet":
            with pq.ParquetWriter(temporary, schema) as writer:
                yield lambda table: writer.write_table(table.select(schema.names).cast(schema))
        else:
            temporary.mkdir()
            names = (temporary / f"part-{number:08d}.parquet" for number in range(10**8))
            yield lambda table: pq.write_table(table.select(schema.names).cast(schema), next(names))
