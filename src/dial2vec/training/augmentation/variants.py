"""Variants of dialogues: each way of augmentation as one function of the work to be done.

`augment` has made sure that the tools of a way are there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from dial2vec.dialogue import Dialogue
from dial2vec.training.augmentation import masked, stages, translation
from dial2vec.training.augmentation.made import Made
from dial2vec.training.augmentation.masked import MaskedModel
from dial2vec.training.augmentation.ordering import Ordering
from dial2vec.training.augmentation.stages import ForeignTurns
from dial2vec.training.augmentation.streams import stream
from dial2vec.training.augmentation.tools import Work
from dial2vec.training.augmentation.translation import BackTranslation


@dataclass(frozen=True, slots=True)
class Variant:
    """A dialogue that was made from another one.

    :param way: name of the way.
    :param dialogue: of the id `<original's>#<way>`, with the original's split, and its labels where the intent is
        preserved. A corrupted dialogue has no labels: they may no longer hold.
    :param preserving: whether the intent is the original's.
    :param changed: whether any turn differs from the original.
    :param note: why nothing was changed, a clause; empty otherwise.
    """

    way: str
    dialogue: Dialogue
    preserving: bool
    changed: bool
    note: str = ""


def insertion(work: Work) -> list[Made]:
    """Likely words between those said."""
    return masked.inserted(cast(MaskedModel, work.tools.masked), work.dialogues, seed=work.seed)


def back_translation(work: Work) -> list[Made]:
    """Every turn into another language and back."""
    return translation.back_translated(cast(BackTranslation, work.tools.translation), work.dialogues, seed=work.seed)


def shuffling(work: Work) -> list[Made]:
    """Stages in another order."""
    return [
        stages.shuffled(dialogue, stages.stages_of(vectors), stream(work.seed, "shuffling", dialogue.dialogue_id))
        for dialogue, vectors in zip(work.dialogues, work.vectors, strict=True)
    ]


def shortening(work: Work) -> list[Made]:
    """One stage less."""
    return [
        stages.shortened(dialogue, stages.stages_of(vectors), stream(work.seed, "shortening", dialogue.dialogue_id))
        for dialogue, vectors in zip(work.dialogues, work.vectors, strict=True)
    ]


def lengthening(work: Work) -> list[Made]:
    """Foreign turns where they fit."""
    foreign, ordering = cast(ForeignTurns, work.tools.foreign), cast(Ordering, work.tools.ordering)
    return [
        stages.lengthened(dialogue, vectors, foreign, ordering, stream(work.seed, "lengthening", dialogue.dialogue_id))
        for dialogue, vectors in zip(work.dialogues, work.vectors, strict=True)
    ]


def replacement(work: Work) -> list[Made]:
    """Other content words, which corrupts the intent."""
    return masked.replaced(cast(MaskedModel, work.tools.masked), work.dialogues, seed=work.seed)
