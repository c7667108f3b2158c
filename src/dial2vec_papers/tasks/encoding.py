"""Systems under test, and encoding of texts: each different text once, with a check of the vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue, Turn
from dial2vec.errors import Dial2vecError

if TYPE_CHECKING:
    from torch import Tensor

    from dial2vec.encoder import DialogueEncoder
    from dial2vec.encoder.tokens import Batch


class Spoken(NamedTuple):
    """A turn with the role of its speaker.

    :param role: number of the speaker in the whole dialogue: 0 spoke first.
    """

    text: str
    role: int


# The turns before an answer, in order, at least one; or one answer alone.
Context = tuple[Spoken, ...]
Similarity = Literal["cosine", "dot", "poly"]
# A text, or a context.
T = TypeVar("T", str, Context)
BATCH_SIZE = 64


@dataclass(frozen=True, slots=True)
class Reader:
    """A system under test: functions that encode utterances and contexts, in batches of their choice.

    :param utterances: function from texts without a speaker to vectors, float32 [n, d], a row per text.
    :param contexts: function from contexts and answers, with their speakers, to vectors of the same space, float32
        [n, d]. It may drop turns that do not fit, but should read the last turn, which is being answered.
    :param similarity: similarity of contexts and answers, the same as in training: "cosine"; "dot", which prefers
        longer vectors; or "poly", a Poly-encoder's. The other tasks are defined by the cosine.
    :param count_cut: function that counts the contexts that are cut; None if the system does not tell.
    :param encoder: encoder that the tasks with training train; None if the system cannot be trained further.
    :param by_code: function from contexts to the m vectors of a Poly-encoder's codes in one row, float32 [n, m d]; with
        the similarity "poly" only.
    """

    utterances: Callable[[Sequence[str]], NDArray[np.float32]]
    contexts: Callable[[Sequence[Context]], NDArray[np.float32]]
    similarity: Similarity = "cosine"
    count_cut: Callable[[Sequence[Context]], int] | None = None
    encoder: DialogueEncoder | None = None
    by_code: Callable[[Sequence[Context]], NDArray[np.float32]] | None = None

    @property
    def answered(self) -> Callable[[Sequence[Context]], NDArray[np.float32]]:
        """The function that encodes contexts whose answers are ranked."""
        return self.by_code or self.contexts


def reader_of_encoder(encoder: DialogueEncoder, *, similarity: Similarity = "cosine") -> Reader:
    """Return the reader of an encoder: utterances alone, contexts by their last turns, without its head.

    Inputs that mark speakers, such as TOD-BERT's, mark those of contexts and answers (DSE: Zhou et al. 2022, section
    4.2); an utterance alone is marked as the first speaker's.

    :raises ModelError: if the similarity is "poly" and the encoder has no codes.
    """

    def contexts(read: Sequence[Context]) -> NDArray[np.float32]:
        texts, roles = texts_and_roles(read)
        return encoder.encode_contexts(texts, roles=roles, batch_size=BATCH_SIZE)

    def count_cut(read: Sequence[Context]) -> int:
        return sum(sequence.cut > 0 for sequence in encoder.tokens.contexts(*texts_and_roles(read)))

    utterances = partial(encoder.encode_utterances, batch_size=BATCH_SIZE)
    by_code = contexts_by_code(encoder) if similarity == "poly" else None
    return Reader(utterances, contexts, similarity, count_cut, encoder, by_code)


def spoken_turns(dialogue: Dialogue) -> Context:
    """Return the turns of a dialogue with their roles."""
    return tuple(Spoken(turn.text, role) for turn, role in zip(dialogue.turns, dialogue.roles, strict=True))


def texts_and_roles(contexts: Iterable[Context]) -> tuple[list[list[str]], list[list[int]]]:
    """Return the texts of the turns of each context, and the roles of their speakers."""
    read = list(contexts)
    return [[turn.text for turn in context] for context in read], [[turn.role for turn in context] for context in read]


def contexts_by_code(encoder: DialogueEncoder) -> Callable[[Sequence[Context]], NDArray[np.float32]]:
    """Return a function that reads contexts by the codes of a Poly-encoder, float32 [n, m d].

    :raises ModelError: if the encoder has no codes.
    """
    from dial2vec.encoder.papers.codes import code_vectors, codes_of

    codes = codes_of(encoder.network, name=encoder.name or "the encoder")

    def embed(batch: Batch) -> Tensor:
        return code_vectors(encoder.sequence_states(batch), batch.roles, codes).flatten(1)

    return lambda read: encoder.encode_tokens(
        encoder.tokens.contexts(*texts_and_roles(read)), batch_size=BATCH_SIZE, embed=embed
    )


def reader_of_baseline(
    encode: Callable[[Sequence[Dialogue]], NDArray[np.float32]], *, similarity: Similarity = "cosine"
) -> Reader:
    """Return the reader of a baseline: an utterance becomes a dialogue of one turn, a context one of its turns.

    The speakers of a context differ in their names. A dialogue numbers them in the order in which they speak in it.
    """

    def contexts(read: Sequence[Context]) -> NDArray[np.float32]:
        return encode(
            [
                Dialogue(str(n), tuple(Turn(f"speaker {turn.role}", turn.text) for turn in context))
                for n, context in enumerate(read)
            ]
        )

    return Reader(lambda texts: contexts([(Spoken(text, 0),) for text in texts]), contexts, similarity)


@dataclass(frozen=True, slots=True)
class Encoded(Generic[T]):
    """Different texts, or contexts, with their vectors.

    :param vectors: [u, d], a row per different text.
    """

    vectors: NDArray[np.float32]
    row_of: dict[T, int]

    def rows(self, texts: Iterable[T]) -> NDArray[np.int64]:
        """Return the rows of texts, int64 [n]; all must have been encoded."""
        return np.array([self.row_of[text] for text in texts], dtype=np.int64)


def encode_distinct(encode: Callable[[Sequence[T]], NDArray[np.float32]], texts: Iterable[T]) -> Encoded[T]:
    """Encode each different text, or context, once, in one call.

    Sorted first, so that the order of the data does not matter.

    :raises Dial2vecError: if the encoder returns NaN or infinity.
    """
    distinct: list[T] = sorted(set(texts))
    vectors = np.asarray(encode(distinct), dtype=np.float32)
    broken = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(broken):
        shown = distinct[broken[0]]
        raise Dial2vecError(
            f"{len(broken)} of {len(vectors)} vectors hold NaN or infinity, the first for the text "
            f"{(shown if isinstance(shown, str) else shown[-1].text)[:60]!r}; expected finite numbers. The training "
            "diverged or the model is damaged: lower the learning rate or load another one."
        )
    return Encoded(vectors, {text: row for row, text in enumerate(distinct)})


def remembering(reader: Reader) -> Reader:
    """Return a reader that encodes every text and context only once, since tasks share most of them.

    It keeps every vector in memory, 1.5 kB for 384 dimensions.
    """
    return replace(
        reader,
        utterances=_remembered(reader.utterances),
        contexts=_remembered(reader.contexts),
        by_code=reader.by_code and _remembered(reader.by_code),
    )


def _remembered(encode: Callable[[Sequence[T]], NDArray[np.float32]]) -> Callable[[Sequence[T]], NDArray[np.float32]]:
    known: dict[T, NDArray[np.float32]] = {}

    def encoded(texts: Sequence[T]) -> NDArray[np.float32]:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known.update(zip(new, encode(new), strict=True))
        return np.stack([known[text] for text in texts])

    return encoded
