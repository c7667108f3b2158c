"""Computing an explanation: shares of a dialogue's turns, and the matching of its two sides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.protocol import Encoder

# Most rows and columns of the matrix; smaller cells are hard to see and to point at.
MOST_BLOCKS = 60


@dataclass(frozen=True, slots=True)
class Matching:
    """Similarity of the turns of two sides.

    :param rows: blocks of consecutive turns of the first speaker; numbers of turns from 0, each int64 [turns].
    :param columns: blocks of consecutive turns of all others.
    :param cosines: mean cosine of the turns of a row's block and a column's block, float32 [rows, columns].
    """

    rows: list[NDArray[np.int64]]
    columns: list[NDArray[np.int64]]
    cosines: NDArray[np.float32]

    @property
    def blocked(self) -> bool:
        """True if a cell is the mean of several pairs of turns."""
        return max(map(len, [*self.rows, *self.columns])) > 1


@dataclass(frozen=True, slots=True)
class Explanation:
    """Explanation of a dialogue.

    :param shares: share of each turn in the vector, float32 [turns], with sum 1 (`dial2vec.encoder.contribution`).
    :param matching: matching of the two sides; None if one side says nothing.
    :param windows: number of windows in which the encoder read the dialogue.
    """

    dialogue: Dialogue
    shares: NDArray[np.float32]
    matching: Matching | None
    windows: int


def explain(encoder: Encoder, dialogue: Dialogue) -> Explanation:
    """Compute the shares of a dialogue's turns and the matching of its two sides."""
    turns, shares, windows = encoder.explained_turns(dialogue)
    return Explanation(dialogue, shares, match(turns, np.array(dialogue.roles)), windows)


def match(turns: NDArray[np.float32], roles: NDArray[np.int64], *, most: int = MOST_BLOCKS) -> Matching | None:
    """Compare the turns of the first speaker with those of all others.

    A side with more than `most` turns is cut into `most` blocks of consecutive turns, whose sizes differ by at most 1.

    :param turns: vectors of the turns, float32 [turns, d]; a zero vector has cosine 0 to all others.
    :param roles: role of each turn, int64 [turns]; 0 is the first speaker.
    :return: None if a side has no turns.
    """
    sides = np.flatnonzero(roles == 0), np.flatnonzero(roles > 0)
    if not all(map(len, sides)):
        return None
    units = unit_rows(turns)
    rows, columns = (np.array_split(side, min(most, len(side))) for side in sides)
    # The mean of the cosines of all pairs of two blocks is the product of the blocks' mean unit vectors.
    means = [np.array([units[block].mean(0) for block in blocks]) for blocks in (rows, columns)]
    return Matching(rows, columns, means[0] @ means[1].T)
