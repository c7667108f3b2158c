"""Embedding files of dialogues into files of vectors."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
from tqdm.auto import tqdm

from conversations.dialogue import Quarantined, write_quarantine
from conversations.progress import moving
from dial2vec.collection.embedding.parts import (
    LONG,
    Part,
    embed_in_processes,
    embed_part,
    kept_rows,
    output_kinds,
    quarantined,
    vector_writer,
)
from dial2vec.collection.embedding.shards import ShardReader, shards_of
from dial2vec.data.workers import spread, works_alone
from dial2vec.encoder.protocol import Encoder
from dial2vec.encoder.student import StudentEncoder
from dial2vec.errors import CorpusError
from dial2vec.files import folder_lock

# Fewest parts per process: a process takes a second to start, a part 0.2.
FEWEST_PARTS = 8
# A function that embeds parts, in any order, and calls its last argument with numbers of lines that are done.
Workers = Callable[[Sequence[Part], Encoder, int, Callable[[int], object]], None]


@dataclass(frozen=True, slots=True)
class Embedded:
    """Result of `embed_file`.

    :param dialogues: number of vectors.
    :param dimension: length of the vectors.
    :param long: number of dialogues longer than `max_length` tokens.
    :param in_windows: True if long dialogues were read in windows; False if their ends were cut off.
    :param max_length: the encoder's limit in tokens; None without a limit.
    :param quarantine: number of records that cannot be used.
    :param quarantine_file: list of these records with reasons; None if there are none.
    """

    dialogues: int
    dimension: int
    long: int
    in_windows: bool
    max_length: int | None
    quarantine: int
    quarantine_file: Path | None


def here(parts: Sequence[Part], encoder: Encoder, batch_size: int, done: Callable[[int], object]) -> None:
    """Embed parts: by a student in one process per processor, by a transformer in this process.

    torch uses all processors itself.
    """
    if isinstance(encoder, StudentEncoder) and not works_alone(len(parts), fewest=FEWEST_PARTS):
        processes = partial(spread, n_parts=len(parts), fewest=FEWEST_PARTS)
        embed_in_processes(parts, encoder, batch_size, done, spread=processes)
        return
    with ShardReader() as reader:
        for part in parts:
            embed_part(part, encoder, reader, batch_size=batch_size, done=done)


def embed_file(
    transcripts: Path,
    output: Path,
    *,
    encoder: Encoder,
    batch_size: int = 32,
    progress: bool = True,
    workers: Workers = here,
) -> Embedded:
    """Encode dialogues from JSON Lines into Parquet, atomically and in bounded memory.

    The columns are `dialogue_id` (string) and `embedding` (fixed-size list of float32), in the order of the input, then
    `metadata.<key>` for each key of the metadata: int64, float64, timestamp, bool or string (`data.metadata`).
    Invalid records and repeated ids go to `<output>.quarantine.jsonl` with their reasons.

    Finished parts stay in `<output>.parts` until the end, so a killed run resumes. With another encoder, changed
    dialogues or other code it starts again. Only one run at a time writes to an output.

    :param transcripts: file, or folder of `.jsonl` and `.jsonl.gz` files, read in the order of their names.
    :param output: `.parquet` file, or folder for one file per part.
    :param batch_size: batch size of `DialogueEncoder.encode`; no effect on a student.
    :param workers: function that embeds the parts.
    :raises CorpusError: if a file cannot be read or changes during the run, or no record can be used.
    :raises BusyError: if another run writes to the same output.
    """
    shards, content = shards_of(transcripts)
    output = output if output.name else output.resolve()
    # One folder per encoder and corpus: a worker that outlives its command must not write into another run's parts.
    name = hashlib.sha256(f"{encoder.computed_by()} {content} metadata".encode()).hexdigest()[:16]
    kept = output.with_name(f"{output.name}.parts")
    with folder_lock(kept, "keeps its finished parts in"):
        for other in kept.iterdir():
            if other.is_dir() and other.name != name:
                shutil.rmtree(other, ignore_errors=True)
        folder = kept / name
        folder.mkdir(exist_ok=True)
        parts = [Part(shard, folder) for shard in shards]
        _embed(parts, encoder, batch_size, workers, progress=progress)
        embedded = _bring_together(parts, transcripts, output, encoder)
        shutil.rmtree(kept, ignore_errors=True)
    return embedded


def _embed(parts: Sequence[Part], encoder: Encoder, batch_size: int, workers: Workers, *, progress: bool) -> None:
    left = [part for part in parts if not part.is_finished]
    lines = sum(part.shard.lines for part in parts)
    finished = lines - sum(part.shard.lines for part in left)
    shown = tqdm(total=lines, initial=finished, unit="dialogue", disable=None if progress else True)
    with moving(shown) as bar:
        workers(left, encoder, batch_size, bar.update)


def _bring_together(parts: Sequence[Part], transcripts: Path, output: Path, encoder: Encoder) -> Embedded:
    if not any(pq.read_metadata(part.vectors).num_rows for part in parts):
        examples = "; ".join(str(record) for part in parts[:3] for record in quarantined(part)[:3]) or "it is empty"
        shutil.rmtree(parts[0].folder.parent, ignore_errors=True)
        raise CorpusError(f"nothing in {transcripts} can be used: {examples}. Correct it and start again.")
    copies: list[Quarantined] = []
    count = long = 0
    with vector_writer(output, encoder.dimension, output_kinds(parts), within=parts[0].folder) as write:
        for table in kept_rows(parts, quarantine=copies):
            write(table)
            count += len(table)
            long += pc.sum(table[LONG]).as_py() or 0
    reasons = output.with_name(f"{output.name}.quarantine.jsonl")
    n_quarantined = write_quarantine(reasons, chain(chain.from_iterable(map(quarantined, parts)), copies))
    if not n_quarantined:
        reasons.unlink()
    return Embedded(
        dialogues=count,
        dimension=encoder.dimension,
        long=long,
        in_windows=encoder.reads_whole,
        max_length=encoder.max_length,
        quarantine=n_quarantined,
        quarantine_file=reasons if n_quarantined else None,
    )
