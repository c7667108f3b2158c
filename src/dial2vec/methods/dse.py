"""DSE: utterances learn from what is said next (Zhou et al. 2022)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dial2vec.config import Settings
from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import ArtifactError
from dial2vec.methods.plan import Plan
from dial2vec.objectives.dse import ContrastHead
from dial2vec.pairs import consecutive_pairs
from dial2vec.reading import sentences_apart
from dial2vec.sampling import Samples
from dial2vec.training_data import training_order
from dial2vec.utterance_data import PairSet, seeded, utterance_tokenizer


def plan_dse(
    encoder: DialogueEncoder,
    dialogues: Sequence[Dialogue],
    samples: Samples,
    *,
    settings: Settings,
    seed: int,
    vectors: Path,
) -> Plan:
    """Prepare pairs of consecutive utterances, and the head that is thrown away.

    :param encoder: the start; reads dialogues as means of their utterances from here on.
    :param samples: says which dialogues may train; its negatives are not used.
    :param vectors: not used: no vectors are needed beforehand.
    :raises ArtifactError: when there are fewer than two pairs.
    """
    options = settings.dse
    chosen = [dialogues[place] for place in samples.dialogues]
    pairs = consecutive_pairs(chosen, variant=options.pairs, min_words=options.min_words)
    if len(pairs) < 2:
        raise ArtifactError(
            f"the {len(chosen)} dialogues that may train have {len(pairs)} pairs of consecutive utterances with "
            f"{options.min_words} words and more; expected at least two. Lower dse.min_words or bring more dialogues."
        )
    train = replace(
        settings.train,
        learning_rate=options.learning_rate,
        epochs=options.epochs,
        batch_size=min(options.batch_size, len(pairs)),
        gradient_accumulation=1,
        max_dialogues=options.max_pairs,
    )
    words = np.array([len(turn.text.split()) for dialogue in chosen for turn in dialogue.turns], dtype=np.int64)
    order = training_order(words[pairs[:, -1]], passes=1, settings=train, seed=seed)
    # A batch of one pair has no negative.
    order = order[: len(order) - (len(order) % train.batch_size == 1)]
    data = PairSet(
        chosen,
        pairs,
        utterance_tokenizer(encoder, max_length=options.max_length),
        order,
        temperature=options.temperature,
        beside=seeded(ContrastHead, encoder.dimension, seed=seed),
    )
    reading = sentences_apart(encoder.tokens.input)
    encoder.read_as(reading)
    return Plan(data, train=train, beside_rate=options.head_learning_rate, schedule="constant", reading=reading)
