"""DialogueCSE: utterances learn from the turns around them (Liu et al. 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dial2vec.config import DialogueCse, Settings
from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import ArtifactError
from dial2vec.methods.masked import plan_masked
from dial2vec.methods.plan import Plan
from dial2vec.objectives.dialoguecse import ContextAttention
from dial2vec.pairs import NONE, first_turns, foreign_utterances, responses_in_context, responses_with_neighbour
from dial2vec.reading import sentences_apart
from dial2vec.sampling import Samples
from dial2vec.training_data import training_order
from dial2vec.utterance_data import ContextSet, seeded, utterance_tokenizer


def plan_dialoguecse(
    encoder: DialogueEncoder,
    dialogues: Sequence[Dialogue],
    samples: Samples,
    *,
    settings: Settings,
    seed: int,
    vectors: Path,
) -> Plan:
    """Prepare responses with their context turns and foreign responses, and before that words to guess.

    :param encoder: the start; reads dialogues as means of their utterances from here on.
    :param samples: says which dialogues may train; its negatives are not used.
    :param vectors: not used: no vectors are needed beforehand.
    :raises ArtifactError: when fewer than two dialogues are long enough.
    :raises ModelError: when words are to be guessed, and the encoder has no masked language model.
    """
    options = settings.dialoguecse
    merged = [dialogues[place].merged() for place in samples.dialogues]
    chosen = [dialogue for dialogue in merged if len(dialogue.turns) >= options.min_turns]
    if len(chosen) < 2:
        raise ArtifactError(
            f"{len(chosen)} of the {len(merged)} dialogues that may train have {options.min_turns} turns once those of "
            "one speaker in a row are one; expected at least two. Lower dialoguecse.min_turns or bring more dialogues."
        )
    train = replace(
        settings.train,
        learning_rate=options.learning_rate,
        epochs=options.epochs,
        batch_size=options.batch_size,
        gradient_accumulation=1,
        max_dialogues=options.max_responses,
    )
    first, near = first_turns(chosen), _responses(chosen, options)
    owners = np.searchsorted(first, near[:, 0], side="right") - 1
    rows = np.hstack([near, foreign_utterances(first, owners, count=options.negatives, seed=[seed, 4])])
    words = np.array([len(turn.text.split()) for dialogue in chosen for turn in dialogue.turns], dtype=np.int64)
    weighed = options.guidance == "matching" and options.aggregation == "attention"
    data = ContextSet(
        chosen,
        rows,
        utterance_tokenizer(encoder, max_length=options.max_length),
        training_order(words[rows[:, 0]], passes=1, settings=train, seed=seed),
        context_turns=near.shape[1] - 1,
        temperature=options.temperature,
        guidance=options.guidance,
        beside=seeded(ContextAttention, encoder.dimension, seed=seed) if weighed else None,
    )
    # Without training, nothing would be kept of an encoder that guesses words.
    guessing = options.mlm_epochs > 0 and len(data) > 0
    before = plan_masked(encoder, chosen, settings=settings, seed=seed) if guessing else None
    reading = sentences_apart(encoder.tokens.input)
    encoder.read_as(reading)
    return Plan(data, train=train, before=before, reading=reading)


def _responses(dialogues: Sequence[Dialogue], options: DialogueCse) -> NDArray[np.int64]:
    """Return responses with their context turns, [m, 1 + c]; a response without any teaches nothing."""
    if options.guidance == "siamese_single":
        return responses_with_neighbour(dialogues, min_turns=options.min_turns)
    near = responses_in_context(dialogues, context_turns=options.context_turns, min_turns=options.min_turns)
    return near[(near[:, 1:] != NONE).any(1)]
