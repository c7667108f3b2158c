"""Contribution of each turn to its dialogue's vector, and to the cosine with another vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec.encoder.student import StudentEncoder

if TYPE_CHECKING:
    from dial2vec.encoder.encoder import DialogueEncoder
    from dial2vec.encoder.loading import Encoder
    from dial2vec.encoder.turns import ReadTurns


class ExplainedTurns(NamedTuple):
    """The turns of a dialogue.

    :param vectors: vector of each turn, float32 [turns, d].
    :param shares: share of each turn in the dialogue's vector, float32 [turns], with sum 1.
    :param windows: number of windows in which the encoder read the dialogue.
    """

    vectors: NDArray[np.float32]
    shares: NDArray[np.float32]
    windows: int


def explained_turns(encoder: Encoder, dialogue: Dialogue, *, batch_size: int = 32) -> ExplainedTurns:
    """Return the vectors and the shares of a dialogue's turns, from either kind of encoder, read once.

    :param batch_size: largest number of windows read at a time.
    """
    if isinstance(encoder, StudentEncoder):
        return ExplainedTurns(encoder.encode(dialogue, output="turns"), encoder.turn_shares(dialogue), 1)
    from dial2vec.encoder.windows import windows_of  # imports torch, which a student does not need

    [windows] = windows_of(encoder.tokens, [dialogue])
    [read] = encoder.read_turns([windows], batch_size=batch_size)
    return ExplainedTurns(encoder.vectors_of(read, "turns"), shares(encoder, read), len(windows.sequences))


def shares_of(
    encoder: Encoder, dialogues: Sequence[Dialogue], *, towards: NDArray[np.float32], batch_size: int = 32
) -> list[NDArray[np.float32]]:
    """Return `turn_shares` of several dialogues, from either kind of encoder; a transformer reads them in batches."""
    if isinstance(encoder, StudentEncoder):
        return [encoder.turn_shares(dialogue, towards=towards) for dialogue in dialogues]
    from dial2vec.encoder.windows import windows_of

    reads = encoder.read_turns(windows_of(encoder.tokens, dialogues), batch_size=batch_size)
    return [shares(encoder, read, towards=towards) for read in reads]


def turn_shares(
    encoder: DialogueEncoder,
    dialogue: Dialogue,
    *,
    towards: NDArray[np.float32] | None = None,
    batch_size: int = 32,
) -> NDArray[np.float32]:
    """Return the contribution of each turn, float32 [turns]; below 0 for a turn that pulls the other way.

    With every pooling the vector of a dialogue is a sum over its turns. A turn contributes the projection of its part
    on a direction. This is exact for the sum, but does not tell what the vector would be without the turn: through
    attention a turn also changes how the others are read. A head is followed step by step, with the lengths and the
    mean of the whole dialogue; each turn bears the share of the mean that it has in the pooling.

    :param towards: vector [d] of another dialogue or query from the same encoder, of any length; the contributions sum
        to the cosine with it. None is the dialogue's own vector; they sum to 1.
    :param batch_size: largest number of windows read at a time.
    """
    from dial2vec.encoder.windows import windows_of

    [read] = encoder.read_turns(windows_of(encoder.tokens, [dialogue]), batch_size=batch_size)
    return shares(encoder, read, towards=towards)


def shares(
    encoder: DialogueEncoder, read: ReadTurns, *, towards: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    """Return the same as `turn_shares`, for a dialogue that was read already."""
    parts = read.parts / _length(read.of_dialogue())
    if encoder.head is not None:
        import torch

        with torch.inference_mode():
            tensors = (torch.from_numpy(array).to(encoder.device) for array in (parts, read.weights))
            parts = encoder.head.of_parts(*tensors).cpu().numpy()
    direction = parts.sum(0) if towards is None else towards
    return np.asarray(parts @ (direction / _length(direction)), dtype=np.float32)


def _length(vector: NDArray[np.float32]) -> np.float32:
    return max(np.float32(np.linalg.norm(vector)), np.finfo(np.float32).tiny)
