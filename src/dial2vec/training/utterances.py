"""Training items made of single utterances, each encoded alone: shared by dse, dialoguecse and masked words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import nn

from conversations.dialogue import Dialogue
from dial2vec.config import DialogueCse, Dse
from dial2vec.encoder.tokens import DialogueTokenizer, TokenSequence
from dial2vec.training.data import TrainingSet, tokenised_turns

# Stands in a row for an utterance that does not exist.
NONE = -1


class UtteranceSet(TrainingSet):
    """Rows of numbered utterances; only those that occur are tokenised, and only once.

    :param dialogues: Dialogues whose utterances are numbered (`training.data.first_turns`).
    :param rows: Utterances of each item, int64 [m, k]; `NONE` for one that does not exist.
    :param order: Items of the whole run, int64 [items, 2], from `training_order`; the second column is the row.
    :param options: Block of the method; utterances are cut to its `max_length`.
    :param auxiliary: Module that is trained with the encoder and discarded afterwards; None if there is none.
    """

    def __init__(
        self,
        dialogues: Sequence[Dialogue],
        rows: NDArray[np.int64],
        tokenizer: DialogueTokenizer,
        order: NDArray[np.int64],
        *,
        options: Dse | DialogueCse,
        auxiliary: nn.Module | None = None,
    ) -> None:
        super().__init__(tokenizer.for_utterances(max_length=options.max_length), order)
        self.rows, self.options, self.auxiliary = rows, options, auxiliary
        self.roles = [role for dialogue in dialogues for role in dialogue.roles]
        needed = np.zeros(len(self.roles), dtype=bool)
        used = rows[np.unique(order[:, 1])]
        needed[used[used != NONE]] = True
        self.places, self.tokens = tokenised_turns(dialogues, needed, self.tokenizer)

    def joined(self, *numbers: int) -> TokenSequence:
        """Return utterances as one sequence; without any, a padding token that no pool and no loss counts.

        If all together are too long for the encoder, the first ones are left out: the last one is what the next
        utterance answers.
        """
        spoken = [number for number in numbers if number != NONE]
        words = [self.tokens[self.places[number]] for number in spoken]
        if not words:
            return self.tokenizer.nothing()
        while len(words) > 1 and self.tokenizer.length([len(turn) for turn in words]) > self.tokenizer.max_length:
            spoken, words = spoken[1:], words[1:]
        return self.tokenizer.assemble(words, [self.roles[number] for number in spoken])
