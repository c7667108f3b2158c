"""DialAug: contexts find their responses, also damaged ones (Poddar et al. 2022)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dial2vec.config import Settings
from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.backbone import add_token
from dial2vec.encoder.reading import one_context
from dial2vec.errors import ArtifactError, SettingsError
from dial2vec.objectives.dialaug import ViewProjection
from dial2vec.training.data import whole_batches
from dial2vec.training.loop import Names
from dial2vec.training.negatives import Samples
from dial2vec.training.pairs import contexts_with_answers
from dial2vec.training.plan import Plan, of_block, of_two_speakers
from dial2vec.training.responses import ResponseSet
from dial2vec.training.utterances import seeded

ROLES = {"any": None, "first": 0, "second": 1}


def plan_dialaug(
    encoder: DialogueEncoder,
    dialogues: Sequence[Dialogue],
    samples: Samples,
    *,
    settings: Settings,
    seed: int,
    vectors: Path,
) -> Plan:
    """Prepare contexts with their answers.

    :param encoder: the start; reads dialogues as contexts from here on, and gets the token for deleted words where some
        are deleted and it has none.
    :param dialogues: all of two speakers may train.
    :param samples: not used.
    :param vectors: not used: no vectors are needed beforehand.
    :raises ArtifactError: when there are fewer than two answers.
    :raises ModelError: when the start token is to be pooled, and contexts have none.
    :raises SettingsError: when the token for deleted words is one that marks turns.
    """
    options = settings.dialaug
    reading = one_context(encoder.tokens.input, options.pooling)
    encoder.read_as(reading, option="dialaug.pooling")
    chosen = of_two_speakers(dialogues)
    answers = contexts_with_answers(chosen, answering=ROLES[options.answering])
    if len(answers) < 2:
        raise ArtifactError(
            f"the {len(chosen)} dialogues of two speakers have {len(answers)} turns that answer others; expected at "
            "least two. Set dialaug.answering to any, or bring more dialogues."
        )
    own = of_block(settings.train, options, max_items=options.max_responses)
    train, order = whole_batches(_words_before(chosen, answers), settings=own, seed=seed)
    deleting = options.augmentation == "deletion"
    if deleting and options.deleted in encoder.tokens.style.marks:
        raise SettingsError(
            f"dialaug.deleted is {options.deleted}, which marks the turns of input {reading.input}; expected a token "
            "of its own for deleted words. Set it to another, such as '[DEL]'."
        )
    added = deleting and add_token(encoder.backbone, encoder.tokens.tokenizer, options.deleted)
    data = ResponseSet(
        chosen,
        answers,
        encoder.tokens,
        order,
        options=options,
        beside=seeded(ViewProjection, encoder.dimension, seed=seed),
    )
    names = Names.of_block("dialaug", items="responses")
    return Plan(data, train=train, added=options.deleted if added else None, reading=reading, names=names)


def _words_before(dialogues: Sequence[Dialogue], answers: np.ndarray) -> np.ndarray:
    """Return the number of words in front of each answer, int64 [m]."""
    words = [np.cumsum([len(turn.text.split()) for turn in dialogue.turns]) for dialogue in dialogues]
    return np.array([words[place][turn - 1] for place, turn in answers], dtype=np.int64)
