"""Training items of the utterance methods, in training order, and how a batch of them becomes a loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dial2vec.config import Train
from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.pooling import pool
from dial2vec.encoder.tokens import PADDING_ROLE, Batch, DialogueTokenizer, TokenSequence
from dial2vec.objectives.dialoguecse import ContextAttention, dialoguecse_loss
from dial2vec.objectives.dse import dse_loss
from dial2vec.objectives.siamese import siamese_loss
from dial2vec.training.data import SequenceSet
from dial2vec.training.pairs import NONE
from dial2vec.training.processes import gathered

Guidance = Literal["matching", "siamese_single", "siamese_multi"]
M = TypeVar("M", bound=nn.Module)


class UtteranceSet(SequenceSet):
    """Rows of numbered utterances, each encoded alone; tokenised once, and only those that occur.

    :param dialogues: all dialogues through which utterances are numbered (`dial2vec.training.pairs`).
    :param rows: the utterances of each item, int64 [m, k], -1 for none.
    :param tokenizer: of `utterance_tokenizer`; cuts each utterance, not several as one.
    :param order: int64 [items, 2] of `training_order`; the second column is the place in `rows`.
    :param temperature: τ of the loss, where it has one.
    :param beside: what is trained with the encoder and thrown away, if anything.
    """

    def __init__(
        self,
        dialogues: Sequence[Dialogue],
        rows: NDArray[np.int64],
        tokenizer: DialogueTokenizer,
        order: NDArray[np.int64],
        *,
        temperature: float = 1.0,
        beside: nn.Module | None = None,
    ) -> None:
        super().__init__(tokenizer, order)
        self.rows, self.temperature, self.beside = rows, temperature, beside
        texts = [turn.text for dialogue in dialogues for turn in dialogue.turns]
        self.roles = [role for dialogue in dialogues for role in dialogue.roles]
        needed = np.zeros(len(texts), dtype=bool)
        used = rows[np.unique(order[:, 1])]
        needed[used[used != NONE]] = True
        self.places = np.cumsum(needed) - 1
        self.tokens = tokenizer.utterances(text for text, keep in zip(texts, needed, strict=True) if keep)

    def joined(self, numbers: NDArray[np.int64]) -> TokenSequence:
        """Return utterances as one sequence; none at all is a token of padding that no pool and no loss counts.

        Each is cut to its limit. Where all together are too long for the encoder, the first ones are left out: the
        last one is what the next utterance answers.
        """
        spoken = [number for number in numbers if number != NONE]
        said = [self.tokens[self.places[number]] for number in spoken]
        if not said:
            return self.tokenizer.nothing()
        while len(said) > 1 and self.tokenizer.length([len(turn) for turn in said]) > self.tokenizer.max_length:
            spoken, said = spoken[1:], said[1:]
        return self.tokenizer.assemble(said, [self.roles[number] for number in spoken])


class PairSet(UtteranceSet):
    """Items of DSE: a query of one to three utterances and what was said next, rows of `consecutive_pairs`."""

    def __getitem__(self, item: int) -> list[TokenSequence]:
        row = self.rows[self.order[item, 1]]
        return [self.joined(row[:-1]), self.joined(row[-1:])]

    def loss(self, encoder: DialogueEncoder, settings: Train, batch: Batch, extra: dict[str, Tensor]) -> Tensor:
        """Return the DSE loss of a flat batch."""
        vectors = pool(encoder.sequence_states(batch), batch.roles, batch.turns, how="mean")
        assert self.beside is not None
        first, second = gathered(self.beside(vectors)).unflatten(0, (-1, 2)).unbind(1)
        return dse_loss(first, second, temperature=self.temperature)


class ContextSet(UtteranceSet):
    """Items of DialogueCSE: context turns, the response, and foreign responses.

    :param rows: of `responses_in_context`, the foreign utterances behind: [m, 1 + c + negatives].
    :param context_turns: c.
    :param guidance: how context and response meet: "matching" by `dialoguecse_loss`, the others by `siamese_loss`.
    :param beside: the attention over the context turns; with "matching" only.
    """

    def __init__(
        self,
        dialogues: Sequence[Dialogue],
        rows: NDArray[np.int64],
        tokenizer: DialogueTokenizer,
        order: NDArray[np.int64],
        *,
        context_turns: int,
        temperature: float,
        guidance: Guidance = "matching",
        beside: ContextAttention | None = None,
    ) -> None:
        super().__init__(dialogues, rows, tokenizer, order, temperature=temperature, beside=beside)
        self.context_turns, self.guidance, self.attention = context_turns, guidance, beside

    def __getitem__(self, item: int) -> list[TokenSequence]:
        row = self.rows[self.order[item, 1]]
        context, responses = row[1 : 1 + self.context_turns], [row[0], *row[1 + self.context_turns :]]
        return [self.joined(np.array([number])) for number in [*context, *responses]]

    def loss(self, encoder: DialogueEncoder, settings: Train, batch: Batch, extra: dict[str, Tensor]) -> Tensor:
        """Return the DialogueCSE loss of a flat batch, or that of its Siamese baselines."""
        each = self.rows.shape[1]
        hidden = encoder.sequence_states(batch).unflatten(0, (-1, each))
        there = (batch.roles != PADDING_ROLE).unflatten(0, (-1, each))
        c = self.context_turns
        met = (hidden[:, :c], there[:, :c], hidden[:, c:], there[:, c:])
        if self.guidance == "matching":
            return dialoguecse_loss(*met, temperature=self.temperature, attention=self.attention)
        return siamese_loss(*met, temperature=self.temperature)


def utterance_tokenizer(encoder: DialogueEncoder, *, max_length: int) -> DialogueTokenizer:
    """Return the tokenizer of utterances alone: what the encoder's input puts around a turn stands around each.

    :param max_length: longest utterance in tokens.
    """
    return encoder.tokens.for_utterances(max_length=max_length)


def seeded(make: Callable[[int], M], dimension: int, *, seed: int) -> M:
    """Return a module with random weights that hang on the seed alone."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return make(dimension)
