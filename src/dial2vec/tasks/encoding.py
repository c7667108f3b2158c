"""Texts to vectors: each different text is encoded once, and what comes back is looked at before it is believed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dial2vec.dialogue import Dialogue, Turn
from dial2vec.errors import Dial2vecError
from dial2vec.evaluation.relatedness import COSINE_STEP

if TYPE_CHECKING:
    from dial2vec.encoder import DialogueEncoder

# Texts to vectors [n, d], a row per text; batches are its own affair.
Encode = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Encoded:
    """Different texts with their vectors.

    :param vectors: [u, d], a row per different text.
    :param row_of: the row of each text.
    """

    vectors: NDArray[np.float32]
    row_of: dict[str, int]

    def rows(self, texts: Iterable[str]) -> NDArray[np.int64]:
        """Return the row of each of some texts, int64 [n]; all must have been encoded."""
        return np.array([self.row_of[text] for text in texts], dtype=np.int64)


def encode_distinct(encode: Encode, texts: Iterable[str]) -> Encoded:
    """Encode each different text once, in one call.

    They are sorted first, so that the encoder sees the same list whatever the order of the data.

    :raises Dial2vecError: when the encoder gives back another number of rows, or anything that is not finite.
    """
    distinct = sorted(set(texts))
    vectors = np.asarray(encode(distinct), dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(distinct):
        raise Dial2vecError(
            f"the encoder gave an array of shape {list(vectors.shape)} for {len(distinct)} texts; expected one row per "
            "text. Return an array [n, d] from the function that encodes."
        )
    broken = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(broken):
        raise Dial2vecError(
            f"{len(broken)} of {len(vectors)} vectors hold NaN or infinity, the first for the text "
            f"{distinct[broken[0]][:60]!r}; expected finite numbers. The training diverged or the model is damaged: "
            "lower the learning rate or load another one."
        )
    return Encoded(vectors, {text: row for row, text in enumerate(distinct)})


def remembering(encode: Encode) -> Encode:
    """Return an encoder that encodes no text a second time; tasks share most of their contexts and candidates.

    It keeps every vector, 1.5 kB for 384 dimensions.
    """
    known: dict[str, NDArray[np.float32]] = {}

    def encoded(texts: Sequence[str]) -> NDArray[np.float32]:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known.update(zip(new, encode(new), strict=True))
        return np.stack([known[text] for text in texts])

    return encoded


def encode_alone(encoder: DialogueEncoder) -> tuple[Encode, str]:
    """Return how an encoder encodes utterances, and what stands between the turns of a context, as in training."""
    separator = encoder.tokens.tokenizer.sep_token
    return partial(encoder.encode_utterances, batch_size=64), f" {separator} " if separator else " "


def encode_as_dialogues(
    encode: Callable[[Sequence[Dialogue]], NDArray[np.float32]], texts: Sequence[str]
) -> NDArray[np.float32]:
    """Encode utterances by what encodes dialogues: each is one of a single turn.

    :return: [n, d].
    """
    return encode([Dialogue(str(number), (Turn("speaker", text),)) for number, text in enumerate(texts)])


def stepped(cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return cosines in whole steps, so that equal vectors tie exactly, in whatever order the machine adds products."""
    return np.rint(cosines / COSINE_STEP) * COSINE_STEP
