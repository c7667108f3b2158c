"""Ways to augment whole dialogues: one function per way, from `Work` to each dialogue as changed.

`augment` has already checked that the needed tools exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec.draws import augmentation_rng
from dial2vec.training.augmentation import masked_model, stages, translation
from dial2vec.training.augmentation.masked_model import MaskedModel
from dial2vec.training.augmentation.ordering import Ordering
from dial2vec.training.augmentation.stages import ForeignTurns
from dial2vec.training.augmentation.tools import Work
from dial2vec.training.augmentation.translation import BackTranslation


def insertion(work: Work) -> list[Dialogue]:
    """Insert likely words."""
    return masked_model.inserted(cast(MaskedModel, work.tools.masked), work.dialogues, seed=work.seed)


def back_translation(work: Work) -> list[Dialogue]:
    """Translate every turn into another language and back."""
    return translation.back_translated(cast(BackTranslation, work.tools.translation), work.dialogues)


def shuffling(work: Work) -> list[Dialogue]:
    """Reorder the stages."""
    return [
        stages.shuffled(dialogue, stages.stages_of(vectors, kind=work.tools.stages), rng)
        for dialogue, vectors, rng in _with_draws(work, "shuffling")
    ]


def shortening(work: Work) -> list[Dialogue]:
    """Drop one stage."""
    return [
        stages.shortened(dialogue, stages.stages_of(vectors, kind=work.tools.stages), rng)
        for dialogue, vectors, rng in _with_draws(work, "shortening")
    ]


def lengthening(work: Work) -> list[Dialogue]:
    """Insert foreign turns where they fit."""
    foreign, ordering = cast(ForeignTurns, work.tools.foreign), cast(Ordering, work.tools.ordering)
    return [
        stages.lengthened(dialogue, vectors, foreign, ordering, rng, kind=work.tools.stages)
        for dialogue, vectors, rng in _with_draws(work, "lengthening")
    ]


def replacement(work: Work) -> list[Dialogue]:
    """Replace content words, which corrupts the intent."""
    return masked_model.replaced(cast(MaskedModel, work.tools.masked), work.dialogues, seed=work.seed)


def _with_draws(work: Work, way: str) -> Iterator[tuple[Dialogue, NDArray[np.float32], np.random.Generator]]:
    for dialogue, vectors in zip(work.dialogues, work.vectors, strict=True):
        yield dialogue, vectors, augmentation_rng(work.seed, way, dialogue.dialogue_id)
