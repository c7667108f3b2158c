"""Readers of the two kinds of encoders, for `dial2vec.operation.serving.batching`; torch is imported by one only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.student import StudentEncoder
from dial2vec.encoder.student.words import splits_at_blanks, token_reader
from dial2vec.operation.serving.batching import Piece, PieceReader

if TYPE_CHECKING:
    from dial2vec.encoder.encoder import DialogueEncoder
    from dial2vec.encoder.loading import Encoder
    from dial2vec.encoder.tokens import TokenSequence

# Rows that a GPU reads at a time, at least: short rows are padded to the longest of them.
ROWS = 8


def reader_of(encoder: Encoder) -> PieceReader:
    """Return the reader of an encoder or a student."""
    return StudentReader(encoder) if isinstance(encoder, StudentEncoder) else EncoderReader(encoder)


class EncoderReader:
    """Reads dialogues as `DialogueEncoder.encode` does.

    A piece is a window of a dialogue; or some turns of it, if each turn is read alone.
    """

    def __init__(self, encoder: DialogueEncoder) -> None:
        self.encoder = encoder
        backend = getattr(encoder.tokens.tokenizer, "backend_tokenizer", None)
        self.splits_at_blanks = backend is not None and splits_at_blanks(backend)

    def tokenise(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Return the token ids of each text, without special tokens."""
        return list(self.encoder.tokens.utterances(texts))

    def pieces(self, dialogue: Dialogue, turns: Sequence[NDArray[np.int32]]) -> tuple[list[Piece], bool]:
        """Return the windows of a tokenised dialogue, and whether it is longer than the encoder reads at once."""
        from dial2vec.encoder.windows import cut_windows

        tokens = self.encoder.tokens
        windows = cut_windows(tokens, turns, dialogue.roles)
        weights = windows.weights(self.encoder.pooling, separator=tokens.separator)
        pairs = list(zip(windows.sequences, weights, strict=True))
        if tokens.style.apart and self.encoder.network.hierarchy is None:
            pairs = [part for pair in pairs for part in _by_turns(*pair, most=self.encoder.max_length)]
        return [Piece(len(sequence.ids), (sequence, weight)) for sequence, weight in pairs], windows.long

    def encode(self, pieces: Sequence[Piece]) -> NDArray[np.float32]:
        """Return the weighted sum of the token vectors of each window, float32 [n, d]."""
        import torch

        network, lengths = self.encoder.network, [piece.tokens for piece in pieces]
        vectors = np.zeros((len(pieces), network.dimension), dtype=np.float32)
        rows_at_once = max(ROWS, sum(lengths) // max(lengths))
        with network.evaluating():
            for rows, batch in network.batches([piece.content[0] for piece in pieces], rows_at_once):
                weights = np.zeros(batch.ids.shape, dtype=np.float32)
                for row, number in enumerate(rows):
                    weights[row, : lengths[number]] = pieces[number].content[1]
                hidden = network(batch).float().masked_fill(batch.attention[..., None] == 0, 0)
                spread = torch.from_numpy(weights).to(hidden.device)[:, None]
                # The sum is in fp32, also if the encoder reads in bf16.
                with torch.autocast(hidden.device.type, enabled=False):
                    vectors[rows] = torch.bmm(spread, hidden)[:, 0].cpu().numpy()
        return vectors

    def join(self, pooled: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the pooled vectors through the head, if there is one, float32 [n, d]; zeros stay zeros."""
        import torch

        with torch.inference_mode():
            mapped = self.encoder.through_head(torch.from_numpy(pooled).to(self.encoder.device)).cpu().numpy()
        return np.where(pooled.any(-1, keepdims=True), mapped, np.float32(0))


def _by_turns(
    sequence: TokenSequence, weights: NDArray[np.float32], *, most: int
) -> Iterator[tuple[TokenSequence, NDArray[np.float32]]]:
    """Yield the parts of a dialogue whose turns are read alone: whole turns, as many as have `most` tokens."""
    ends = [*(np.flatnonzero(np.diff(sequence.turns)) + 1).tolist(), len(sequence.ids)]
    first = 0
    for end, following in pairwise([*ends, first + len(sequence.ids) + most + 1]):
        if following - first > most:
            part = slice(first, end)
            ids, turns, roles = sequence.ids[part], sequence.turns[part], sequence.roles[part]
            yield replace(sequence, ids=ids, turns=turns, roles=roles), weights[part]
            first = end


class StudentReader:
    """Reads dialogues as `StudentEncoder.encode` does; each is one piece, because its sum takes almost no time."""

    def __init__(self, student: StudentEncoder) -> None:
        self.student = student
        self.splits_at_blanks = splits_at_blanks(student.tokenizer)
        self._tokens = token_reader(student.tokenizer)

    def tokenise(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Return the token ids of each text."""
        ids, lengths = self._tokens.read([[text] for text in texts])
        return np.split(ids, np.cumsum(lengths)[:-1])

    def pieces(self, dialogue: Dialogue, turns: Sequence[NDArray[np.int32]]) -> tuple[list[Piece], bool]:
        """Return the dialogue as one piece, its tokens by speaker; no dialogue is too long."""
        spoken: list[list[NDArray[np.int32]]] = [[] for _ in range(dialogue.n_speakers)]
        for turn, role in zip(turns, dialogue.roles, strict=True):
            spoken[role].append(turn)
        ids = np.concatenate([turn for of_one in spoken for turn in of_one])
        lengths = np.array([sum(map(len, of_one)) for of_one in spoken])
        return [Piece(len(ids), (ids, lengths))], False

    def encode(self, pieces: Sequence[Piece]) -> NDArray[np.float32]:
        """Return the sum of the speakers' mean rows of each piece, float32 [n, d]."""
        ids, lengths = (np.concatenate(arrays) for arrays in zip(*(piece.content for piece in pieces), strict=True))
        sums, weights = self.student.table.sums(ids, lengths)
        weights[weights == 0] = 1
        speakers = np.array([len(piece.content[1]) for piece in pieces])
        return np.add.reduceat(sums / weights[:, None], np.cumsum(speakers) - speakers)

    def join(self, pooled: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the pooled vectors at length 1, float32 [n, d]; zeros stay zeros."""
        return unit_rows(pooled)
