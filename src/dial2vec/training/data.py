"""What a training run reads: items in training order, and what the methods share to make them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import Dataset

from conversations.dialogue import Dialogue
from conversations.words import words
from dial2vec.config import Train
from dial2vec.draws import drawn
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.tokens import Batch, DialogueTokenizer, Utterances
from dial2vec.errors import SettingsError
from dial2vec.training.processes import n_processes


class TrainingSet(Dataset[Any]):
    """Items that a method trains on, in training order; how they become batches, and a batch becomes a loss.

    An item is a list of token sequences, unless a method says otherwise.

    :param tokenizer: Tokenizer that pads the sequences.
    :param order: Items of the whole run, int64 [items, 2], from `training_order`; the second column tells items apart.

    Attribute `auxiliary`: module that is trained with the encoder and discarded afterwards; None if there is none.
    """

    auxiliary: nn.Module | None = None

    def __init__(self, tokenizer: DialogueTokenizer, order: NDArray[np.int64]) -> None:
        self.tokenizer, self.order = tokenizer, order

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, item: int) -> Any:
        raise NotImplementedError

    def collate(self, items: list[Any]) -> dict[str, Tensor]:
        """Pad items to their longest sequence: `ids`, `attention`, `turns`, `roles`, each int64 [items, k, n]."""
        batch = self.tokenizer.pad([sequence for item in items for sequence in item])
        # Items first: wherever a batch is cut, an item stays whole.
        return {name: getattr(batch, name).unflatten(0, (len(items), -1)) for name in Batch.__slots__}

    def loss(self, encoder: DialogueEncoder, settings: Train, batch: Batch, extra: dict[str, Tensor]) -> Tensor:
        """Return the loss of a batch, a scalar.

        :param batch: Sequences of all items in one list.
        :param extra: Other tensors that `collate` returned.
        """
        raise NotImplementedError

    def count_cut(self) -> int:
        """Return the number of different items with a sequence that is cut."""
        items = (self[place] for place in np.unique(self.order[:, 1], return_index=True)[1])
        return sum(any(sequence.cut for sequence in item) for item in items)


def word_counts(dialogues: Sequence[Dialogue]) -> NDArray[np.int64]:
    """Return the number of words of each dialogue, int64 [n]."""
    return np.array([sum(len(words(turn.text)) for turn in dialogue.turns) for dialogue in dialogues], dtype=np.int64)


def word_counts_of_turns(dialogues: Sequence[Dialogue]) -> NDArray[np.int64]:
    """Return the number of words of each turn, through all dialogues, int64 [turns]."""
    return np.array([len(words(turn.text)) for dialogue in dialogues for turn in dialogue.turns], dtype=np.int64)


def first_turns(dialogues: Sequence[Dialogue]) -> NDArray[np.int64]:
    """Return the number of each dialogue's first turn, int64 [n + 1]; the last entry is the number of all turns.

    Turns are numbered through all dialogues in order: number `first[i] + t` is turn t of dialogue i.
    """
    lengths = [len(dialogue.turns) for dialogue in dialogues]
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def tokenised_turns(
    dialogues: Sequence[Dialogue], needed: NDArray[np.bool_], tokenizer: DialogueTokenizer
) -> tuple[NDArray[np.int32], Utterances]:
    """Tokenise some turns, each once and alone.

    :param needed: True for each turn to tokenise, bool [turns].
    :return: the place of each turn among the tokenised ones, int32 [turns], and their tokens.
    """
    texts = (turn.text for dialogue in dialogues for turn in dialogue.turns)
    tokens = tokenizer.utterances(text for text, keep in zip(texts, needed, strict=True) if keep)
    return np.cumsum(needed, dtype=np.int32) - 1, tokens


def training_order(
    words: NDArray[np.int64], *, passes: int, settings: Train, seed: int, whole: bool = False
) -> NDArray[np.int64]:
    """Return the items of all epochs in training order, int64 [items, 2]: (pass, place).

    Each epoch is shuffled by the seed. Within 50 batches in a row, items of similar length share a batch, and these
    batches are shuffled again, so lengths do not fall from first to last. `max_dialogues` takes the first items of a
    seeded permutation: the same in every epoch, and a smaller number is a subset of a larger one.

    :param words: Length of each item, int64 [m], in any unit.
    :param passes: Number of times that each item is in an epoch.
    :param whole: True if every epoch leaves out a random part, so that all its batches are whole.
    """
    chosen = drawn(len(words), settings.max_dialogues, seed=[seed, 0])
    items = np.stack(np.meshgrid(np.arange(passes), chosen, indexing="ij"), axis=-1).reshape(-1, 2)
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
    """Return settings and order for a loss with in-batch negatives: no batch holds an item twice.

    With `batches: random` a batch is drawn from all items, so that the negatives of the loss are random ones.

    A batch is no larger than an epoch, and an epoch consists of whole batches, so no batch mixes two epochs. The rest,
    a random part of fewer items than a batch, does not train in that epoch.

    :param words: Word count per item, at least 2 items.
    :param settings: Settings of the run; `batch_size` is an upper limit.
    :return: the settings with the batch size that is used, and the order, int64 [items, 2].
    :raises SettingsError: if the processes cannot share a batch evenly; each has to gather equally many rows.
    """
    n = min(len(words), settings.max_dialogues or len(words))
    fitting = replace(settings, batch_size=min(settings.batch_size, n))
    if fitting.batch_size % n_processes():
        raise SettingsError(
            f"{n_processes()} processes cannot share a batch of {fitting.batch_size} items evenly, which method "
            f"{settings.method} needs. Make its batch_size a multiple of `processes`, or set processes: 1."
        )
    lengths = words if settings.batches == "length" else np.zeros_like(words)
    return fitting, training_order(lengths, passes=1, settings=fitting, seed=seed, whole=True)
