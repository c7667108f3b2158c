"""Files of dialogues to files of vectors."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pyarrow.parquet as pq
from tqdm.auto import tqdm

from dial2vec.collection.embedding.parts import LONG, Part, embed_part, kept_rows, quarantined, vector_writer
from dial2vec.collection.embedding.shards import ShardReader, shards_of
from dial2vec.dialogue import Quarantined, write_quarantine
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.vector_cache import encoder_fingerprint
from dial2vec.errors import BusyError, CorpusError
from dial2vec.files import write_errors

# Embeds parts, in any order, and calls the last argument with the number of lines of each.
Workers = Callable[[Sequence[Part], DialogueEncoder, int, Callable[[int], object]], None]


@dataclass(frozen=True, slots=True)
class Embedded:
    """What `embed_file` wrote.

    :param dialogues: number of vectors.
    :param dimension: their length.
    :param long: dialogues longer than `max_length` tokens.
    :param in_windows: whether these were read in windows; otherwise their end was left out.
    :param max_length: the encoder's limit in tokens.
    :param quarantine: records that could not be used.
    :param quarantine_file: where they are listed with their reasons, None when there are none.
    """

    dialogues: int
    dimension: int
    long: int
    in_windows: bool
    max_length: int
    quarantine: int
    quarantine_file: Path | None


def here(parts: Sequence[Part], encoder: DialogueEncoder, batch_size: int, done: Callable[[int], object]) -> None:
    """Embed parts one after the other, in this process."""
    with ShardReader() as reader:
        for part in parts:
            done(embed_part(part, encoder, reader, batch_size=batch_size))


def embed_file(
    transcripts: Path,
    output: Path,
    *,
    encoder: DialogueEncoder,
    batch_size: int = 32,
    progress: bool = True,
    workers: Workers = here,
) -> Embedded:
    """Encode dialogues in JSON Lines into Parquet, atomically and in bounded memory.

    Parquet has the columns `dialogue_id` (string) and `embedding` (fixed-size list of float32), in the order of the
    input. Records that are no dialogue, and ids that came before, go to `<output>.quarantine.jsonl` with their reasons.

    What is done is kept in `<output>.parts` until all is, so that a run that was killed goes on there; another encoder,
    changed dialogues or other code begin anew. One run at a time writes to an output.

    :param transcripts: a file, or a folder of `.jsonl` and `.jsonl.gz` files, which are read in the order of their
        names.
    :param output: a `.parquet` file, or a folder that gets many.
    :param batch_size: as in `DialogueEncoder.encode`.
    :param workers: what embeds the parts; `dial2vec.collection.embedding.on_ray.RayWorkers` does it on a cluster.
    :raises CorpusError: when a file cannot be read or changes meanwhile, or nothing can be used.
    :raises BusyError: when another run writes to the same output.
    """
    shards, content = shards_of(transcripts)
    output = output if output.name else output.resolve()
    # A name of its own: a worker that outlived its command must not write where another encoder's parts are.
    name = hashlib.sha256(f"{encoder_fingerprint(encoder)} {content}".encode()).hexdigest()[:16]
    with _alone(output) as kept:
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


@contextmanager
def _alone(output: Path) -> Iterator[Path]:
    """Make the folder of what is done, and hold it against other runs; the kernel lets go with the process."""
    kept = output.with_name(f"{output.name}.parts")
    with write_errors(output):
        kept.mkdir(parents=True, exist_ok=True)
        handle = (kept / ".lock").open("a")
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BusyError(
                f"another run is writing {output} (it keeps what is done in {kept}). Wait until it ends, or stop it, "
                "and try again: it goes on there."
            ) from error
        yield kept


def _embed(
    parts: Sequence[Part], encoder: DialogueEncoder, batch_size: int, workers: Workers, *, progress: bool
) -> None:
    left = [part for part in parts if not part.is_there]
    lines = sum(part.shard.lines for part in parts)
    there = lines - sum(part.shard.lines for part in left)
    with tqdm(total=lines, initial=there, unit="dialogue", disable=None if progress else True) as bar:
        workers(left, encoder, batch_size, bar.update)


def _bring_together(parts: Sequence[Part], transcripts: Path, output: Path, encoder: DialogueEncoder) -> Embedded:
    if not any(pq.read_metadata(part.vectors).num_rows for part in parts):
        reasons = "; ".join(str(one) for part in parts[:3] for one in quarantined(part)[:3]) or "it is empty"
        shutil.rmtree(parts[0].folder.parent, ignore_errors=True)
        raise CorpusError(f"nothing in {transcripts} can be used: {reasons}. Mend it and try again.")
    copies: list[Quarantined] = []
    count = long = 0
    with vector_writer(output, encoder.dimension, within=parts[0].folder) as write:
        for table in kept_rows(parts, quarantine=copies):
            write(table)
            count += len(table)
            long += sum(table[LONG].to_pylist())
    aside = output.with_name(f"{output.name}.quarantine.jsonl")
    n_aside = write_quarantine(aside, chain(chain.from_iterable(map(quarantined, parts)), copies))
    if not n_aside:
        aside.unlink()
    return Embedded(
        dialogues=count,
        dimension=encoder.dimension,
        long=long,
        in_windows=encoder.reads_whole,
        max_length=encoder.max_length,
        quarantine=n_aside,
        quarantine_file=aside if n_aside else None,
    )
