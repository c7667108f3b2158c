"""Parts: the vectors of one shard each, written atomically by any process or worker, and joined in the end."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from conversations.dialogue import Origin, Quarantined, write_quarantine
from conversations.files import atomic_path
from dial2vec.collection.collection_folder import checked_table, readable
from dial2vec.collection.embedding.shards import Shard, ShardReader
from dial2vec.data.metadata import METADATA_PREFIX, Evidence, kinds_of, packed_metadata, typed_columns
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.protocol import Encoder
from dial2vec.errors import ModelError

ID, VECTOR = "dialogue_id", "embedding"
LINE, LONG, METADATA = "line", "long", "metadata"
# Columns of metadata in the output; a corpus whose keys differ from dialogue to dialogue has more.
MOST_COLUMNS = 200


@dataclass(frozen=True, slots=True)
class Part:
    """The files of an embedded shard: its vectors, and its records that cannot be used."""

    shard: Shard
    folder: Path

    def __str__(self) -> str:
        """Return the file and the lines, for errors."""
        first = self.shard.line
        return f"{self.shard.path}: lines {first} to {first + self.shard.lines - 1}"

    @property
    def vectors(self) -> Path:
        """Parquet file: `dialogue_id`, `embedding`, `line` (in its file), `long` (True or False) and `metadata`."""
        return self.folder / f"{self.shard.number:08d}.parquet"

    @property
    def quarantine(self) -> Path:
        """JSON Lines file, written before the vectors."""
        return self.folder / f"{self.shard.number:08d}.quarantine.jsonl"

    @property
    def is_finished(self) -> bool:
        """True if the part is finished; its file appears only then."""
        return self.vectors.is_file()


def schema_of(dimension: int, kinds: Mapping[str, Evidence]) -> pa.Schema:
    """Return the schema of the output: `dialogue_id`, `embedding` (fixed-size list of float32), `metadata.<key>`."""
    metadata = [(f"{METADATA_PREFIX}{key}", evidence.type) for key, evidence in kinds.items()]
    return pa.schema([(ID, pa.string()), (VECTOR, pa.list_(pa.float32(), dimension)), *metadata])


def embed_part(
    part: Part,
    encoder: Encoder,
    reader: ShardReader,
    *,
    batch_size: int,
    done: Callable[[int], object] = lambda _: None,
) -> int:
    """Encode the dialogues of a shard, write its part, and return its number of lines.

    Writing a part twice changes nothing, so a kill at any time loses and repeats nothing.

    :param done: called with the number of dialogues of each batch, then with the number of other lines.
    :raises ModelError: if a vector is not finite.
    """
    quarantine: list[Quarantined] = []
    dialogues = reader.read(part.shard, quarantine=quarantine)
    vectors, long = encoder.encode_marking_long(dialogues, batch_size=batch_size, done=done)
    broken = [number for number, vector in enumerate(vectors) if not np.isfinite(vector).all()]
    if broken:
        raise ModelError(
            f"the encoder {encoder.name or 'without a name'} gives NaN or infinity for {len(broken)} of "
            f"{len(dialogues)} dialogues, such as {dialogues[broken[0]].dialogue_id!r} of {part.shard.path}; expected "
            "finite numbers. Its weights are damaged, or its training diverged: take another model, or train again."
        )
    columns = [
        pa.array([dialogue.dialogue_id for dialogue in dialogues], pa.string()),
        pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel(), pa.float32()), encoder.dimension),
        pa.array([dialogue.origin.line if dialogue.origin else 0 for dialogue in dialogues], pa.int64()),
        pa.array(long, pa.bool_()),
        packed_metadata(dialogue.metadata for dialogue in dialogues),
    ]
    write_quarantine(part.quarantine, quarantine)
    with atomic_path(part.vectors) as temporary:
        table = pa.table(columns, [ID, VECTOR, LINE, LONG, METADATA])
        pq.write_table(table, temporary, use_dictionary=[METADATA], write_page_checksum=True)
        # A part counts as finished once its file has its name, so its bytes must survive a crash of the machine.
        with temporary.open("rb+") as handle:
            os.fsync(handle.fileno())
    done(part.shard.lines - len(dialogues))
    return part.shard.lines


def kept_rows(parts: Sequence[Part], *, quarantine: list[Quarantined]) -> Iterator[pa.Table]:
    """Yield the table of each part, without dialogues whose id was used before in the corpus; these go to `quarantine`.

    In memory are one part, and for a while the ids of the corpus.
    """
    repeated, seen = _ids_that_repeat(parts), set[str]()
    for part in parts:
        table = _table(part)
        keep = np.ones(len(table), dtype=bool)
        for row in np.flatnonzero(pc.is_in(table[ID], value_set=repeated)) if len(repeated) else ():
            name = table[ID][row].as_py()
            if name in seen:
                keep[row] = False
                origin = Origin(str(part.shard.path), table[LINE][row].as_py())
                quarantine.append(Quarantined(origin, name, f"the id {name!r} came before in this corpus"))
            seen.add(name)
        yield table if keep.all() else table.filter(pa.array(keep))


def output_kinds(parts: Sequence[Part]) -> dict[str, Evidence]:
    """Return the keys of the metadata that become columns, at most `MOST_COLUMNS`, the most frequent first."""
    kinds = kinds_of(_table(part, [METADATA])[METADATA] for part in parts)
    return dict(islice(kinds.items(), MOST_COLUMNS))


def _ids_that_repeat(parts: Sequence[Part]) -> pa.Array:
    """Return the ids that occur more than once."""
    chunks = [chunk for part in parts for chunk in _table(part, [ID])[ID].chunks]
    counts = pc.value_counts(pa.chunked_array(chunks, pa.string()))
    return counts.field("values").filter(pc.greater(counts.field("counts"), 1))


def _table(part: Part, columns: Sequence[str] | None = None) -> pa.Table:
    with readable(part.vectors, ". Remove it; the same command makes it again."):
        return checked_table(part.vectors, columns)


def quarantined(part: Part) -> list[Quarantined]:
    """Return the records of a shard that cannot be used."""
    # Not by `splitlines`, which also splits at a Unicode line separator in an id.
    with part.quarantine.open(encoding="utf-8") as lines:
        entries = [json.loads(line) for line in lines]
    return [Quarantined(Origin(e["source"], e["line"]), e["dialogue_id"], e["reason"]) for e in entries]


@contextmanager
def vector_writer(
    output: Path, dimension: int, kinds: Mapping[str, Evidence], *, within: Path
) -> Iterator[Callable[[pa.Table], None]]:
    """Yield a function that writes the table of each part; the output appears at the end, atomically.

    :param output: `.parquet` file, or folder for one file per part.
    :param kinds: Keys of the metadata that become columns, and their types.
    :param within: folder for temporary files, on the same file system.
    """
    schema = schema_of(dimension, kinds)
    # Not the vectors, whose numbers hardly repeat: a dictionary of them takes three times as long.
    options: dict[str, Any] = {"use_dictionary": [name for name in schema.names if name not in (ID, VECTOR)]}
    options["write_page_checksum"] = True

    def cast(table: pa.Table) -> pa.Table:
        for name, column in typed_columns(table[METADATA], kinds).items():
            table = table.append_column(name, column)
        return table.select(schema.names).cast(schema)

    with atomic_path(output, within=within) as temporary:
        if output.suffix == ".parquet":
            with pq.ParquetWriter(temporary, schema, **options) as writer:
                yield lambda table: writer.write_table(cast(table))
        else:
            temporary.mkdir()
            names = (temporary / f"part-{number:08d}.parquet" for number in range(10**8))
            yield lambda table: pq.write_table(cast(table), next(names), **options)


def embed_in_processes(
    parts: Sequence[Part],
    encoder: Encoder,
    batch_size: int,
    done: Callable[[int], object],
    *,
    spread: Callable[[Callable[[Part], int], Sequence[Part]], Iterator[int]],
) -> None:
    """Embed parts, and call `done` with the number of lines of each.

    Parts are written whole or not at all, so a process that is killed loses nothing.

    :param spread: works on each part in some process, and yields the results in order.
    :raises Dial2vecError: if a part cannot be embedded, or a process ends.
    """
    # Not sent with the parts: a process loads it once.
    model = parts[0].folder / "encoder"
    encoder.save_copy(model)
    for lines in spread(partial(_embed, model, batch_size), parts):
        done(lines)


def _embed(model: Path, batch_size: int, part: Part) -> int:
    # A worker that has ended since may have written it.
    if not part.is_finished:
        encoder, reader = _opened(model)
        embed_part(part, encoder, reader, batch_size=batch_size)
    return part.shard.lines


@lru_cache(maxsize=1)
def _opened(model: Path) -> tuple[Encoder, ShardReader]:
    """Return what a process keeps from part to part: its encoder, and its open file."""
    return load_encoder(model), ShardReader()
