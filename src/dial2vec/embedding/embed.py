"""Files of dialogues to files of vectors."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from tqdm.auto import tqdm

from dial2vec.dialogue import Quarantined, write_quarantine
from dial2vec.embedding.parts import CUT, Part, embed_part, kept_rows, quarantined, vector_writer
from dial2vec.embedding.shards import ShardReader, shards_of
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import CorpusError
from dial2vec.files import claim, write_errors
from dial2vec.vectors import encoder_fingerprint

# Embeds parts, in any order, and calls the last argument with the number of lines of each.
Workers = Callable[[Sequence[Part], DialogueEncoder, int, Callable[[int], object]], None]


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
    changed dialogues or other code begin anew.

    :param transcripts: a file, or a folder of `.jsonl` and `.jsonl.gz` files, which are read in the order of their
        names.
    :param output: a `.parquet` file, or a folder that gets many.
    :param batch_size: as in `DialogueEncoder.encode`.
    :param workers: what embeds the parts; `dial2vec.embedding.on_ray.RayWorkers` does it on a cluster.
    :raises CorpusError: when a file cannot be read, or nothing can be used.
    """
    shards, content = shards_of(transcripts)
    folder = output.with_name(f"{output.name}.parts")
    with write_errors(output):
        claim(folder, hashlib.sha256(f"{encoder_fingerprint(encoder)} {content}".encode()).hexdigest())
    parts = [Part(shard, folder) for shard in shards]
    left = [part for part in parts if not part.is_there]
    lines = sum(shard.lines for shard in shards)
    there = lines - sum(part.shard.lines for part in left)
    with tqdm(total=lines, initial=there, unit="dialogue", disable=None if progress else True) as bar:
        workers(left, encoder, batch_size, bar.update)
    embedded = _bring_together(parts, transcripts, output, encoder)
    shutil.rmtree(folder, ignore_errors=True)
    return embedded


def _bring_together(parts: Sequence[Part], transcripts: Path, output: Path, encoder: DialogueEncoder) -> Embedded:
    copies: list[Quarantined] = []
    count = cut = 0
    with vector_writer(output, encoder.dimension) as write:
        for table in kept_rows(parts, quarantine=copies):
            write(table)
            count += len(table)
            cut += sum(table[CUT].to_pylist())
        if not count:
            reasons = "; ".join(str(one) for part in parts[:3] for one in quarantined(part)[:3]) or "it is empty"
            shutil.rmtree(parts[0].folder, ignore_errors=True)
            raise CorpusError(f"nothing in {transcripts} can be used: {reasons}. Mend it and try again.")
    aside = output.with_name(f"{output.name}.quarantine.jsonl")
    n_aside = write_quarantine(aside, chain(chain.from_iterable(map(quarantined, parts)), copies))
    if not n_aside:
        aside.unlink()
    return Embedded(count, encoder.dimension, cut, encoder.max_length, n_aside, aside if n_aside else None)
