"""Training items of DialAug: a context and the turn that answers it, the context damaged anew at each step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dial2vec.config import DialAug, Train
from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.pooling import pool
from dial2vec.encoder.tokens import Batch, DialogueTokenizer, TokenSequence
from dial2vec.objectives.dialaug import dialaug_loss
from dial2vec.training.augmentation import TOKEN_WAYS
from dial2vec.training.augmentation.token_ways import Vocabulary
from dial2vec.training.data import SequenceSet
from dial2vec.training.processes import gathered

# Percentile of the lengths that is the limit where the settings name none.
LONG = 95


class ResponseSet(SequenceSet):
    """Items of DialAug in training order: `[context, response]`.

    :param answers: int64 [m, 2] of `pairs.contexts_with_answers`.
    :param tokenizer: of the encoder, which reads dialogues as contexts.
    :param order: int64 [items, 2] of `training_order`; the second column is the place in `answers`.
    :param options: block `dialaug`.
    :param beside: the projection behind which views are contrasted.

    Attribute `longest`: tokens of the longest input. Of a longer context the last turns are read that fit, and a turn
    that is longer alone is cut in front of its separator. Without `options.max_length` it is the 95th percentile of the
    contexts (of the responses, where these are longer), at most what the tokenizer allows.
    """

    beside: nn.Module

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
        super().__init__(tokenizer, order)
        self.dialogues, self.answers, self.options, self.beside = dialogues, answers, options, beside
        self.used = np.unique(answers[np.unique(order[:, 1]), 0])
        words = {place: tokenizer.utterances(turn.text for turn in dialogues[place].turns) for place in self.used}
        self.words = {place: [found[turn] for turn in range(len(found))] for place, found in words.items()}
        self.vocabulary = Vocabulary.of(tokenizer.tokenizer, fixed=tokenizer.style.marks, deleted=options.deleted)
        self.longest = min(tokenizer.max_length, options.max_length or self._usual_length())
        self.tokenizer = tokenizer.for_utterances(max_length=self.longest)

    def __getitem__(self, item: int) -> list[TokenSequence]:
        place, turn = self.answers[self.order[item, 1]]
        words, roles = self.words[place], self.dialogues[place].roles
        begin = self.tokenizer.first_that_fits([len(one) for one in words[:turn]], self.longest)
        return [
            self.tokenizer.assemble(words[first:last], roles[first:last])
            for first, last in ((begin, turn), (turn, turn + 1))
        ]

    def _usual_length(self) -> int:
        """Return the 95th percentile of the tokens of the inputs that train (Poddar et al. 2022)."""
        trained = self.answers[np.unique(self.order[:, 1])]
        begins = {place: np.cumsum([0, *(len(turn) for turn in words)]) for place, words in self.words.items()}
        # Of a context no more turns are read than the input has.
        firsts = np.maximum(0, trained[:, 1] - (self.tokenizer.style.last_turns or trained[:, 1].max()))
        lengths = [
            (
                begins[place][turn] - begins[place][first] + self.tokenizer.n_special(turn - first),
                begins[place][turn + 1] - begins[place][turn] + self.tokenizer.n_special(1),
            )
            for (place, turn), first in zip(trained, firsts, strict=True)
        ]
        return int(np.percentile(lengths, LONG, axis=0, method="higher").max())

    def loss(self, encoder: DialogueEncoder, settings: Train, batch: Batch, extra: dict[str, Tensor]) -> Tensor:
        """Return DialAug's loss of a flat batch; damage is drawn from torch's own generator, which checkpoints keep."""
        contexts, responses = (Batch(*(getattr(batch, name)[side::2] for name in Batch.__slots__)) for side in (0, 1))
        if self.options.augmentation == "none":
            # The context as its own view counts twice in a mean, which is the plain bi-encoder's loss.
            plain, answers = self._vectors(encoder, contexts), self._vectors(encoder, responses)
            return dialaug_loss(plain, plain, answers, project=self.beside, contrast=0.0)
        augment, vocabulary = TOKEN_WAYS[self.options.augmentation], self.vocabulary.to(batch.ids.device)
        share = {} if self.options.share is None else {"share": self.options.share}
        damaged = augment(contexts, vocabulary, generator=torch.default_generator, **share)
        return dialaug_loss(
            *(self._vectors(encoder, part) for part in (contexts, damaged, responses)),
            project=self.beside,
            contrast=self.options.contrast,
            temperature=self.options.temperature,
        )

    def _vectors(self, encoder: DialogueEncoder, batch: Batch) -> Tensor:
        return gathered(pool(encoder.sequence_states(batch), batch.roles, batch.turns, how=self.options.pooling))
