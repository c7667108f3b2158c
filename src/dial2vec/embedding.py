"""Files of dialogues to files of vectors, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from tqdm.auto import tqdm

from dial2vec.dialogue import Dialogue, Quarantined, read_dialogues, write_quarantine
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import CorpusError
from dial2vec.files import atomic_path

BLOCK = 2048


@dataclass(frozen=True, slots=True)
class Embedded:
    """What `embed_file` wrote.

    :param dialogues: number of vectors.
    :param dimension: their length.
    :param cut: dialogues longer than `max_length` tokens, whose end was left out.
    :param max_length: the encoder's limit in tokens.
    :param quarantine: records that could not be used.
    :param quarantine_file: where they are listed with their reasons, None when there are none.
    """

    dialogues: int
    dimension: int
    cut: int
    max_length: int
    quarantine: int
    quarantine_file: Path | None


def embed_file(
    transcripts: Path, output: Path, *, encoder: DialogueEncoder, batch_size: int = 32, progress: bool = True
) -> Embedded:
    """Encode a JSON Lines file of dialogues into a Parquet file, atomically and in bounded memory.

    The Parquet file has the columns `dialogue_id` (string) and `embedding` (fixed-size list of float32), in the order
    of the input. Records that are no dialogue go to `<output>.quarantine.jsonl` with their reasons.

    :raises CorpusError: when the file cannot be read, or nothing in it can be used.
    """
    quarantine: list[Quarantined] = []
    schema = pa.schema([("dialogue_id", pa.string()), ("embedding", pa.list_(pa.float32(), encoder.dimension))])
    count = cut = 0
    dialogues = read_dialogues(transcripts, quarantine=quarantine)
    with atomic_path(output) as temporary, tqdm(unit="dialogue", disable=None if progress else True) as bar:
        with pq.ParquetWriter(temporary, schema) as writer:
            for block in _blocks(dialogues):
                tokens = encoder.tokens.dialogues(block)
                vectors = encoder.encode_tokens(tokens, batch_size=batch_size, done=bar.update)
                flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), encoder.dimension)
                writer.write_table(pa.table([[d.dialogue_id for d in block], flat], schema=schema))
                cut += sum(sequence.cut > 0 for sequence in tokens)
                count += len(block)
        if not count:
            reasons = "; ".join(map(str, quarantine[:3]))
            raise CorpusError(f"nothing in {transcripts} can be used: {reasons}. Mend these lines and try again.")
    aside_file = _write_quarantine(output, quarantine)
    return Embedded(count, encoder.dimension, cut, encoder.max_length, len(quarantine), aside_file)


def _blocks(dialogues: Iterator[Dialogue]) -> Iterator[list[Dialogue]]:
    while block := list(islice(dialogues, BLOCK)):
        yield block


def _write_quarantine(output: Path, quarantine: list[Quarantined]) -> Path | None:
    path = output.with_name(f"{output.name}.quarantine.jsonl")
    if not quarantine:
        path.unlink(missing_ok=True)
        return None
    write_quarantine(path, quarantine)
    return path
