"""Training items of intent augmentation: a dialogue, a variant that means the same, perhaps one that does not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from dial2vec.config import Train
from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.tokens import PADDING_ROLE, Batch, DialogueTokenizer, TokenSequence
from dial2vec.objectives.intent_augmentation import intent_augmentation_loss
from dial2vec.training.data import SequenceSet
from dial2vec.training.processes import gathered


class VariantSet(SequenceSet):
    """Items `[dialogue, preserving variant, corrupted variant]` in training order.

    :param corrupted: one for each dialogue, None where nothing could be corrupted.
    :param order: int64 [items, 2] of `training_order`; the second column is the place in `dialogues`.
    :param max_length: longer dialogues, and variants, train on their first `max_length` tokens.
    """

    def __init__(
        self,
        dialogues: Sequence[Dialogue],
        preserved: Sequence[Dialogue],
        corrupted: Sequence[Dialogue | None],
        tokenizer: DialogueTokenizer,
        order: NDArray[np.int64],
        *,
        temperature: float,
        max_length: int,
    ) -> None:
        super().__init__(tokenizer, order)
        self.temperature, self.max_length = temperature, max_length
        self.dialogues = tokenizer.dialogues(dialogues)
        self.preserved = tokenizer.dialogues(preserved)
        known = [variant for variant in corrupted if variant is not None]
        found = iter(tokenizer.dialogues(known))
        self.corrupted = [tokenizer.nothing() if variant is None else next(found) for variant in corrupted]

    def __getitem__(self, item: int) -> list[TokenSequence]:
        place = self.order[item, 1]
        return [part[place].first(self.max_length) for part in (self.dialogues, self.preserved, self.corrupted)]

    def loss(self, encoder: DialogueEncoder, settings: Train, batch: Batch, extra: dict[str, Tensor]) -> Tensor:
        """Return the loss of a flat batch; a variant that does not exist is no negative."""
        dialogues, preserved, corrupted = gathered(encoder(batch)).unflatten(0, (-1, 3)).unbind(1)
        there = gathered((batch.roles[2::3] != PADDING_ROLE).any(1))
        return intent_augmentation_loss(dialogues, preserved, corrupted[there], temperature=self.temperature)
