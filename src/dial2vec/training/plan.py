"""What a method prepares for the stage train."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dial2vec.config import DialAug, DialogueCse, Dse, IntentAugmentation, Settings, Train
from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.head import Head
from dial2vec.encoder.reading import Reading
from dial2vec.training.data import TrainingSet
from dial2vec.training.loop import Names, Schedule, Trained, train


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
    :param added: a token that the plan gave the encoder (`dial2vec.encoder.backbone.add_token`), if any.
    :param reading: how the encoder reads dialogues once it is trained so; None is as before.
    :param names: how the run is spoken of.
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
    reading: Reading | None = None
    names: Names = field(default_factory=Names)


def words_of(dialogues: Sequence[Dialogue]) -> NDArray[np.int64]:
    """Return the number of words of each dialogue, int64 [n]."""
    return np.array([sum(len(turn.text.split()) for turn in dialogue.turns) for dialogue in dialogues], dtype=np.int64)


def words_of_turns(dialogues: Sequence[Dialogue]) -> NDArray[np.int64]:
    """Return the number of words of each turn, through all dialogues, int64 [turns]."""
    return np.array([len(turn.text.split()) for dialogue in dialogues for turn in dialogue.turns], dtype=np.int64)


def of_two_speakers(dialogues: Sequence[Dialogue]) -> list[Dialogue]:
    """Return the dialogues that are any: what methods choose from that train on utterances, by rules of their own."""
    return [dialogue for dialogue in dialogues if dialogue.n_speakers > 1]


def of_block(
    train: Train, options: Dse | DialogueCse | DialAug | IntentAugmentation, *, max_items: int | None
) -> Train:
    """Return block `train` with what a method's own block says instead; batches are not put together to steps."""
    return replace(
        train,
        learning_rate=options.learning_rate,
        epochs=options.epochs,
        batch_size=options.batch_size,
        frozen_share=options.frozen_share,
        gradient_accumulation=1,
        max_dialogues=max_items,
    )


def carry_out(
    plan: Plan | None, encoder: DialogueEncoder, settings: Settings, *, checkpoints: Path, fingerprint: str
) -> Trained:
    """Train the encoder in place as planned, without what comes before; None, or a plan without items, trains nothing.

    :param checkpoints: folder of this part's checkpoints; where nothing is trained nothing of a former run stays.
    :param fingerprint: as in `training.train`.
    """
    if plan is None or plan.data is None:
        shutil.rmtree(checkpoints, ignore_errors=True)
        return Trained.nothing()
    return train(
        encoder,
        plan.data,
        settings=plan.train or settings.train,
        seed=settings.seed,
        checkpoints=checkpoints,
        fingerprint=fingerprint,
        beside_rate=plan.beside_rate,
        schedule=plan.schedule,
        names=plan.names,
    )
