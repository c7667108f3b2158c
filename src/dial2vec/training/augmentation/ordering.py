"""A listwise model, fitted to the training dialogues, of the order in which turns are said.

A transformer reads the vectors of all turns of a dialogue at once, without their places, and gives each a rank
("Generating Synthetic Data via Intent-Preserving and Intent-Corrupting Augmentations", section 2.1, "Lengthening").
Layers, heads, width and loss are those of the authors' later draft (its appendix, "Listwise Model").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from dial2vec.errors import CorpusError
from dial2vec.training.auxiliary import seeded

LAYERS, HEADS = 4, 4
# Numbers of pairs of neighbouring turns and of dialogues: too few teach nothing, more cost time.
LEAST_PAIRS, MOST_DIALOGUES = 10, 1000
# Turns of a dialogue that are sorted at a time; only training is cut to so many.
MOST_TURNS = 64
HELD_OUT = 0.1
EPOCHS, BATCH, RATE = 8, 16, 5e-4


class ListwiseTransformer(nn.Module):
    """Ranks of turns from their vectors. It has no positions, so the order of the turns in its input has no effect.

    :param dimension: Length d of a turn's vector.
    """

    def __init__(self, dimension: int) -> None:
        super().__init__()
        width = max(HEADS, dimension // 2 // HEADS * HEADS)
        layer = nn.TransformerEncoderLayer(width, HEADS, 4 * width, dropout=0.02, batch_first=True, norm_first=True)
        self.enter = nn.Linear(dimension, width)
        self.layers = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(width), enable_nested_tensor=False)
        self.rank = nn.Linear(width, 1)

    def forward(self, vectors: Tensor, present: Tensor) -> Tensor:
        """Return the ranks of turns, [b, n]; the highest is the first turn.

        :param vectors: Vectors of the turns [b, n, d].
        :param present: False for padding, bool [b, n].
        """
        read = self.layers(self.enter(vectors), src_key_padding_mask=~present)
        ranks: Tensor = self.rank(read)[..., 0]
        return ranks


class Ordering:
    """The fitted model. Made by `fit_ordering`.

    :param held_out: Share of the pairs of turns of held-out dialogues that it puts in their order, in [0, 1]; 0.5 by
        chance.
    """

    def __init__(self, network: nn.Module, held_out: float) -> None:
        self.network = network
        self.held_out = held_out

    def ranks(self, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the ranks of the turns of one dialogue, float64 [n]; the highest is the first turn.

        :param vectors: Unit vectors of the turns in any order [n, d].
        """
        self.network.eval()
        with torch.inference_mode():
            turns = torch.from_numpy(np.ascontiguousarray(vectors))[None]
            ranks: Tensor = self.network(turns, torch.ones(turns.shape[:2], dtype=torch.bool))[0]
        return ranks.double().numpy()

    def place(self, vectors: NDArray[np.float32], vector: NDArray[np.float32]) -> int:
        """Return the gap, 0 to n, into which a foreign turn fits best while the others keep their order.

        It is the first gap with the fewest turns on the wrong side of the foreign one by their ranks.

        :param vectors: Unit vectors of the turns in order [n, d].
        :param vector: Unit vector of the foreign turn [d].
        """
        ranks = self.ranks(np.concatenate([vectors, vector[None]]))
        later = ranks[:-1] < ranks[-1]
        wrong_before = np.concatenate([[0], np.cumsum(later)])
        wrong_after = np.concatenate([np.cumsum(~later[::-1])[::-1], [0]])
        return int((wrong_before + wrong_after).argmin())


def listwise_loss(ranks: Tensor, present: Tensor) -> Tensor:
    """Return how far ranks are from the order of the turns: KL divergence of their softmax from that of 0, -1, -2, ...

    :param ranks: Ranks of the turns in their true order [b, n].
    :param present: False for padding, which stands last, bool [b, n].
    :return: scalar, mean over dialogues; 0 if the ranks are right up to a constant.
    """
    goals = -torch.arange(ranks.shape[1], dtype=ranks.dtype, device=ranks.device).expand_as(ranks)
    wanted, given = (part.masked_fill(~present, float("-inf")).log_softmax(1) for part in (goals, ranks))
    # Padding has probability 0 on both sides.
    gap = (wanted - given).masked_fill(~present, 0)
    return (wanted.exp() * gap).sum(1).mean()


def fit_ordering(vectors: Sequence[NDArray[np.float32]], *, seed: int) -> Ordering:
    """Fit the model to dialogues, at most 1,000 of them.

    :param vectors: Unit vectors of the turns of each dialogue in order, [turns, d], as `stages.turn_vectors` returns.
    :raises CorpusError: if there are too few pairs of neighbouring turns.
    """
    n_pairs = sum(len(turns) - 1 for turns in vectors)
    if n_pairs < LEAST_PAIRS:
        raise CorpusError(
            f"the {len(vectors)} dialogues have {n_pairs} pairs of neighbouring turns; expected at least "
            f"{LEAST_PAIRS} to learn an order from. Give more training dialogues."
        )
    rng = np.random.default_rng(seed)
    several = [turns[:MOST_TURNS] for turns in vectors if len(turns) > 1]
    chosen = [several[place] for place in rng.permutation(len(several))[:MOST_DIALOGUES]]
    n_held = max(1, int(HELD_OUT * len(chosen)))
    # Of very few dialogues the held-out one trains as well.
    held, train = chosen[:n_held], chosen[n_held:] or chosen
    network = seeded(lambda: _fitted(train, rng), seed=seed)
    ordering = Ordering(network, 0.0)
    right = [pairs_in_order(ordering.ranks(turns)) for turns in held]
    return Ordering(network, float(np.mean(right)))


def pairs_in_order(ranks: NDArray[np.float64]) -> float:
    """Return the share of the pairs of turns whose ranks are in order, in [0, 1]; equal ranks count half.

    :param ranks: Ranks of at least two turns in their true order [n].
    """
    first, second = np.triu_indices(len(ranks), 1)
    ahead = ranks[first] - ranks[second]
    return float((ahead > 0).mean() + (ahead == 0).mean() / 2)


def _fitted(dialogues: Sequence[NDArray[np.float32]], rng: np.random.Generator) -> nn.Module:
    network = ListwiseTransformer(dialogues[0].shape[1])
    steps = EPOCHS * -(-len(dialogues) // BATCH)
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps, pct_start=0.1)
    network.train()
    for _ in range(EPOCHS):
        order = rng.permutation(len(dialogues))
        for first in range(0, len(order), BATCH):
            turns = [torch.from_numpy(dialogues[place]) for place in order[first : first + BATCH]]
            present = pad_sequence([torch.ones(len(some), dtype=torch.bool) for some in turns], batch_first=True)
            loss = listwise_loss(network(pad_sequence(turns, batch_first=True), present), present)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return network
