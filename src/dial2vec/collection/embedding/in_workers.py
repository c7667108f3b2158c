"""Embedding in other processes, of this machine or of a Ray cluster: each loads the encoder once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path

from dial2vec.collection.embedding.parts import Part, embed_part
from dial2vec.collection.embedding.shards import ShardReader
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.protocol import Encoder

# Works on each part in some process, and yields the results in order.
Spread = Callable[[Callable[[Part], int], Sequence[Part]], Iterator[int]]


def embed_in_workers(
    parts: Sequence[Part], encoder: Encoder, batch_size: int, done: Callable[[int], object], *, spread: Spread
) -> None:
    """Embed parts, and call `done` with the number of lines of each.

    Parts are written whole or not at all, so a process that is killed loses nothing.

    :param spread: gives the parts to the processes.
    :raises Dial2vecError: if a part cannot be embedded, or a process ends.
    """
    # Not sent with the parts: a worker loads it once.
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
