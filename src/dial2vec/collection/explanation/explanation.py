"""What is shown of a dialogue: shares of its turns, and the matching between its two sides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.contribution import shares
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.windows import windows_of

# Rows and columns of the picture at most: with more, a cell is too small to be seen or pointed at.
MOST_BLOCKS = 60


@dataclass(frozen=True, slots=True)
class Matching:
    """How alike the turns of two sides are.

    :param rows: turns of the first speaker, in blocks of neighbours; numbers from 0, each int64 [turns of the block].
    :param columns: turns of all others, likewise.
    :param cosines: mean cosine of the turns of a row's block with those of a column's, float32 [rows, columns].
    """

    rows: list[NDArray[np.int64]]
    columns: list[NDArray[np.int64]]
    cosines: NDArray[np.float32]

    @property
    def blocked(self) -> bool:
        """Whether a cell is the mean of several pairs of turns."""
        return max(map(len, [*self.rows, *self.columns])) > 1


@dataclass(frozen=True, slots=True)
class Explanation:
    """One dialogue explained.

    :param shares: of each turn in the vector, float32 [turns], with sum 1 (`dial2vec.encoder.contribution`).
    :param matching: None for a dialogue in which one side says nothing.
    :param windows: in how many windows it was read.
    """

    dialogue: Dialogue
    shares: NDArray[np.float32]
    matching: Matching | None
    windows: int


def explain(encoder: DialogueEncoder, dialogue: Dialogue, *, batch_size: int = 32) -> Explanation:
    """Read a dialogue once, and say which turns made its vector and how its two sides match.

    :param batch_size: largest number of windows read at a time.
    """
    [windows] = windows_of(encoder.tokens, [dialogue])
    [read] = encoder.read_turns([windows], batch_size=batch_size)
    turns = encoder.vectors_of(read, "turns")
    return Explanation(dialogue, shares(encoder, read), match(turns, read.roles), len(windows.sequences))


def match(turns: NDArray[np.float32], roles: NDArray[np.int64], *, most: int = MOST_BLOCKS) -> Matching | None:
    """Compare the turns of the first speaker with those of all others.

    A side of more than `most` turns is grouped into as many blocks of neighbours, equal but for one turn.

    :param turns: their vectors, float32 [turns, d]; one of zeros is like nothing.
    :param roles: int64 [turns].
    :return: None where a side has no turns.
    """
    sides = np.flatnonzero(roles == 0), np.flatnonzero(roles > 0)
    if not all(map(len, sides)):
        return None
    units = unit_rows(turns)
    rows, columns = (np.array_split(side, min(most, len(side))) for side in sides)
    # The mean of the cosines of all pairs of two blocks is the product of the blocks' mean unit vectors.
    means = [np.array([units[block].mean(0) for block in blocks]) for blocks in (rows, columns)]
    return Matching(rows, columns, means[0] @ means[1].T)
