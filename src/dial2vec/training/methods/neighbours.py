"""Method neighbours: each dialogue is pulled towards its nearest dialogues, and nothing is pushed apart.

Maps are fitted to these targets in closed form, and the encoder trains towards the same targets (docs/recipe.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from conversations.dialogue import Dialogue
from dial2vec.config import Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.head import Head
from dial2vec.encoder.maps import centred, fit_map, neighbour_targets, neighbourhood_size, ridge_of
from dial2vec.encoder.tokens import Batch, DialogueTokenizer, TokenSequence
from dial2vec.encoder.vector_cache import kept_vectors
from dial2vec.training.data import TrainingSet, training_order, word_counts
from dial2vec.training.plan import Given, Plan

# Fewer dialogues have no neighbourhood to learn from: five neighbours would be at least a twentieth of the corpus.
LEAST_DIALOGUES = 100
# The cautious map has ten times the ridge.
CAUTION = 10.0
CAUTIOUS, HEAD = "cautious head", "head"


def plan(given: Given) -> Plan:
    """Find each dialogue's neighbours by the base encoder's vectors, fit the maps, and prepare the training."""
    encoder, settings = given.encoder, given.settings
    chosen = given.drawn(settings.train.neighbourhood, stream=0)
    if len(chosen) < LEAST_DIALOGUES:
        return Plan(
            None,
            settings.train,
            note=f"The base encoder was kept: learning from neighbours needs at least {LEAST_DIALOGUES} training "
            f"dialogues with two speakers and sample.min_turns turns, and there are {len(chosen)}.",
        )
    fitted = fit_maps(encoder, chosen, settings=settings.train, vectors=given.vectors)
    order = training_order(word_counts(chosen), passes=1, settings=settings.train, seed=settings.seed)
    sequences = encoder.tokens.dialogues(chosen)
    data = NeighbourSet(sequences, fitted.targets, encoder.tokens, order, max_length=settings.train.max_length)
    return Plan(data, settings.train, fitted.centring, fitted.maps, chosen)


class NeighbourSet(TrainingSet):
    """Items of neighbourhood learning: a tokenised dialogue, and the target that it is pulled to.

    :param sequences: Tokenised dialogues that may train.
    :param targets: Targets of the dialogues, unit rows [m, d] float32.
    :param tokenizer: Tokenizer that pads the sequences.
    :param order: Items of the whole run, int64 [items, 2], from `training_order`; the second column is the dialogue.
    :param max_length: Longest sequence in tokens; longer dialogues train on their beginning.
    """

    def __init__(
        self,
        sequences: Sequence[TokenSequence],
        targets: NDArray[np.float32],
        tokenizer: DialogueTokenizer,
        order: NDArray[np.int64],
        *,
        max_length: int,
    ) -> None:
        super().__init__(tokenizer, order)
        self.sequences, self.targets, self.max_length = sequences, targets, max_length

    def __getitem__(self, item: int) -> tuple[TokenSequence, NDArray[np.float32]]:
        place = self.order[item, 1]
        return self.sequences[place].first(self.max_length), self.targets[place]

    def collate(self, items: list[tuple[TokenSequence, NDArray[np.float32]]]) -> dict[str, Tensor]:
        """Pad items to their longest sequence, int64 [items, 1, n], and add `targets`, float32 [items, d]."""
        targets = torch.from_numpy(np.stack([target for _, target in items]))
        return super().collate([[sequence] for sequence, _ in items]) | {"targets": targets}

    def loss(self, encoder: DialogueEncoder, settings: Train, batch: Batch, extra: dict[str, Tensor]) -> Tensor:
        """Return the neighbourhood loss."""
        return neighbour_loss(encoder(batch), extra["targets"])

    def count_cut(self) -> int:
        """Return the number of dialogues that train without their end."""
        return sum(self.sequences[place].first(self.max_length).cut > 0 for place in np.unique(self.order[:, 1]))


@dataclass(frozen=True, slots=True)
class Fitted:
    """What the neighbourhoods of one encoder give.

    :param centring: Head that removes what all dialogues share, and maps nothing.
    :param maps: Centred linear maps to the targets, by name, the most cautious first.
    :param targets: Unit rows [n, d] float32; each dialogue is pulled to its row.
    """

    centring: Head
    maps: dict[str, Head]
    targets: NDArray[np.float32]


def fit_maps(encoder: DialogueEncoder, dialogues: Sequence[Dialogue], *, settings: Train, vectors: Path) -> Fitted:
    """Encode the dialogues without a head, and fit the maps that bring them to the targets of their neighbours.

    :param dialogues: Dialogues to encode, at least 2.
    :param vectors: Folder that keeps the encoder's vectors.
    """
    with encoder.without_head():
        pooled = kept_vectors(encoder, dialogues, folder=vectors, precision=settings.precision)
    n, d = pooled.shape
    ridge = ridge_of(n, d)
    units, mean = centred(pooled)
    targets = neighbour_targets(units, k=neighbourhood_size(n))

    def head(weight: NDArray[np.float32]) -> Head:
        return Head(torch.from_numpy(mean), torch.from_numpy(weight)).to(encoder.device)

    maps = {
        name: head(fit_map(units, targets, ridge=strength, identity=1.0))
        for name, strength in ((CAUTIOUS, CAUTION * ridge), (HEAD, ridge))
    }
    return Fitted(head(np.eye(d, dtype=np.float32)), maps, targets)


def neighbour_loss(vectors: Tensor, targets: Tensor) -> Tensor:
    """Pull each dialogue towards the average of its neighbourhood.

    In plain words: dialogues that are already near each other belong together a little more than the encoder says.
    Nothing is pushed away, so dialogues of one topic are never driven apart for being different dialogues.

    Requirements: a base encoder whose nearest neighbours mostly share a topic; a few hundred dialogues.
    Inputs: dialogues with targets from `neighbour_targets`; no negatives.
    Relations: `fit_map` reaches the same targets by a matrix, in seconds; training the encoder goes further, because
    the encoder also learns which words of a dialogue matter. `dial2vec_loss` tells a dialogue from copies with one
    side replaced; that helps weak encoders, and drives topics of strong ones apart.

    :param vectors: Vectors of the encoder [b, d], of any length.
    :param targets: Unit rows [b, d].
    :return: scalar fp32, mean of 1 - cosine, in [0, 2].

    Example::

        units, mean = centred(start_vectors)
        loss = neighbour_loss(encoder(batch), torch.from_numpy(neighbour_targets(units, k=10))[rows])
        loss.backward()
    """
    return (1 - functional.cosine_similarity(vectors.float(), targets.float(), dim=1)).mean()
