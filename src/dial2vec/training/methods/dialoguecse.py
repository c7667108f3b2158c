"""DialogueCSE: utterances learn from the turns around them (Liu et al. 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dial2vec.config import DialogueCse, Settings
from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.reading import sentences_apart
from dial2vec.errors import ArtifactError
from dial2vec.objectives.dialoguecse import ContextAttention
from dial2vec.training.data import training_order
from dial2vec.training.loop import Names
from dial2vec.training.methods.masked import plan_masked
from dial2vec.training.negatives import Samples
from dial2vec.training.pairs import (
    NONE,
    first_turns,
    foreign_utterances,
    responses_in_context,
    responses_with_neighbour,
)
from dial2vec.training.plan import Plan, of_block, of_two_speakers, words_of_turns
from dial2vec.training.utterances import ContextSet, seeded, utterance_tokenizer


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
    :param dialogues: those train that have `dialoguecse.min_turns` turns once those of one speaker in a row are one.
    :param samples: not used.
    :param vectors: not used: no vectors are needed beforehand.
    :raises ArtifactError: when fewer than two dialogues are long enough.
    :raises ModelError: when words are to be guessed, and the encoder has no masked language model.
    """
    options = settings.dialoguecse
    merged = [dialogue.merged() for dialogue in of_two_speakers(dialogues)]
    chosen = [dialogue for dialogue in merged if len(dialogue.turns) >= options.min_turns]
    if len(chosen) < 2:
        raise ArtifactError(
            f"{len(chosen)} of the {len(merged)} dialogues of two speakers have {options.min_turns} turns once those "
            "of one speaker in a row are one; expected at least two. Lower dialoguecse.min_turns or bring more of them."
        )
    train = of_block(settings.train, options, max_items=options.max_responses)
    first, near = first_turns(chosen), _responses(chosen, options)
    owners = np.searchsorted(first, near[:, 0], side="right") - 1
    rows = np.hstack([near, foreign_utterances(first, owners, count=options.negatives, seed=[seed, 4])])
    weighed = options.aggregation == "attention"
    data = ContextSet(
        chosen,
        rows,
        utterance_tokenizer(encoder, max_length=options.max_length),
        training_order(words_of_turns(chosen)[rows[:, 0]], passes=1, settings=train, seed=seed),
        context_turns=near.shape[1] - 1,
        temperature=options.temperature,
        guidance=options.guidance,
        beside=seeded(ContextAttention, encoder.dimension, seed=seed) if weighed else None,
    )
    before = plan_masked(encoder, chosen, settings=settings, seed=seed) if options.mlm_epochs else None
    reading = sentences_apart(encoder.tokens.input)
    encoder.read_as(reading)
    names = Names.of_block("dialoguecse", items="responses")
    return Plan(data, train=train, before=before, reading=reading, names=names)


def _responses(dialogues: Sequence[Dialogue], options: DialogueCse) -> NDArray[np.int64]:
    """Return responses with their context turns, [m, 1 + c]; a response without any teaches nothing."""
    if options.guidance == "siamese_single":
        return responses_with_neighbour(dialogues, min_turns=options.min_turns)
    near = responses_in_context(dialogues, context_turns=options.context_turns, min_turns=options.min_turns)
    return near[(near[:, 1:] != NONE).any(1)]
