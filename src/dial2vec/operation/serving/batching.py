"""Batches of tokens from several requests: each is cut into pieces, and no request waits for all pieces of another.

A step of the batcher tokenises a block of text, encodes one batch of pieces, and returns the requests that are
complete. Each is short, whatever the length of a request. Between two steps a request can be given up, and new ones
are seen.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec.operation.serving.refusals import RefusedRequestError

# Characters that a step tokenises; 20,000 take about 40 ms.
BLOCK = 20_000
# A request with more bytes of text for each of its tokens is refused before it is tokenised. English has 4 to 5.
BYTES_PER_TOKEN = 16
# Characters of a token in estimates.
USUAL_LENGTH = 4
# Share of the last batch in the estimate of the speed.
NEWEST = 0.2

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a dialogue that is encoded at once.

    :param content: Whatever the reader needs to encode it.
    """

    tokens: int
    content: Any


class PieceReader(Protocol):
    """How an encoder reads dialogues in pieces.

    Attribute `splits_at_blanks`: whether the tokens of a text are those of its parts between blanks.
    """

    splits_at_blanks: bool

    def tokenise(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Return the token ids of each text, without special tokens."""

    def pieces(self, dialogue: Dialogue, turns: Sequence[NDArray[np.int32]]) -> tuple[list[Piece], bool]:
        """Return the pieces of a tokenised dialogue, and whether it is longer than the encoder reads at once."""

    def encode(self, pieces: Sequence[Piece]) -> NDArray[np.float32]:
        """Return a vector per piece, float32 [n, d]; the pieces of a dialogue sum to its pooled vector."""

    def join(self, pooled: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the vectors of dialogues, float32 [n, d], from their pooled vectors."""


@dataclass(eq=False)
class Workload:
    """The encoding of one request's dialogues.

    :param dialogues: Dialogues, each with at least one turn.

    Attributes: `given_up`, set by its owner when nobody waits for it; `complete`, whether `vectors`, float32 [n, d],
    `tokens` and `long`, the number of tokens and of long dialogues, are the result; `error`, why there is no result.
    """

    dialogues: Sequence[Dialogue]
    given_up: bool = False
    tokens: int = 0
    long: int = 0
    complete: bool = False
    vectors: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    error: Exception | None = None
    # Texts that are not tokenised yet, token ids of the others, and the number of texts of each turn.
    texts: deque[str] = field(default_factory=deque)
    ids: list[NDArray[np.int32]] = field(default_factory=list)
    parts: list[int] = field(default_factory=list)
    # Pieces that are not encoded, each with the number of its dialogue.
    left: deque[tuple[int, Piece]] = field(default_factory=deque)
    pooled: NDArray[np.float32] | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing is left to do."""
        return self.given_up or self.error is not None or self.complete


@dataclass(frozen=True, slots=True)
class Step:
    """Results of one step.

    :param ended: Works that are complete or have failed.
    :param requests: Number of requests that the pieces belong to.
    """

    ended: list[Workload]
    tokens: int = 0
    pieces: int = 0
    requests: int = 0
    seconds: float = 0.0


class Batcher:
    """Encodes works in steps, so many tokens at a time, a piece of each work in turn.

    :param batch_tokens: Largest number of tokens in a batch; a longer piece is a batch by itself.
    :param max_tokens: Largest number of tokens of a work.

    Attribute `speed`: tokens per second in recent batches, 0 before the first.
    """

    def __init__(self, reader: PieceReader, *, batch_tokens: int, max_tokens: int) -> None:
        self.reader, self.batch_tokens, self.max_tokens = reader, batch_tokens, max_tokens
        self.speed = 0.0
        # Only `_new` is touched by another thread than the one that steps.
        self._new: deque[Workload] = deque()
        self._reading: deque[Workload] = deque()
        self._ready: deque[Workload] = deque()

    def add(self, work: Workload) -> None:
        """Take a work; safe while another thread steps.

        :raises RefusedRequestError: if its texts have too many bytes for its tokens to be few enough.
        """
        size, most = sum(len(text.encode()) for text in _texts(work)), BYTES_PER_TOKEN * self.max_tokens
        if size > most:
            raise self._too_long(f"{size} bytes", f", at most {most} bytes")
        for text in _texts(work):
            parts = list(_cut(text, BLOCK)) if self.reader.splits_at_blanks else [text]
            work.texts.extend(parts)
            work.parts.append(len(parts))
        self._new.append(work)

    @property
    def busy(self) -> bool:
        """Whether a step would do anything."""
        return bool(self._new or self._reading or self._ready)

    def seconds_ahead(self) -> float:
        """Return an estimate of the time until all works are encoded; 0 if the speed is not known yet."""
        tokens = sum(piece.tokens for work in list(self._ready) for _, piece in list(work.left))
        for work in [*self._new, *self._reading]:
            tokens += sum(map(len, list(work.texts))) // USUAL_LENGTH
        return tokens / self.speed if self.speed else 0.0

    def step(self) -> Step:
        """Tokenise a block, encode a batch, and return the works that ended by it."""
        while self._new:
            self._reading.append(self._new.popleft())
        for queue in (self._reading, self._ready):
            for work in [work for work in queue if work.ended]:
                queue.remove(work)
        ended = self._tokenise()
        batch = self._batch()
        began = time.perf_counter()
        self._encode(batch)
        seconds = time.perf_counter() - began
        works = {id(work): work for work, _, _ in batch}
        ended += [work for work in works.values() if self._finish(work)]
        tokens = sum(piece.tokens for _, _, piece in batch)
        if tokens:
            newest = tokens / max(seconds, 1e-6)
            self.speed = newest if not self.speed else NEWEST * newest + (1 - NEWEST) * self.speed
        return Step(ended, tokens, len(batch), len(works), seconds)

    def fail(self, error: Exception) -> list[Workload]:
        """Give up all works with an error, and return them."""
        works = [*self._new, *self._reading, *self._ready]
        for queue in (self._new, self._reading, self._ready):
            queue.clear()
        for work in works:
            work.error = error
        return works

    def _tokenise(self) -> list[Workload]:
        """Tokenise texts of works in turn, up to a block in all; return the works that failed."""
        room, failed = BLOCK, []
        while self._reading and room > 0:
            work, block = self._reading.popleft(), []
            share = max(1, room // (len(self._reading) + 1))
            while work.texts and share > 0:
                block.append(work.texts.popleft())
                share -= len(block[-1]) or 1
                room -= len(block[-1]) or 1
            try:
                work.ids += self.reader.tokenise(block)
                work.tokens += sum(map(len, work.ids[-len(block) :]))
                if not work.texts:
                    self._cut_up(work)
                if work.tokens > self.max_tokens:
                    raise self._too_long(f"{work.tokens} tokens or more")
            except Exception as error:
                work.error = error
                failed.append(work)
            else:
                (self._reading if work.texts else self._ready).append(work)
        return failed

    def _too_long(self, size: str, more: str = "") -> RefusedRequestError:
        reason = f"the texts have {size}, and a request may have {self.max_tokens} tokens{more}"
        return RefusedRequestError(413, "too_many_tokens", f"{reason}; send fewer or shorter dialogues at a time.")

    def _cut_up(self, work: Workload) -> None:
        """Make the pieces of a work whose texts are tokenised."""
        ids = iter(work.ids)
        turns = iter([np.concatenate([next(ids) for _ in range(n)]) if n > 1 else next(ids) for n in work.parts])
        work.tokens = 0
        for number, dialogue in enumerate(work.dialogues):
            pieces, long = self.reader.pieces(dialogue, [next(turns) for _ in dialogue.turns])
            work.left.extend((number, piece) for piece in pieces)
            work.long += long
        work.tokens = sum(piece.tokens for _, piece in work.left)
        work.ids, work.parts = [], []

    def _batch(self) -> list[tuple[Workload, int, Piece]]:
        """Take a piece of each work in turn until a piece does not fit; its work comes first in the next batch."""
        batch: list[tuple[Workload, int, Piece]] = []
        room = self.batch_tokens
        while self._ready:
            work = self._ready[0]
            number, piece = work.left[0]
            if batch and piece.tokens > room:
                break
            room -= piece.tokens
            work.left.popleft()
            batch.append((work, number, piece))
            self._ready.popleft()
            if work.left:
                self._ready.append(work)
        return batch

    def _encode(self, batch: Sequence[tuple[Workload, int, Piece]]) -> None:
        """Encode pieces; if that fails, encode those of each work alone, so that only the cause of the error fails."""
        if not batch:
            return
        try:
            vectors = self.reader.encode([piece for _, _, piece in batch])
        except Exception as error:
            works = {id(work): work for work, _, _ in batch}.values()
            if len(works) > 1:
                for work in works:
                    self._encode([item for item in batch if item[0] is work])
                return
            log.exception("the encoding failed")
            batch[0][0].error = error
            return
        for (work, number, _), vector in zip(batch, vectors, strict=True):
            if work.pooled is None:
                work.pooled = np.zeros((len(work.dialogues), len(vector)), dtype=np.float32)
            work.pooled[number] += vector

    def _finish(self, work: Workload) -> bool:
        """Return whether a work has ended, with its vectors if all its pieces are encoded."""
        if not work.left and work.error is None and work.pooled is not None:
            try:
                vectors = self.reader.join(work.pooled)
                if not np.isfinite(vectors).all():
                    raise FloatingPointError("the encoder gave a vector with numbers that are not finite")
                work.vectors, work.complete = vectors, True
            except Exception as error:
                log.exception("the encoding failed")
                work.error = error
        return work.ended


def _texts(work: Workload) -> Iterator[str]:
    return (turn.text for dialogue in work.dialogues for turn in dialogue.turns)


def _cut(text: str, size: int) -> Iterator[str]:
    """Yield the parts of a text between blanks, each of up to `size` characters or one word."""
    first = 0
    while len(text) - first > size:
        blank = text.rfind(" ", first + 1, first + size + 1)
        if blank < 0:
            blank = text.find(" ", first + size)
        if blank < 0:
            break
        yield text[first:blank]
        first = blank + 1
    yield text[first:]
