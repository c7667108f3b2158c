"""What the ways of augmentation need besides the dialogues: models, and turns to lend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.training.augmentation.made import Made
from dial2vec.training.augmentation.masked_model import MaskedModel
from dial2vec.training.augmentation.ordering import Ordering, fit_ordering
from dial2vec.training.augmentation.stages import ForeignTurns, turn_vectors
from dial2vec.training.augmentation.translation import BackTranslation

# How each tool is called in an error, and where it comes from.
NAMES = {
    "encoder": "an encoder (DialogueEncoder.from_pretrained)",
    "ordering": "an ordering model (tools.learned(training dialogues))",
    "foreign": "turns to lend (tools.learned(training dialogues))",
    "masked": "a masked language model (load_masked)",
    "translation": "two translation models (load_translator)",
}


@dataclass(frozen=True, slots=True)
class Tools:
    """Each may be missing where no way is asked for that needs it.

    :param encoder: finds the stages of a dialogue.
    :param ordering: finds the place of a foreign turn; of the same encoder.
    :param foreign: turns to lend; of the same encoder.
    :param masked: fills in words.
    :param translation: there and back.
    """

    encoder: DialogueEncoder | None = None
    ordering: Ordering | None = None
    foreign: ForeignTurns | None = None
    masked: MaskedModel | None = None
    translation: BackTranslation | None = None

    def learned(self, dialogues: Sequence[Dialogue], *, encoder: DialogueEncoder, seed: int) -> Tools:
        """Return the tools with an encoder, and with what is learned from training dialogues: order, and their turns.

        :raises CorpusError: when the dialogues are too few to learn from.
        """
        vectors = turn_vectors(encoder, dialogues)
        return replace(
            self,
            encoder=encoder,
            ordering=fit_ordering(vectors, seed=seed),
            foreign=ForeignTurns.of(dialogues, vectors),
        )


class Work(NamedTuple):
    """What a way is given.

    :param dialogues: to be augmented.
    :param vectors: unit vectors of their turns, [turns, d] of each; empty where no way needs them.
    :param tools: those that the way needs are there.
    :param seed: of all draws.
    """

    dialogues: Sequence[Dialogue]
    vectors: Sequence[NDArray[np.float32]]
    tools: Tools
    seed: int


class Way(NamedTuple):
    """One way to augment dialogues.

    :param make: gives one dialogue for each.
    :param preserving: whether the intent is the same afterwards.
    :param needs: names of the tools that must be there.
    """

    make: Callable[[Work], list[Made]]
    preserving: bool
    needs: tuple[str, ...]
