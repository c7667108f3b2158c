"""The turns of dialogues as an encoder reads them: their vectors, their speakers', and what makes a dialogue's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dial2vec.encoder.windows import Windows

if TYPE_CHECKING:
    from dial2vec.encoder.encoder import DialogueEncoder

# Dialogues whose turns' sums are in memory at a time: an hour's, of 2,000 turns and 384 numbers, have 6 MiB.
AT_ONCE = 32

Apart = Literal["turns", "speakers"]
Output = Literal["dialogue"] | Apart


@dataclass(frozen=True, slots=True)
class ReadTurns:
    """A dialogue after it was read, turn by turn, without a head.

    :param sums: sum of the token vectors of each turn, float32 [turns, d]; special tokens belong to a turn.
    :param tokens: number of these, int64 [turns].
    :param parts: what each turn adds to the dialogue's pooled vector, float32 [turns, d]: these sum to it.
    :param weights: by how much of the pooled vector's weight, float32 [turns], at least 0, with sum 1.
    :param roles: role of each turn, int64 [turns].
    """

    sums: NDArray[np.float32]
    tokens: NDArray[np.int64]
    parts: NDArray[np.float32]
    weights: NDArray[np.float32]
    roles: NDArray[np.int64]

    def of_turns(self) -> NDArray[np.float32]:
        """Return the mean token vector of each turn, float32 [turns, d]; zeros for one without tokens."""
        return np.asarray(self.sums / self.tokens.clip(min=1)[:, None].astype(np.float32))

    def of_speakers(self) -> NDArray[np.float32]:
        """Return the mean token vector of each speaker, float32 [speakers, d], in the order of first speaking."""
        said = self.roles[None, :] == np.arange(self.roles.max() + 1)[:, None]
        tokens = np.bincount(self.roles, self.tokens).clip(min=1).astype(np.float32)
        return np.asarray(said.astype(np.float32) @ self.sums / tokens[:, None])

    def of_dialogue(self) -> NDArray[np.float32]:
        """Return the pooled vector, float32 [d]."""
        return np.asarray(self.parts.sum(0))


def encode_windows(
    encoder: DialogueEncoder,
    dialogues: Sequence[Windows],
    *,
    output: Output = "dialogue",
    batch_size: int = 32,
    done: Callable[[int], object] | None = None,
) -> list[NDArray[np.float32]]:
    """Encode what `dial2vec.encoder.windows.windows_of` made of dialogues, as `DialogueEncoder.encode` says.

    :param done: called with the number of dialogues that were encoded since.
    """
    found: dict[int, NDArray[np.float32]] = {}
    if output == "dialogue":
        short = [place for place, one in enumerate(dialogues) if len(one.sequences) == 1]
        sequences = [dialogues[place].sequences[0] for place in short]
        found |= zip(short, encoder.encode_tokens(sequences, batch_size=batch_size, done=done), strict=True)
    rest = [place for place in range(len(dialogues)) if place not in found]
    for first in range(0, len(rest), AT_ONCE):
        places = rest[first : first + AT_ONCE]
        for place, read in zip(
            places, read_turns(encoder, [dialogues[place] for place in places], batch_size=batch_size), strict=True
        ):
            found[place] = vectors_of(encoder, read, output)
        if done is not None:
            done(len(places))
    return [found[place] for place in range(len(dialogues))]


def vectors_of(encoder: DialogueEncoder, read: ReadTurns, output: Output) -> NDArray[np.float32]:
    """Return the vectors of a dialogue that was read, mapped by the head if there is one.

    Zeros, of a turn or a speaker without tokens, stay zeros.
    """
    if output == "dialogue":
        pooled = read.of_dialogue()
    else:
        pooled = read.of_turns() if output == "turns" else read.of_speakers()
    with torch.inference_mode():
        mapped = encoder.through_head(torch.from_numpy(pooled).to(encoder.device)).cpu().numpy()
    return np.where(pooled.any(-1, keepdims=True), mapped, np.float32(0))


def read_turns(encoder: DialogueEncoder, dialogues: Sequence[Windows], *, batch_size: int = 32) -> list[ReadTurns]:
    """Read each window once, windows of all dialogues together, those of similar length at a time.

    :param dialogues: `dial2vec.encoder.windows.windows_of` them.
    :param batch_size: largest number of windows read at a time; no effect beyond rounding.
    """
    width, separator = encoder.dimension, encoder.tokens.separator
    found = [_empty(one, width) for one in dialogues]
    places = [(number, window) for number, one in enumerate(dialogues) for window in range(len(one.sequences))]
    weights = [one.weights(encoder.pooling, separator=separator) for one in dialogues]
    with encoder.evaluating():
        for rows, batch in encoder.batches([dialogues[d].sequences[w] for d, w in places], batch_size):
            hidden = encoder.hidden_states(batch).float()
            for row, (number, window) in enumerate(places[place] for place in rows):
                turns, weight = dialogues[number].turns[window], weights[number][window]
                _add(found[number], hidden[row, : len(turns)], turns, weight)
    for one in found:
        one.weights[:] /= one.weights.sum()
    return found


def _empty(windows: Windows, width: int) -> ReadTurns:
    n = len(windows.roles)
    sums, parts = (np.zeros((n, width), dtype=np.float32) for _ in range(2))
    return ReadTurns(sums, np.zeros(n, dtype=np.int64), parts, np.zeros(n, dtype=np.float32), np.array(windows.roles))


def _add(read: ReadTurns, hidden: Tensor, turns: NDArray[np.int64], weights: NDArray[np.float32]) -> None:
    """Add a window: its token vectors [n, d], the turn and the weight of each token, [n]."""
    numbers, places = np.unique(turns, return_inverse=True)
    spoken_in = torch.from_numpy(places).to(hidden.device)
    weighted = hidden * torch.from_numpy(weights).to(hidden.device)[:, None]
    for total, vectors in ((read.sums, hidden), (read.parts, weighted)):
        summed = hidden.new_zeros(len(numbers), hidden.shape[1]).index_add_(0, spoken_in, vectors)
        total[numbers] += summed.cpu().numpy()
    read.tokens[numbers] += np.bincount(places)
    read.weights[numbers] += np.bincount(places, weights).astype(np.float32)
