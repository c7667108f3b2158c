"""Training items of intent augmentation: a dialogue, a variant that means the same, perhaps one that does not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import Dataset

from dial2vec.config import Train
from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.objectives.intent_augmentation import intent_augmentation_loss
from dial2vec.tokens import PADDING_ROLE, Batch, DialogueTokenizer, TokenSequence


class VariantSet(Dataset[list[TokenSequence]]):
    """Items `[dialogue, preserving variant, corrupted variant]` in training order.

    :param corrupted: one for each dialogue, None where nothing could be corrupted.
    :param order: int64 [items, 2] of `training_order`; the second column is the place in `dialogues`.
    :param max_length: longer dialogues train on their first `max_length` tokens.
    """

    beside: nn.Module | None = None

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
        self.tokenizer, self.order = tokenizer, order
        self.temperature, self.max_length = temperature, max_length
        self.dialogues = tokenizer.dialogues(dialogues)
        self.preserved = tokenizer.dialogues(preserved)
        known = [variant for variant in corrupted if variant is not None]
        found = iter(tokenizer.dialogues(known))
        self.corrupted = [tokenizer.nothing() if variant is None else next(found) for variant in corrupted]

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, item: int) -> list[TokenSequence]:
        place = self.order[item, 1]
        return [part[place].first(self.max_length) for part in (self.dialogues, self.preserved, self.corrupted)]

    def collate(self, items: list[list[TokenSequence]]) -> dict[str, Tensor]:
        """Pad items to their longest sequence: `ids`, `attention`, `turns`, `roles`, each int64 [items, 3, n]."""
        batch = self.tokenizer.pad([sequence for item in items for sequence in item])
        return {name: getattr(batch, name).unflatten(0, (len(items), 3)) for name in Batch.__slots__}

    def loss(self, encoder: DialogueEncoder, settings: Train, batch: Batch, extra: dict[str, Tensor]) -> Tensor:
        """Return the loss of a flat batch; a variant that does not exist is no negative."""
        dialogues, preserved, corrupted = encoder(batch).unflatten(0, (-1, 3)).unbind(1)
        there = (batch.roles[2::3] != PADDING_ROLE).any(1)
        return intent_augmentation_loss(dialogues, preserved, corrupted[there], temperature=self.temperature)

    def count_cut(self) -> int:
        """Return how many dialogues train without their end."""
        return sum(self.dialogues[place].first(self.max_length).cut > 0 for place in np.unique(self.order[:, 1]))
