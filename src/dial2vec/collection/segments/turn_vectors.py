"""Vectors of the turns of a collection, each turn read alone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.dialogue import Dialogue
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.student import StudentEncoder
from dial2vec.errors import ModelError

# Turns that are encoded at a time: enough for full batches, few enough for a bar that moves.
AT_ONCE = 256

TurnBlock = tuple[list[int], list[Dialogue], NDArray[np.float32]]


def turn_blocks(
    collection: CollectionFolder, rows: Sequence[int], *, batch_size: int = 32, done: Callable[[int], object]
) -> Iterator[TurnBlock]:
    """Yield rows, dialogues, and vectors of length 1 of all turns of these dialogues, float32 [turns, d], in blocks.

    The turns are read by the encoder from which that of the collection was trained, which tells single turns apart
    better; by that of the collection if it is a student or its start cannot be loaded.

    :param rows: rows of the dialogues.
    :param done: called with the number of dialogues after each block.
    """
    encoder = load_encoder(collection.model)
    if not isinstance(encoder, StudentEncoder):
        with contextlib.suppress(ModelError):
            encoder = load_encoder(encoder.name)
    sizes = collection.rows["turns"].to_numpy()
    for block in _blocks(rows, sizes):
        dialogues = list(collection.dialogues(block))
        texts = [turn.text for dialogue in dialogues for turn in dialogue.turns]
        # Short turns, such as "thanks", recur.
        unique, places = np.unique(np.array(texts, dtype=object), return_inverse=True)
        units = unit_rows(encoder.encode_utterances(unique.tolist(), batch_size=batch_size))
        yield block, dialogues, units[places]
        done(len(block))


def _blocks(rows: Sequence[int], sizes: NDArray[np.int32]) -> Iterator[list[int]]:
    """Divide rows into blocks of about `AT_ONCE` turns."""
    block: list[int] = []
    turns = 0
    for row in rows:
        block.append(row)
        turns += int(sizes[row])
        if turns >= AT_ONCE:
            yield block
            block, turns = [], 0
    if block:
        yield block
