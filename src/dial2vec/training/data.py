"""What a training run reads: its items in the order in which it trains on them, and how a batch becomes a loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import Dataset

from dial2vec.config import Train
from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.tokens import Batch, DialogueTokenizer, TokenSequence, Utterances
from dial2vec.errors import SettingsError
from dial2vec.objectives.dial2vec import dial2vec_loss
from dial2vec.objectives.neighbours import neighbour_loss
from dial2vec.training.negatives import Samples
from dial2vec.training.processes import n_processes


class SequenceSet(Dataset[list[TokenSequence]]):
    """Items of several sequences each, in the order in which the whole run trains on them.

    :param tokenizer: pads them.
    :param order: int64 [items, 2] of `training_order`; the second column tells the items apart.
    """

    beside: nn.Module | None = None

    def __init__(self, tokenizer: DialogueTokenizer, order: NDArray[np.int64]) -> None:
        self.tokenizer, self.order = tokenizer, order

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, item: int) -> list[TokenSequence]:
        raise NotImplementedError

    def collate(self, items: list[list[TokenSequence]]) -> dict[str, Tensor]:
        """Pad items to their longest sequence: `ids`, `attention`, `turns`, `roles`, each int64 [items, k, n]."""
        batch = self.tokenizer.pad([sequence for item in items for sequence in item])
        # Items first: wherever a batch is cut, an item stays whole.
        return {name: getattr(batch, name).unflatten(0, (len(items), -1)) for name in Batch.__slots__}

    def count_cut(self) -> int:
        """Return how many different items have a sequence of which something is left out."""
        items = (self[place] for place in np.unique(self.order[:, 1], return_index=True)[1])
        return sum(any(sequence.cut for sequence in item) for item in items)


class SelfGuidedSet(SequenceSet):
    """Items of the self-guided task, in the order in which the whole run trains on them: epochs, passes, dialogues.

    One item is a dialogue with its negatives, `[positive, negative, ...]`, put together from token ids that were
    made once. The order is fixed beforehand, so a resumed run goes on with the very next item.

    :param order: int64 [items, 2]: (pass, place in `samples.dialogues`).
    """

    def __init__(
        self, train: Sequence[Dialogue], samples: Samples, tokenizer: DialogueTokenizer, order: NDArray[np.int64]
    ) -> None:
        super().__init__(tokenizer, order)
        self.samples = samples
        self.roles = [train[i].roles for i in samples.dialogues]
        self.first = np.concatenate([[0], np.cumsum([len(dialogue.turns) for dialogue in train])])
        self.places, self.tokens = self._tokenise(train)

    def _tokenise(self, train: Sequence[Dialogue]) -> tuple[NDArray[np.int32], Utterances]:
        """Tokenise the turns that occur in `order`, each once; `places` maps a turn's number to its utterance."""
        needed = np.zeros(self.first[-1], dtype=bool)
        for index, place in np.unique(self.order, axis=0):
            for turns in self._turn_numbers(index, place):
                needed[turns] = True
        places = np.cumsum(needed, dtype=np.int32) - 1
        texts = (turn.text for dialogue in train for turn in dialogue.turns)
        return places, self.tokenizer.utterances(text for text, keep in zip(texts, needed, strict=True) if keep)

    def _turn_numbers(self, index: int, place: int) -> NDArray[np.int64]:
        """Turn numbers of the positive and its negatives, [N, turns]."""
        begin, end = self.samples.first_turn[place], self.samples.first_turn[place + 1]
        own = self.first[self.samples.dialogues[place]] + np.arange(end - begin)
        return np.vstack([own, self.samples.negatives[index, :, begin:end]])

    def __getitem__(self, item: int) -> list[TokenSequence]:
        index, place = self.order[item]
        rows = self.places[self._turn_numbers(index, place)]
        return [self.tokenizer.assemble([self.tokens[u] for u in row], self.roles[place]) for row in rows]

    def loss(self, encoder: DialogueEncoder, settings: Train, batch: Batch, extra: dict[str, Tensor]) -> Tensor:
        """Return the self-guided loss of a flat batch."""
        return dial2vec_loss(
            encoder.hidden_states(batch),
            batch.turns,
            batch.roles,
            n_samples=1 + self.samples.negatives.shape[1],
            temperature=settings.temperature,
            window=settings.window,
            mean=settings.loss_mean,
        )

    def count_cut(self) -> int:
        """Return how many dialogues do not fit into the encoder's limit, they themselves or a negative of theirs."""
        cut = set()
        for index, place in np.unique(self.order, axis=0):
            words = self.tokens.lengths[self.places[self._turn_numbers(index, place)]]
            if self.tokenizer.cuts(words).any():
                cut.add(place)
        return len(cut)


class NeighbourSet(Dataset[tuple[TokenSequence, NDArray[np.float32]]]):
    """Items of neighbourhood learning: a dialogue and the target that it is pulled to, in training order.

    :param sequences: the tokenised dialogues that may train.
    :param targets: their targets, unit rows [m, d] float32.
    :param order: int64 [items, 2] of `training_order`; the second column is the place in `sequences`.
    :param max_length: longer dialogues train on their first `max_length` tokens.
    """

    beside: nn.Module | None = None

    def __init__(
        self,
        sequences: Sequence[TokenSequence],
        targets: NDArray[np.float32],
        tokenizer: DialogueTokenizer,
        order: NDArray[np.int64],
        *,
        max_length: int,
    ) -> None:
        self.sequences, self.targets, self.tokenizer, self.order = sequences, targets, tokenizer, order
        self.max_length = max_length

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, item: int) -> tuple[TokenSequence, NDArray[np.float32]]:
        place = self.order[item, 1]
        return self.sequences[place].first(self.max_length), self.targets[place]

    def collate(self, items: list[tuple[TokenSequence, NDArray[np.float32]]]) -> dict[str, Tensor]:
        """Pad items to their longest sequence: int64 [items, 1, n], and `targets` float32 [items, d]."""
        batch = self.tokenizer.pad([sequence for sequence, _ in items])
        targets = torch.from_numpy(np.stack([target for _, target in items]))
        return {name: getattr(batch, name)[:, None] for name in Batch.__slots__} | {"targets": targets}

    def loss(self, encoder: DialogueEncoder, settings: Train, batch: Batch, extra: dict[str, Tensor]) -> Tensor:
        """Return the neighbourhood loss of a flat batch."""
        return neighbour_loss(encoder(batch), extra["targets"])

    def count_cut(self) -> int:
        """Return how many dialogues train without their end."""
        return sum(self.sequences[place].first(self.max_length).cut > 0 for place in np.unique(self.order[:, 1]))


class TrainingSet(Protocol):
    """What a method trains on: items in training order, their batches, the loss of a batch.

    :param order: int64 [items, 2]; the second column tells the items apart.
    """

    order: NDArray[np.int64]

    @property
    def beside(self) -> nn.Module | None:
        """Return what is trained with the encoder and thrown away, if anything."""

    def __len__(self) -> int:
        """Return the number of items."""

    def __getitem__(self, item: int) -> Any:
        """Return an item."""

    def collate(self, items: list[Any]) -> dict[str, Tensor]:
        """Return the padded batch."""

    def loss(self, encoder: DialogueEncoder, settings: Train, batch: Batch, extra: dict[str, Tensor]) -> Tensor:
        """Return the loss of a flat batch, a scalar."""

    def count_cut(self) -> int:
        """Return how many items are cut."""


def training_order(
    words: NDArray[np.int64], *, passes: int, settings: Train, seed: int, whole: bool = False
) -> NDArray[np.int64]:
    """Return the items of all epochs in training order, int64 [items, 2]: (pass, place).

    A seeded shuffle per epoch; within each run of 50 batches items of similar length share a batch, and the batches
    of a run are shuffled again, so that no run goes from long to short. With `max_dialogues`, the first of a seeded
    permutation are used: the same ones in every epoch, and a smaller number is a subset of a larger one.

    :param words: length of each dialogue that can train, int64 [m], in any unit.
    :param whole: leaves out of every epoch what whole batches have no room for, drawn anew each time.
    """
    chosen = np.random.default_rng([seed, 0]).permutation(len(words))[: settings.max_dialogues]
    items = np.stack(np.meshgrid(np.arange(passes), np.sort(chosen), indexing="ij"), axis=-1).reshape(-1, 2)
    epochs = []
    for epoch in range(settings.epochs):
        rng = np.random.default_rng([seed, 1, epoch])
        shuffled = items[rng.permutation(len(items))]
        if whole:
            shuffled = shuffled[: len(items) - len(items) % settings.batch_size]
        for start in range(0, len(shuffled), 50 * settings.batch_size):
            run = shuffled[start : start + 50 * settings.batch_size]
            run = run[np.argsort(-words[run[:, 1]], kind="stable")]
            batches = [run[i : i + settings.batch_size] for i in range(0, len(run), settings.batch_size)]
            # The short batch, if any, stays last: batches are cut again by the loader.
            tail = [batches.pop()] if len(batches[-1]) < settings.batch_size else []
            epochs += [batches[i] for i in rng.permutation(len(batches))] + tail
    return np.concatenate(epochs) if epochs else np.zeros((0, 2), np.int64)


def whole_batches(words: NDArray[np.int64], *, settings: Train, seed: int) -> tuple[Train, NDArray[np.int64]]:
    """Return settings and order for a loss whose negatives are the other items of the batch: none stands there twice.

    A batch is no larger than an epoch, and an epoch is whole batches, so every batch that the loader cuts is of one
    epoch. What is left over, a random part of fewer items than a batch, does not train in that epoch.

    :param words: of each item, as of `training_order`; two at least.
    :param settings: what they say of the batch size is the most.
    :return: the settings with the batch size that holds, and int64 [items, 2].
    :raises SettingsError: when several processes cannot share such a batch evenly, as gathering its rows wants it.
    """
    n = min(len(words), settings.max_dialogues or len(words))
    fitting = replace(settings, batch_size=min(settings.batch_size, n))
    if fitting.batch_size % n_processes():
        raise SettingsError(
            f"{n_processes()} processes cannot share a batch of {fitting.batch_size} items evenly, which method "
            f"{settings.method} has to. Make its batch_size a multiple of `processes`, or set processes: 1."
        )
    return fitting, training_order(words, passes=1, settings=fitting, seed=seed, whole=True)
