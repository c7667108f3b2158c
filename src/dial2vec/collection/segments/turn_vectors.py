"""Vectors of the turns of a collection, each turn read alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.search.turns import TurnVectors

# Turns that are read at a time.
AT_ONCE = 4_096

TurnBlock = tuple[list[int], list[Dialogue], NDArray[np.float32]]


def turn_blocks(
    collection: CollectionFolder, turns: TurnVectors, rows: Sequence[int], *, done: Callable[[int], object]
) -> Iterator[TurnBlock]:
    """Yield rows, dialogues, and vectors of length 1 of all turns of these dialogues, float32 [turns, d], in blocks.

    :param turns: vectors of all turns of the collection.
    :param rows: rows of the dialogues.
    :param done: called with the number of dialogues after each block.
    """
    sizes = collection.rows["turns"].to_numpy()
    for block in _blocks(rows, sizes):
        numbers, _ = turns.of_dialogues(np.array(block, dtype=np.int64))
        yield block, list(collection.dialogues(block)), turns.vectors(numbers)
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
