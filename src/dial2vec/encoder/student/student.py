"""`StudentEncoder`: dialogues to vectors by a table of token vectors, without transformer and length limit."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from conversations.dialogue import Dialogue
from dial2vec.encoder.folder import check_files
from dial2vec.encoder.names import resolve
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.protocol import Apart, Encoder, Output
from dial2vec.encoder.student.saving import load_student, save_student
from dial2vec.encoder.student.table import Rows, TokenTable
from dial2vec.encoder.student.words import token_reader
from dial2vec.errors import CorpusError, Dial2vecError, ModelError

# Turns that are read at a time; a longer dialogue is read by itself.
MAX_TURNS = 20_000


class TokenShare(NamedTuple):
    """Contribution of a token.

    :param token: Token as the vocabulary has it.
    :param start: Place of its first character in the turn's text.
    :param end: Place after its last character.
    :param share: Contribution to the dialogue's vector, or to the cosine with another vector.
    """

    token: str
    start: int
    end: int
    share: float


class StudentEncoder(Encoder):
    """A table of token vectors that was trained to give the vectors of another encoder, its teacher.

    A dialogue's vector is the sum over its speakers of the weighted mean of their tokens' rows, at length 1. Every
    other vector has length 1, too. Whatever has no token gets zeros.

    :param table: row and weight of each token.
    :param tokenizer: tokenizer of the table; its truncation and padding are turned off.
    :param name: name of the encoder that training started from, for reports.
    :param teacher: name of the teacher, for reports.
    :raises ModelError: if the tokenizer has more tokens than the table has rows.

    Attributes: the four parameters; `reader`, which reads token ids; `max_length`, None; `reads_whole`, True.
    """

    BATCH = 512

    def __init__(self, table: TokenTable, tokenizer: Tokenizer, *, name: str, teacher: str = "") -> None:
        tokens = max(tokenizer.get_vocab().values(), default=-1) + 1
        if tokens > len(table):
            raise ModelError(
                f"found a tokenizer with {tokens} tokens for a table with {len(table)} rows; expected a row for each "
                "token. Take the tokenizer that the table was made for."
            )
        self.table, self.tokenizer = table, tokenizer
        self.name, self.teacher = name, teacher
        self.reader = token_reader(tokenizer)

    @classmethod
    def from_pretrained(cls, name: str | Path, *, device: str | None = None) -> StudentEncoder:
        """Load a student.

        :param name: a folder made by `save_pretrained`, or a registry address such as
            "models:/dial2vec-demo-small@champion".
        :param device: no effect: a student computes on the CPU.
        :raises ModelError: if the folder holds no student, or a damaged one.
        """
        check_files(folder := resolve(name))
        table, tokenizer, settings = load_student(folder)
        return cls(table, tokenizer, name=settings["name"], teacher=settings["teacher"])

    def save_pretrained(self, path: str | Path, *, rows: Rows = "fp16") -> None:
        """Write a folder that `from_pretrained`, sentence-transformers and model2vec load; atomic.

        A student or another model that was saved there before is replaced as a whole.

        :param rows: "fp32", "fp16" or "int8".
        :raises ModelError: if the folder holds other files than a model.
        """
        table = self.table.as_rows(rows)
        save_student(path, table, self.tokenizer, name=self.name, teacher=self.teacher, rows=rows)

    def save_copy(self, path: str | Path) -> None:
        """Write such a folder with the rows that this student has."""
        self.save_pretrained(path, rows=self.table.kind)

    @property
    def dimension(self) -> int:
        """Length d of a vector."""
        return self.table.dimension

    def fingerprint(self) -> str:
        """Return a hash of all that decides the vectors: the table and the tokenizer."""
        tokenizer = json.loads(self.tokenizer.to_str())
        words = {name: part for name, part in tokenizer.items() if name not in ("post_processor", "decoder")}
        digest = hashlib.sha256(json.dumps(words, sort_keys=True).encode())
        for array in (self.table.rows, self.table.weights, self.table.scales):
            if array is not None:
                digest.update(f"{array.dtype}{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def encode_list(
        self, dialogues: Sequence[Dialogue], *, output: Output, batch_size: int, progress: bool
    ) -> NDArray[np.float32] | list[NDArray[np.float32]]:
        """Encode dialogues as `encode` does, block by block."""
        _check_size(batch_size)
        vectors = np.zeros((len(dialogues) if output == "dialogue" else 0, self.dimension), dtype=np.float32)
        apart: list[NDArray[np.float32]] = []
        first = 0
        given: Iterable[Dialogue] = dialogues
        if progress:
            # Imported here: a student needs only numpy, tokenizers and safetensors.
            from conversations.progress import counted

            given = counted(dialogues, "dialogue")
        for block in _blocks(given, batch_size):
            if output == "dialogue":
                vectors[first : first + len(block)] = unit_rows(self._sums(block)[0])
            else:
                apart += self._apart(block, output)
            first += len(block)
        return vectors if output == "dialogue" else apart

    def add_map(self, mean: NDArray[np.float32], weight: NDArray[np.float32], dialogues: Sequence[Dialogue]) -> None:
        """Fold a map into the rows, with one mean length of a speaker's vector for all dialogues.

        Only that length makes the result differ from the map: `unit(x) - mean` is linear in x where it is fixed.
        """
        sums, n_groups = self._sums(dialogues)
        length = float((np.linalg.norm(sums, axis=1) / n_groups).mean())
        rows = (self.table.as_rows("fp32").rows - length * mean) @ weight
        self.table = TokenTable(np.ascontiguousarray(rows, dtype=np.float32), self.table.weights)

    def _sums(self, dialogues: Sequence[Dialogue]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the sum of the speakers' means of each dialogue, float32 [n, d], and the number of its speakers."""
        groups, n_groups = by_speaker(dialogues)
        return np.add.reduceat(self._means(groups), np.cumsum(n_groups) - n_groups), n_groups

    def _apart(self, dialogues: Sequence[Dialogue], output: Apart) -> list[NDArray[np.float32]]:
        groups, n_groups = texts_apart(dialogues, output)
        return np.split(unit_rows(self._means(groups)), np.cumsum(n_groups)[:-1])

    def _means(self, groups: Sequence[Sequence[str]]) -> NDArray[np.float32]:
        """Return the weighted mean row of each group's tokens, float32 [groups, d]; zeros without tokens."""
        sums, weights = self.table.sums(*self.reader.read(groups))
        weights[weights == 0] = 1
        return sums / weights[:, None]

    def unknown_share(self, texts: Sequence[str]) -> float:
        """Return the share of the tokens of texts that all have the row of the unknown token, in [0, 1]."""
        ids, _ = self.reader.read([texts])
        unknown = self.tokenizer.token_to_id(getattr(self.tokenizer.model, "unk_token", None) or "")
        return float((ids == unknown).sum()) / max(1, len(ids))

    def encode_utterances(
        self, texts: Sequence[str], *, roles: Sequence[int] | None = None, batch_size: int = 512
    ) -> NDArray[np.float32]:
        """Encode utterances, each alone, float32 [n, d].

        :param roles: no effect: a student does not tell roles apart.
        :param batch_size: largest number of utterances read at a time; no effect beyond rounding.
        """
        _check_size(batch_size)
        blocks = [texts[first : first + batch_size] for first in range(0, len(texts), batch_size)]
        means = [self._means([[text] for text in block]) for block in blocks]
        return unit_rows(np.concatenate([np.zeros((0, self.dimension), dtype=np.float32), *means]))

    def word_rows(self, words: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the weighted row of each word, float32 [n, d], and the weight of its heaviest token, float32 [n].

        A vector of several words is the sum of their rows at length 1.
        """
        ids, lengths = self.reader.read([[word] for word in words])
        heaviest = np.zeros(len(words), dtype=np.float32)
        np.maximum.at(heaviest, np.repeat(np.arange(len(words)), lengths), self.table.weights[ids])
        return self.table.sums(ids, lengths)[0], heaviest

    def turn_shares(self, dialogue: Dialogue, *, towards: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Return the contribution of each turn, float32 [turns]; below 0 for a turn that pulls the other way.

        :param towards: vector [d] of another dialogue or query from the same encoder, of any length; the contributions
            sum to the cosine with it. None is the dialogue's own vector; they sum to 1.
        """
        shares, lengths = self._shares(dialogue, towards)
        turns = np.repeat(np.arange(len(lengths)), lengths)
        return np.bincount(turns, shares, minlength=len(lengths)).astype(np.float32)

    def token_shares(self, dialogue: Dialogue, *, towards: NDArray[np.float32] | None = None) -> list[list[TokenShare]]:
        """Return the contribution of each token of each turn. Parameters and sums: `turn_shares`."""
        shares = iter(self._shares(dialogue, towards)[0].tolist())
        encoded = self.tokenizer.encode_batch([turn.text for turn in dialogue.turns], add_special_tokens=False)
        return [
            [
                TokenShare(token, start, end, next(shares))
                for token, (start, end) in zip(turn.tokens, turn.offsets, strict=True)
            ]
            for turn in encoded
        ]

    def _shares(
        self, dialogue: Dialogue, towards: NDArray[np.float32] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the contribution of each token, float64 [tokens], and the number of tokens of each turn."""
        ids, lengths = self.reader.read([[turn.text] for turn in dialogue.turns])
        speakers = np.repeat(np.array(dialogue.roles, dtype=np.int64), lengths)
        # The dialogue's vector is the sum over its tokens of the weighted row over the weight of the speaker's tokens.
        factors = 1 / np.bincount(speakers, self.table.weights[ids].astype(np.float64))[speakers]
        unique, places = np.unique(ids, return_inverse=True)
        rows = self.table.weighted(unique).astype(np.float64)
        vector = np.bincount(places, factors, minlength=len(unique)) @ rows
        direction = vector if towards is None else np.asarray(towards, dtype=np.float64)
        return (rows @ (direction / _length(direction)) / _length(vector))[places] * factors, lengths


def _check_size(batch_size: int) -> None:
    if batch_size < 1:
        raise Dial2vecError(f"batch_size is {batch_size}; expected at least 1.")


def _length(vector: NDArray[np.float64]) -> np.float64:
    return max(np.float64(np.linalg.norm(vector)), np.finfo(np.float64).tiny)


def _blocks(dialogues: Iterable[Dialogue], batch_size: int) -> Iterator[list[Dialogue]]:
    """Yield the dialogues in blocks of bounded length.

    :raises CorpusError: if a dialogue has no turns.
    """
    block: list[Dialogue] = []
    n_turns = 0
    for dialogue in dialogues:
        if not dialogue.turns:
            raise CorpusError(f"dialogue {dialogue.dialogue_id!r} has no turns; expected at least one. Leave it out.")
        if block and (len(block) >= batch_size or n_turns + len(dialogue.turns) > MAX_TURNS):
            yield block
            block, n_turns = [], 0
        block.append(dialogue)
        n_turns += len(dialogue.turns)
    if block:
        yield block


def texts_apart(dialogues: Sequence[Dialogue], output: Apart) -> tuple[list[list[str]], NDArray[np.int64]]:
    """Return the texts of each turn or speaker of each dialogue, and the number of them of each dialogue."""
    if output == "speakers":
        return by_speaker(dialogues)
    turns = [[turn.text] for dialogue in dialogues for turn in dialogue.turns]
    return turns, np.array([len(dialogue.turns) for dialogue in dialogues])


def by_speaker(dialogues: Sequence[Dialogue]) -> tuple[list[list[str]], NDArray[np.int64]]:
    """Return the texts of each speaker of each dialogue, and the number of speakers of each dialogue."""
    groups: list[list[str]] = []
    n_groups = []
    for dialogue in dialogues:
        texts = defaultdict[str, list[str]](list)
        for turn in dialogue.turns:
            texts[turn.speaker].append(turn.text)
        groups += texts.values()
        n_groups.append(len(texts))
    return groups, np.array(n_groups)
