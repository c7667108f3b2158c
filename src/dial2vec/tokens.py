"""Dialogues as token ids, each token knowing its turn and its role (Liu et al. 2022, section 3.2, figure 2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dial2vec.dialogue import Dialogue
from dial2vec.errors import CorpusError

PADDING_ROLE = -1
MAX_TURNS = 512
MAX_ROLES = 16


@dataclass(frozen=True, slots=True)
class Utterances:
    """Token ids of many utterances, without special tokens, end to end in one array.

    :param ids: int32 [total tokens].
    :param offsets: int64 [n + 1]; utterance u is `ids[offsets[u]:offsets[u + 1]]`.
    """

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens of each utterance, int64 [n]."""
        return np.diff(self.offsets)


@dataclass(frozen=True, slots=True)
class TokenSequence:
    """One encoder input. All three arrays are int64 [n].

    :param ids: token ids with the encoder's own special tokens.
    :param turns: index of the turn that each token belongs to, from 0; the first special token counts to turn 0.
    :param roles: role of that turn, from 0.
    :param cut: number of tokens that did not fit and were left out at the end.
    """

    ids: NDArray[np.int64]
    turns: NDArray[np.int64]
    roles: NDArray[np.int64]
    cut: int

    def first(self, n: int) -> TokenSequence:
        """Return its first n tokens."""
        lost = max(0, len(self.ids) - n)
        return TokenSequence(self.ids[:n], self.turns[:n], self.roles[:n], self.cut + lost) if lost else self


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded encoder inputs, each int64 [b, n]; a padded place has attention 0, turn 0 and role -1."""

    ids: torch.Tensor
    attention: torch.Tensor
    turns: torch.Tensor
    roles: torch.Tensor

    def to(self, device: torch.device | str) -> Batch:
        """Return the batch on `device`."""
        return Batch(*(t.to(device, non_blocking=True) for t in (self.ids, self.attention, self.turns, self.roles)))


class DialogueTokenizer:
    """Turns dialogues into encoder inputs, `[CLS] u1 u2 ... ut` or `[CLS] u1 [SEP] u2 [SEP] ... ut`.

    The special tokens are the encoder's own. Sentence encoders have seen running text rather than separators; the
    paper has them (section 3.2). Every utterance is tokenised once and alone, so that negatives can be put together
    from cached ids.

    :param tokenizer: a fast Hugging Face tokenizer.
    :param max_length: longest input in tokens; what does not fit is cut at the end and counted.
    :param separators: put the encoder's separator between turns.
    """

    def __init__(self, tokenizer: Any, *, max_length: int, separators: bool) -> None:
        self.tokenizer = tokenizer
        self.separators = separators
        self.max_length = max_length
        start = tokenizer.cls_token_id if tokenizer.cls_token_id is not None else tokenizer.bos_token_id
        separator = tokenizer.sep_token_id if tokenizer.sep_token_id is not None else tokenizer.eos_token_id
        self._start = [] if start is None else [start]
        # RoBERTa and its kin mark a boundary between two texts by two separators.
        doubled = "roberta" in type(tokenizer).__name__.lower()
        self._separator = [separator] * (2 if doubled else 1) if separators and separator is not None else []
        self._padding = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0

    def utterances(self, texts: Iterable[str]) -> Utterances:
        """Tokenise utterances, each alone and without special tokens."""
        texts = list(texts)
        encoded = (
            self.tokenizer(texts, add_special_tokens=False, return_attention_mask=False)["input_ids"] if texts else []
        )
        lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
        ids = np.fromiter(chain.from_iterable(encoded), dtype=np.int32, count=int(lengths.sum()))
        return Utterances(ids, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))

    def assemble(self, turns: Sequence[NDArray[np.int32]], roles: Sequence[int]) -> TokenSequence:
        """Join tokenised turns into one input; each separator belongs to the turn before it.

        :param turns: token ids of each turn.
        :param roles: role of each turn.
        """
        last = len(turns) - 1
        pieces: list[Any] = [self._start]
        lengths = []
        for index, turn in enumerate(turns):
            separator = self._separator if index < last else []
            pieces += [turn, separator]
            lengths.append(len(turn) + len(separator) + (len(self._start) if index == 0 else 0))
        ids = np.concatenate([np.asarray(piece, dtype=np.int64) for piece in pieces])
        turn_ids = np.repeat(np.arange(len(turns), dtype=np.int64), lengths)
        role_ids = np.repeat(np.asarray(roles, dtype=np.int64), lengths)
        limit = self.max_length
        return TokenSequence(ids[:limit], turn_ids[:limit], role_ids[:limit], max(0, len(ids) - limit))

    def dialogues(self, dialogues: Sequence[Dialogue]) -> list[TokenSequence]:
        """Tokenise whole dialogues.

        :raises CorpusError: for a dialogue without turns.
        """
        empty = next((dialogue for dialogue in dialogues if not dialogue.turns), None)
        if empty is not None:
            raise CorpusError(f"dialogue {empty.dialogue_id!r} has no turns; expected at least one. Leave it out.")
        tokens = self.utterances(turn.text for dialogue in dialogues for turn in dialogue.turns)
        sequences, first = [], 0
        for dialogue in dialogues:
            turns = [tokens[first + offset] for offset in range(len(dialogue.turns))]
            sequences.append(self.assemble(turns, dialogue.roles))
            first += len(dialogue.turns)
        return sequences

    def n_special(self, n_turns: int) -> int:
        """Return how many special tokens a dialogue of `n_turns` turns gets."""
        return len(self._start) + len(self._separator) * (n_turns - 1)

    def pad(self, sequences: Sequence[TokenSequence]) -> Batch:
        """Pad to the longest sequence of the batch."""
        shape = (len(sequences), max(len(sequence.ids) for sequence in sequences))
        ids = np.full(shape, self._padding, dtype=np.int64)
        attention, turns = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        roles = np.full(shape, PADDING_ROLE, dtype=np.int64)
        for row, sequence in enumerate(sequences):
            n = len(sequence.ids)
            ids[row, :n], attention[row, :n] = sequence.ids, 1
            turns[row, :n], roles[row, :n] = sequence.turns, sequence.roles
        return Batch(*map(torch.from_numpy, (ids, attention, turns, roles)))
