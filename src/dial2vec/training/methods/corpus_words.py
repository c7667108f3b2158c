"""A masked language model of the corpus itself, for the ways of method intent_augmentation that need one.

An encoder of sentences, such as MiniLM, has no head for masked words any more. A copy of it gets a new one, whose
decoder is the copy's own table of tokens, and learns masked words on runs of neighbouring turns of the training split.
The base encoder stays as it is.
"""

from __future__ import annotations

import copy
import logging
import math
import shutil
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from conversations.files import atomic_path
from dial2vec.errors import SettingsError
from dial2vec.training.augmentation.masked_model import MaskedModel, load_masked
from dial2vec.training.data import first_turns, training_order, word_counts_of_turns
from dial2vec.training.loop import Names, train
from dial2vec.training.methods.masked import MaskedSet, masked_head
from dial2vec.training.plan import Given
from dial2vec.training.processes import n_processes
from dial2vec.training.utterances import NONE

# Turns that are read together, so that words can be guessed from the dialogue, and tokens of each.
TURNS, LONGEST = 4, 48
BATCH, LEARNING_RATE, HEAD_RATE = 32, 1e-4, 1e-3
SAVED, CHECKPOINTS = "masked_model", "masked_checkpoints"
REMEDY = "Set intent_augmentation.masked_model to a masked language model"

log = logging.getLogger(__name__)


def corpus_masked_model(given: Given, folder: Path) -> MaskedModel:
    """Return a masked language model of the training split; it is trained once and kept in a folder.

    It trains for `intent_augmentation.masked_steps` steps, of which a killed run keeps the half.

    :param folder: Folder claimed for this encoder, these dialogues and this seed (`files.claim`).
    :raises ModelError: if the encoder's kind has no masked language model.
    :raises SettingsError: if it would have to be trained by several processes.
    """
    if not (folder / SAVED).is_dir():
        if n_processes() > 1:
            raise SettingsError(
                f"intent_augmentation.masked_model is corpus, which trains a model in one process; found "
                f"{n_processes()}. Set processes to 1 for the first run."
            )
        log.info("training a masked language model for %d steps", given.settings.intent_augmentation.masked_steps)
        _train(given, folder)
    return load_masked(folder / SAVED, device=str(given.encoder.device))


def _train(given: Given, folder: Path) -> None:
    settings, encoder = given.settings, copy.deepcopy(given.encoder)
    encoder.head = None
    steps = settings.intent_augmentation.masked_steps
    head = masked_head(encoder, seed=settings.seed, remedy=REMEDY)
    words = word_counts_of_turns(given.dialogues)
    rows = runs_of_turns(given.dialogues)
    lengths = np.where(rows == NONE, 0, words[rows]).sum(1)
    options = replace(
        settings.train,
        learning_rate=LEARNING_RATE,
        epochs=math.ceil(steps * BATCH / len(rows)),
        batch_size=BATCH,
        gradient_accumulation=1,
        max_dialogues=None,
        frozen_share=0.0,
        checkpoint_steps=max(1, steps // 2),
    )
    order = training_order(lengths, passes=1, settings=options, seed=settings.seed)[: steps * BATCH]
    utterances = replace(settings.dialoguecse, max_length=LONGEST)
    train(
        encoder,
        MaskedSet(given.dialogues, rows, encoder.tokens, order, options=utterances, auxiliary=head),
        settings=options,
        seed=settings.seed,
        checkpoints=folder / CHECKPOINTS,
        fingerprint="masked words",
        auxiliary_rate=HEAD_RATE,
        names=Names("intent_augmentation", "runs of turns", REMEDY),
    )
    with atomic_path(folder / SAVED) as temporary:
        head.network.save_pretrained(temporary)
        encoder.tokens.tokenizer.save_pretrained(temporary)
    shutil.rmtree(folder / CHECKPOINTS)


def runs_of_turns(dialogues: Sequence[Dialogue]) -> NDArray[np.int64]:
    """Return runs of four neighbouring turns, int64 [m, 4]: numbers of `training.data.first_turns`, `NONE` for none.

    Every turn is in one run; the last run of a dialogue can be shorter.
    """
    runs = [
        [turn if turn < end else NONE for turn in range(begin, begin + TURNS)]
        for first, end in pairwise(first_turns(dialogues).tolist())
        for begin in range(first, end, TURNS)
    ]
    return np.array(runs, dtype=np.int64).reshape(-1, TURNS)
