"""What a method prepares for the stage train."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dial2vec.config import Train
from dial2vec.dialogue import Dialogue
from dial2vec.head import Head
from dial2vec.training import Schedule
from dial2vec.training_data import TrainingSet


@dataclass(frozen=True, slots=True)
class Plan:
    """What a method prepared.

    :param data: the items of the training run; None trains nothing.
    :param head: what is on the encoder while it trains, if anything.
    :param maps: heads fitted on the start, by name, the most cautious first.
    :param neighbourhood: the dialogues on which `fit_maps` fits them; empty where the method has no maps.
    :param note: why nothing can be trained, a sentence; empty otherwise.
    :param train: what holds for this method instead of block `train`; None is that block as it stands.
    :param beside_rate: learning rate of what `data` trains beside the encoder; None is the encoder's.
    :param schedule: of the learning rate, behind the warm-up.
    :param before: what trains the encoder before `data` does (masked words); its last weights lie beneath every
        checkpoint.
    :param added: a token that the plan gave the encoder (`dial2vec.backbone.add_token`), if any.
    """

    data: TrainingSet | None
    head: Head | None = None
    maps: dict[str, Head] = field(default_factory=dict)
    neighbourhood: Sequence[Dialogue] = ()
    note: str = ""
    train: Train | None = None
    beside_rate: float | None = None
    schedule: Schedule = "linear"
    before: Plan | None = None
    added: str | None = None


def words_of(dialogues: Sequence[Dialogue]) -> NDArray[np.int64]:
    """Return the number of words of each dialogue, int64 [n]."""
    return np.array([sum(len(turn.text.split()) for turn in dialogue.turns) for dialogue in dialogues], dtype=np.int64)
