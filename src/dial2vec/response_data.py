"""Training items of DialAug: a context and the turn that answers it, the context damaged anew at each step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import Dataset

from dial2vec.augmentation import TOKEN_WAYS
from dial2vec.augmentation.token_ways import Vocabulary
from dial2vec.config import DialAug, Train
from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.objectives.dialaug import dialaug_loss
from dial2vec.pooling import pool
from dial2vec.tokens import Batch, DialogueTokenizer, TokenSequence

# Percentile of the lengths that is the limit where the settings name none.
LONG = 95


class ResponseSet(Dataset[list[TokenSequence]]):
    """Items of DialAug in training order: `[context, response]`.

    :param answers: int64 [m, 2] of `pairs.contexts_with_answers`.
    :param tokenizer: puts the separator behind every turn.
    :param order: int64 [items, 2] of `training_order`; the second column is the place in `answers`.
    :param options: block `dialaug`.
    :param beside: the projection behind which views are contrasted.

    Attribute `longest`: tokens of the longest input. Of a longer context the last turns are read that fit. Without
    `options.max_length` it is the 95th percentile of the contexts (of the responses, where these are longer), at most
    what the tokenizer allows.
    """

    def __init__(
        self,
        dialogues: Sequence[Dialogue],
        answers: NDArray[np.int64],
        tokenizer: DialogueTokenizer,
        order: NDArray[np.int64],
        *,
        options: DialAug,
        beside: nn.Module,
    ) -> None:
        self.dialogues, self.answers, self.tokenizer, self.order = dialogues, answers, tokenizer, order
        self.options, self.beside = options, beside
        self.used = np.unique(answers[np.unique(order[:, 1]), 0])
        words = {place: tokenizer.utterances(turn.text for turn in dialogues[place].turns) for place in self.used}
        self.words = {place: [found[turn] for turn in range(len(found))] for place, found in words.items()}
        self.vocabulary = Vocabulary.of(tokenizer.tokenizer, deleted=options.deleted)
        self.longest = min(tokenizer.max_length, options.max_length or self._usual_length())

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, item: int) -> list[TokenSequence]:
        place, turn = self.answers[self.order[item, 1]]
        words, roles = self.words[place], self.dialogues[place].roles
        begin = self.tokenizer.first_that_fits([len(one) for one in words[:turn]], self.longest)
        return [
            self.tokenizer.assemble(words[first:last], roles[first:last]).first(self.longest)
            for first, last in ((begin, turn), (turn, turn + 1))
        ]

    def _usual_length(self) -> int:
        """Return the 95th percentile of the tokens of the inputs that train (Poddar et al. 2022)."""
        trained = self.answers[np.unique(self.order[:, 1])]
        if not len(trained):
            return self.tokenizer.max_length
        begins = {place: np.cumsum([0, *(len(turn) for turn in words)]) for place, words in self.words.items()}
        spans = np.array([[begins[place][turn], begins[place][turn + 1]] for place, turn in trained])
        special = np.array([[self.tokenizer.n_special(turn), self.tokenizer.n_special(1)] for turn in trained[:, 1]])
        contexts_and_responses = np.diff(spans, axis=1, prepend=0) + special
        return int(np.percentile(contexts_and_responses, LONG, axis=0, method="higher").max())

    def collate(self, items: list[list[TokenSequence]]) -> dict[str, Tensor]:
        """Pad items to their longest sequence: `ids`, `attention`, `turns`, `roles`, each int64 [items, 2, n]."""
        batch = self.tokenizer.pad([sequence for item in items for sequence in item])
        return {name: getattr(batch, name).unflatten(0, (len(items), 2)) for name in Batch.__slots__}

    def loss(self, encoder: DialogueEncoder, settings: Train, batch: Batch, extra: dict[str, Tensor]) -> Tensor:
        """Return DialAug's loss of a flat batch; damage is drawn from torch's own generator, which checkpoints keep."""
        contexts, responses = (Batch(*(getattr(batch, name)[side::2] for name in Batch.__slots__)) for side in (0, 1))
        if self.options.augmentation == "none":
            # The context as its own view counts twice in a mean, which is the plain bi-encoder's loss.
            plain, answers = self._vectors(encoder, contexts), self._vectors(encoder, responses)
            return dialaug_loss(plain, plain, answers, project=self.beside, contrast=0.0)
        augment, vocabulary = TOKEN_WAYS[self.options.augmentation], self.vocabulary.to(batch.ids.device)
        # Truncation draws how many turns go, and has no share.
        fixed = self.options.share is None or self.options.augmentation == "truncation"
        share = {} if fixed else {"share": self.options.share}
        damaged = augment(contexts, vocabulary, generator=torch.default_generator, **share)
        return dialaug_loss(
            *(self._vectors(encoder, part) for part in (contexts, damaged, responses)),
            project=self.beside,
            contrast=self.options.contrast,
            temperature=self.options.temperature,
        )

    def _vectors(self, encoder: DialogueEncoder, batch: Batch) -> Tensor:
        return pool(encoder.sequence_states(batch), batch.roles, batch.turns, how=self.options.pooling)

    def count_cut(self) -> int:
        """Return how many contexts or responses do not fit into the limit, contexts without their first turns."""
        items = (self[place] for place in np.unique(self.order[:, 1], return_index=True)[1])
        return sum(any(sequence.cut for sequence in item) for item in items)
