"""Models and foreign turns that the ways of augmentation need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.training.augmentation.masked_model import MaskedModel
from dial2vec.training.augmentation.ordering import Ordering, fit_ordering
from dial2vec.training.augmentation.stages import ForeignTurns, Stages, turn_vectors
from dial2vec.training.augmentation.translation import BackTranslation


@dataclass(frozen=True, slots=True)
class Tools:
    """Tools of the ways of augmentation; each may be None if no requested way needs it.

    :param encoder: Encoder that finds the stages of a dialogue.
    :param ordering: Ordering model that places foreign turns, fitted to the encoder's vectors.
    :param foreign: Foreign turns with the encoder's vectors.
    :param masked: Masked language model that fills in words.
    :param translation: Translation models into another language and back.
    :param stages: Kind of stages (`dial2vec.training.augmentation.stages`).
    """

    encoder: DialogueEncoder | None = None
    ordering: Ordering | None = None
    foreign: ForeignTurns | None = None
    masked: MaskedModel | None = None
    translation: BackTranslation | None = None
    stages: Stages = "runs"

    def learned(self, dialogues: Sequence[Dialogue], *, encoder: DialogueEncoder, seed: int) -> Tools:
        """Return the tools with an encoder, and with an ordering model and foreign turns from training dialogues.

        :raises CorpusError: if the dialogues are too few to fit an ordering model.
        """
        vectors = turn_vectors(encoder, dialogues)
        return replace(
            self,
            encoder=encoder,
            ordering=fit_ordering(vectors, seed=seed),
            foreign=ForeignTurns.of(dialogues, vectors),
        )


class Work(NamedTuple):
    """Input of a way.

    :param vectors: Unit vectors of each dialogue's turns, [turns, d]; empty if no way needs them.
    :param tools: Tools, with all that the way needs.
    :param seed: Random seed of all draws.
    """

    dialogues: Sequence[Dialogue]
    vectors: Sequence[NDArray[np.float32]]
    tools: Tools
    seed: int


class Way(NamedTuple):
    """One way to augment dialogues.

    :param make: Function from the work to each dialogue as changed; what cannot be changed stays.
    :param needs: Names of the tools that the way needs.
    """

    make: Callable[[Work], list[Dialogue]]
    needs: tuple[str, ...]
