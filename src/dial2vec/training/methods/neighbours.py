"""Neighbourhood learning: maps fitted in closed form, and training to the same targets (docs/recipe.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from dial2vec.config import Settings, Train
from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.head import Head
from dial2vec.encoder.nearest import neighbourhood_size
from dial2vec.encoder.vector_cache import kept_vectors
from dial2vec.objectives.neighbours import centred, fit_map, neighbour_targets
from dial2vec.training.data import NeighbourSet, training_order
from dial2vec.training.negatives import Samples
from dial2vec.training.plan import Plan, words_of

# Fewer dialogues have no neighbourhood to learn from: five neighbours would be a twentieth of the corpus or more.
LEAST_DIALOGUES = 100
# The map falls back to the identity where the corpus is too small to say: 0.8 d / n in units of the mean eigenvalue
# (n = 200, d = 384: 1.5; n = 1,000 and more: 0.3, below which dialogues of unseen topics pay for the known ones).
# The cautious map is held back ten times as much.
LEAST_RIDGE, RIDGE_PER_DIMENSION, CAUTION = 0.3, 0.8, 10.0
CAUTIOUS, MAP = "cautious map", "map"


def plan_neighbours(
    encoder: DialogueEncoder,
    dialogues: Sequence[Dialogue],
    samples: Samples,
    *,
    settings: Settings,
    seed: int,
    vectors: Path,
) -> Plan:
    """Find each dialogue's neighbours by the start's vectors, fit the maps, and prepare training to the same targets.

    :param encoder: the start; gets the head beneath which it trains.
    :param vectors: folder in which the start's vectors are kept.
    """
    options = settings.train
    lot = np.random.default_rng([seed, 0]).permutation(len(samples.dialogues))[: options.neighbourhood]
    chosen = [dialogues[place] for place in samples.dialogues[np.sort(lot)]]
    if len(chosen) < LEAST_DIALOGUES:
        return Plan(
            None,
            note=f"The start was kept: learning from neighbours needs at least {LEAST_DIALOGUES} training dialogues "
            f"with two speakers and sample.min_turns turns, and there are {len(chosen)}.",
        )
    fitted = fit_maps(encoder, chosen, settings=options, vectors=vectors)
    encoder.head = fitted.centring
    data = NeighbourSet(
        encoder.tokens.dialogues(chosen),
        fitted.targets,
        encoder.tokens,
        training_order(words_of(chosen), passes=1, settings=options, seed=seed),
        max_length=options.max_length,
    )
    return Plan(data, fitted.centring, fitted.maps, chosen)


@dataclass(frozen=True, slots=True)
class Fitted:
    """What the neighbourhoods of one encoder give.

    :param centring: the head that removes what all dialogues share, and maps nothing.
    :param maps: centred linear maps to the targets, by name, the most cautious first.
    :param targets: unit rows [n, d] float32, where each dialogue is pulled to.
    """

    centring: Head
    maps: dict[str, Head]
    targets: NDArray[np.float32]


def fit_maps(encoder: DialogueEncoder, dialogues: Sequence[Dialogue], *, settings: Train, vectors: Path) -> Fitted:
    """Encode the dialogues without a head, and fit the maps that bring them to the targets of their neighbours.

    :param dialogues: at least two.
    :param vectors: folder in which the encoder's vectors are kept.
    """
    with encoder.without_head():
        pooled = kept_vectors(encoder, dialogues, folder=vectors, precision=settings.precision)
    n, d = pooled.shape
    ridge = max(LEAST_RIDGE, RIDGE_PER_DIMENSION * d / n)
    units, mean = centred(pooled)
    targets = neighbour_targets(units, k=neighbourhood_size(n))

    def head(weight: NDArray[np.float32]) -> Head:
        return Head(torch.from_numpy(mean), torch.from_numpy(weight)).to(encoder.device)

    maps = {
        name: head(fit_map(units, targets, ridge=strength, identity=1.0))
        for name, strength in ((CAUTIOUS, CAUTION * ridge), (MAP, ridge))
    }
    return Fitted(head(np.eye(d, dtype=np.float32)), maps, targets)
