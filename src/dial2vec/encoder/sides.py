"""The two sides of dialogues, each encoded as if the other had said nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue

if TYPE_CHECKING:
    from dial2vec.encoder.loading import Encoder


def encode_sides(encoder: Encoder, dialogues: Sequence[Dialogue], *, batch_size: int) -> NDArray[np.float32]:
    """Encode each side of a dialogue by itself, float32 [n, 2, d]; zeros for a side without turns.

    The first side is the first speaker's, the second that of all others.
    """
    sides = [dialogue.side(number) for dialogue in dialogues for number in (0, 1)]
    spoken = [place for place, side in enumerate(sides) if side.turns]
    vectors = np.zeros((len(sides), encoder.dimension), dtype=np.float32)
    vectors[spoken] = encoder.encode([sides[place] for place in spoken], batch_size=batch_size)
    return vectors.reshape(-1, 2, encoder.dimension)
