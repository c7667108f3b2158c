"""Whole dialogues for an encoder that reads a limited length: windows over their turns, and a weight per token."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec.encoder.pooling import Pooling
from dial2vec.encoder.tokens import DialogueTokenizer, TokenSequence
from dial2vec.errors import Dial2vecError

# Number of a turn in the dialogue, and its token ids without special tokens, all or a piece.
Piece = tuple[int, NDArray[np.int32]]


@dataclass(frozen=True, slots=True)
class Windows:
    """The encoder inputs of a dialogue: one if the dialogue fits, else several one after the other.

    :param sequences: encoder inputs, at least one. Each is read like a dialogue of its own, with the special tokens of
        a dialogue and turn numbers that start again.
    :param turns: turn of the dialogue for each token, from 0, int64 [n] per input.
    :param roles: role of each turn of the dialogue.
    """

    sequences: tuple[TokenSequence, ...]
    turns: tuple[NDArray[np.int64], ...]
    roles: tuple[int, ...]

    @property
    def long(self) -> bool:
        """Whether the dialogue is longer than the encoder reads at once."""
        return len(self.sequences) > 1 or self.cut > 0

    @property
    def cut(self) -> int:
        """Number of tokens that are not read: 0, unless the input is one of the last turns."""
        return sum(sequence.cut for sequence in self.sequences)

    def weights(self, how: Pooling, *, separator: int | None) -> tuple[NDArray[np.float32], ...]:
        """Return the weight of each token in the dialogue's pooled vector, float32 [n] per input.

        The pooled vector is the sum of all token vectors, each times its weight. Over one window this is
        `dial2vec.encoder.pooling.pool`. Over several windows "role", "mean" and "turns" pool all tokens of the dialogue
        as if they had been read together; "cls" and "separators" are the mean of the windows.

        :param how: name of the pooling.
        :param separator: id of the separator; only for that pooling.
        """
        each = [len(sequence.ids) for sequence in self.sequences]
        ends = np.cumsum(each)[:-1]
        windows = np.repeat(np.arange(len(each)), each)
        counted = np.ones(len(windows), dtype=bool)
        if how in ("cls", "separators"):
            counted = np.concatenate([_chosen(sequence, how, separator) for sequence in self.sequences])
            groups = windows
        elif how == "role":
            groups = np.concatenate([sequence.roles for sequence in self.sequences])
        else:
            groups = np.concatenate(self.turns) if how == "turns" else np.zeros_like(windows)
        sizes = np.bincount(groups[counted])
        # Every role counts fully, however much it says; with other poolings the groups share one mean.
        whole = 1 if how == "role" else np.count_nonzero(sizes)
        weights = counted / (sizes[groups].clip(min=1) * whole)
        return tuple(np.split(weights.astype(np.float32), ends))


def windows_of(tokens: DialogueTokenizer, dialogues: Sequence[Dialogue]) -> list[Windows]:
    """Tokenise whole dialogues: one input each if it fits, else windows, so that nothing is cut.

    Windows meet between turns, and each holds as many turns as fit. A turn that is longer than a window is split into
    pieces of equal length; no window holds two pieces of one turn. An input of the last turns (`last_turns`) has no
    windows: tokens that do not fit are cut at the end and counted.

    :raises CorpusError: if a dialogue has no turns.
    """
    return [
        cut_windows(tokens, turns, dialogue.roles)
        for dialogue, turns in zip(dialogues, tokens.turns_of(dialogues), strict=True)
    ]


def cut_windows(tokens: DialogueTokenizer, turns: Sequence[NDArray[np.int32]], roles: tuple[int, ...]) -> Windows:
    """Return the windows of a dialogue that is tokenised already; otherwise like `windows_of`.

    :param turns: token ids of each turn, whole and without special tokens; at least one turn.
    :param roles: role of each turn.
    """
    whole = tokens.assemble(turns, roles)
    if not (whole.cut and tokens.style.last_turns is None):
        first = len(turns) - len(turns[tokens.style.kept])
        return Windows((whole,), (_places(tokens, whole, np.arange(first, len(turns))),), roles)
    sequences, places = [], []
    for pieces in _packed(tokens, _pieces(turns, tokens.longest_turn)):
        numbers, read = zip(*pieces, strict=True)
        sequence = tokens.assemble(read, [roles[number] for number in numbers])
        sequences.append(sequence)
        places.append(_places(tokens, sequence, np.array(numbers)))
    return Windows(tuple(sequences), tuple(places), roles)


def _places(tokens: DialogueTokenizer, sequence: TokenSequence, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the turn of each token of an input that holds the turns `numbers`."""
    return numbers[len(numbers) - sequence.turns if tokens.style.count_down else sequence.turns]


def _pieces(turns: Sequence[NDArray[np.int32]], longest: int) -> Iterator[Piece]:
    for number, turn in enumerate(turns):
        parts = np.array_split(turn, max(1, -(-len(turn) // longest)))
        yield from ((number, part) for part in parts)


def _packed(tokens: DialogueTokenizer, pieces: Iterator[Piece]) -> Iterator[list[Piece]]:
    window: list[Piece] = []
    words = 0
    for piece in pieces:
        number, read = piece
        fits = tokens.fits(words + len(read), n_turns=len(window) + 1)
        if window and (window[-1][0] == number or not fits):
            yield window
            window, words = [], 0
        window.append(piece)
        words += len(read)
    yield window


def _chosen(sequence: TokenSequence, how: Pooling, separator: int | None) -> NDArray[np.bool_]:
    if how == "cls":
        return np.arange(len(sequence.ids)) == 0
    if separator is None:
        raise Dial2vecError("pooling is separators, but found no token id; expected the separator's. Give `separator`.")
    separators = np.asarray(sequence.ids == separator)
    return separators if separators.any() else np.ones_like(separators)
