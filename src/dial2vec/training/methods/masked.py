"""Adaptation of an encoder to the dialogues' language, before a method trains it: it guesses words (BERT's task)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dial2vec.config import Settings
from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.training.data import training_order
from dial2vec.training.loop import Names
from dial2vec.training.masked import MaskedSet, masked_head
from dial2vec.training.plan import Plan, words_of_turns
from dial2vec.training.utterances import utterance_tokenizer

# Liu et al. 2021: half an epoch in batches of 50; every layer trains.
LEARNING_RATE, BATCH = 2e-5, 50
# A checkpoint is all weights and twice as much for the optimiser, and of no use but after a kill.
MOST_CHECKPOINTS = 10


def plan_masked(encoder: DialogueEncoder, dialogues: Sequence[Dialogue], *, settings: Settings, seed: int) -> Plan:
    """Prepare utterances whose words are to be guessed, by block `dialoguecse`.

    Of an epoch that is not whole the first part of its order is taken, which is a random one.

    :param dialogues: all whose utterances may be read.
    :raises ModelError: when the encoder has no masked language model.
    """
    options = settings.dialoguecse
    words = words_of_turns(dialogues)
    train = replace(
        settings.train,
        learning_rate=LEARNING_RATE,
        epochs=math.ceil(options.mlm_epochs),
        batch_size=BATCH,
        gradient_accumulation=1,
        max_dialogues=options.mlm_max_utterances,
        frozen_share=0.0,
    )
    order = training_order(words, passes=1, settings=train, seed=seed)
    order = order[: math.ceil(len(order) * options.mlm_epochs / train.epochs)]
    data = MaskedSet(
        dialogues,
        np.arange(len(words))[:, None],
        utterance_tokenizer(encoder, max_length=options.max_length),
        order,
        beside=masked_head(encoder, seed=seed),
    )
    steps = math.ceil(len(order) / BATCH)
    return Plan(
        data,
        train=replace(train, checkpoint_steps=max(train.checkpoint_steps, steps // MOST_CHECKPOINTS)),
        # Its rate is no setting.
        names=Names("dialoguecse", "utterances", "Set dialoguecse.mlm_epochs to 0 in params.yaml, which leaves it out"),
    )
