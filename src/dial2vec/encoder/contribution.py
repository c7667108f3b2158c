"""Contribution of each turn to its dialogue's vector, and to the cosine with another vector."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from dial2vec.encoder.head import Head
from dial2vec.encoder.turns import ReadTurns


def turn_shares(
    read: ReadTurns, head: Head | None, *, towards: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    """Return the contribution of each turn of a dialogue that was read, float32 [turns].

    With every pooling the vector of a dialogue is a sum over its turns. A turn contributes the projection of its part
    on a direction. This is exact for the sum, but does not tell what the vector would be without the turn: through
    attention a turn also changes how the others are read. A head is followed step by step, with the lengths and the
    mean of the whole dialogue; each turn bears the share of the mean that it has in the pooling.

    :param towards: vector [d] of another dialogue or query from the same encoder, of any length; the contributions sum
        to the cosine with it. None is the dialogue's own vector; they sum to 1.
    """
    parts = read.parts / _length(read.of_dialogue())
    if head is not None:
        with torch.inference_mode():
            tensors = (torch.from_numpy(array).to(head.mean.device) for array in (parts, read.weights))
            parts = head.of_parts(*tensors).cpu().numpy()
    direction = parts.sum(0) if towards is None else towards
    return np.asarray(parts @ (direction / _length(direction)), dtype=np.float32)


def _length(vector: NDArray[np.float32]) -> np.float32:
    return max(np.float32(np.linalg.norm(vector)), np.finfo(np.float32).tiny)
