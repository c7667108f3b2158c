"""Dialogues as bags of tokens: what a student learns from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from conversations.dialogue import Dialogue
from dial2vec.encoder.student.student import by_speaker
from dial2vec.encoder.student.words import token_reader

# Dialogues that are tokenised at a time.
BLOCK = 4096


@dataclass(frozen=True, slots=True)
class Bags:
    """Different tokens of each speaker of many dialogues, with their counts, end to end.

    :param tokens: Token ids, int64 [m], each once per speaker.
    :param counts: Number of times that the speaker says the token, float32 [m].
    :param speakers: Number of different tokens of each speaker, int64 [s]; may be 0.
    :param dialogues: Number of speakers of each dialogue, int64 [n].
    """

    tokens: NDArray[np.int64]
    counts: NDArray[np.float32]
    speakers: NDArray[np.int64]
    dialogues: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.dialogues)

    @classmethod
    def of(cls, dialogues: Sequence[Dialogue], tokenizer: Tokenizer) -> Bags:
        """Tokenise dialogues as a student does, and count the tokens of each speaker."""
        reader = token_reader(tokenizer)
        empty = np.zeros(0, np.int64)
        parts = [(empty, np.zeros(0, np.float32), empty, empty)]
        for first in range(0, len(dialogues), BLOCK):
            groups, n_speakers = by_speaker(dialogues[first : first + BLOCK])
            ids, lengths = reader.read(groups)
            # A speaker and a token together are one number.
            pairs = (np.repeat(np.arange(len(lengths)), lengths) << 32) | ids
            pairs, counts = np.unique(pairs, return_counts=True)
            n_tokens = np.bincount(pairs >> 32, minlength=len(lengths))
            parts.append((pairs & 0xFFFFFFFF, counts.astype(np.float32), n_tokens, n_speakers))
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

    def take(self, rows: NDArray[np.int64]) -> Bags:
        """Return the dialogues at some places, in that order."""
        speakers = _ranges(self.dialogues, rows)
        tokens = _ranges(self.speakers, speakers)
        return Bags(self.tokens[tokens], self.counts[tokens], self.speakers[speakers], self.dialogues[rows])


def _ranges(lengths: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of the items of some groups, of groups of these lengths that stand end to end."""
    chosen = lengths[rows]
    begins = (np.cumsum(lengths) - lengths)[rows]
    ends = np.cumsum(chosen)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(begins - ends + chosen, chosen)
