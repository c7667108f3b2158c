"""The turns of dialogues as an encoder reads them; from these come the vectors of turns, speakers and dialogues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dial2vec.encoder.network import Network
from dial2vec.encoder.pooling import Pooling
from dial2vec.encoder.protocol import Output
from dial2vec.encoder.windows import Windows


@dataclass(frozen=True, slots=True)
class ReadTurns:
    """The turns of a dialogue that was read, without a head.

    :param sums: sum of the token vectors of each turn, float32 [turns, d]; special tokens belong to a turn.
    :param tokens: number of tokens of each turn, int64 [turns].
    :param parts: part of each turn in the pooled vector, float32 [turns, d]; the parts sum to that vector.
    :param weights: share of each turn in the pooling, float32 [turns], at least 0, with sum 1.
    :param roles: role of each turn, int64 [turns].
    """

    sums: NDArray[np.float32]
    tokens: NDArray[np.int64]
    parts: NDArray[np.float32]
    weights: NDArray[np.float32]
    roles: NDArray[np.int64]

    def of_turns(self) -> NDArray[np.float32]:
        """Return the mean token vector of each turn, float32 [turns, d]; zeros for a turn without tokens."""
        return np.asarray(self.sums / self.tokens.clip(min=1)[:, None].astype(np.float32))

    def of_speakers(self) -> NDArray[np.float32]:
        """Return the mean token vector of each speaker, float32 [speakers, d], in the order of first speaking."""
        own = self.roles[None, :] == np.arange(self.roles.max() + 1)[:, None]
        tokens = np.bincount(self.roles, self.tokens).clip(min=1).astype(np.float32)
        return np.asarray(own.astype(np.float32) @ self.sums / tokens[:, None])

    def of_dialogue(self) -> NDArray[np.float32]:
        """Return the pooled vector, float32 [d]."""
        return np.asarray(self.parts.sum(0))

    def of(self, output: Output) -> NDArray[np.float32]:
        """Return the vectors of an output: float32 [d] of the dialogue, or a row per turn or speaker."""
        if output == "dialogue":
            return self.of_dialogue()
        return self.of_turns() if output == "turns" else self.of_speakers()


def read_turns(
    network: Network, dialogues: Sequence[Windows], *, pooling: Pooling, batch_size: int = 32
) -> list[ReadTurns]:
    """Read each window once; windows of similar length from all dialogues share a batch.

    :param dialogues: windows of each dialogue (`dial2vec.encoder.windows.windows_of`).
    :param batch_size: largest number of windows read at a time; no effect beyond rounding.
    """
    reads = [_empty(windows, network.dimension) for windows in dialogues]
    places = [(number, place) for number, windows in enumerate(dialogues) for place in range(len(windows.sequences))]
    weights = [windows.weights(pooling, separator=network.tokens.separator) for windows in dialogues]
    with network.evaluating():
        for rows, batch in network.batches([dialogues[d].sequences[w] for d, w in places], batch_size):
            hidden = network(batch).float()
            for row, (number, place) in enumerate(places[row] for row in rows):
                turns, weight = dialogues[number].turns[place], weights[number][place]
                _add(reads[number], hidden[row, : len(turns)], turns, weight)
    for read in reads:
        read.weights[:] /= read.weights.sum()
    return reads


def _empty(windows: Windows, width: int) -> ReadTurns:
    n = len(windows.roles)
    sums, parts = (np.zeros((n, width), dtype=np.float32) for _ in range(2))
    return ReadTurns(sums, np.zeros(n, dtype=np.int64), parts, np.zeros(n, dtype=np.float32), np.array(windows.roles))


def _add(read: ReadTurns, hidden: Tensor, turns: NDArray[np.int64], weights: NDArray[np.float32]) -> None:
    """Add a window: token vectors [n, d], turn and weight of each token [n]."""
    numbers, places = np.unique(turns, return_inverse=True)
    spoken_in = torch.from_numpy(places).to(hidden.device)
    weighted = hidden * torch.from_numpy(weights).to(hidden.device)[:, None]
    for total, vectors in ((read.sums, hidden), (read.parts, weighted)):
        summed = hidden.new_zeros(len(numbers), hidden.shape[1]).index_add_(0, spoken_in, vectors)
        total[numbers] += summed.cpu().numpy()
    read.tokens[numbers] += np.bincount(places)
    read.weights[numbers] += np.bincount(places, weights).astype(np.float32)
