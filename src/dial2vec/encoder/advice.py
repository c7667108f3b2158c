"""What to say of an encoder that does not know the language, or the tokens, of the dialogues that it is to read."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import islice
from random import Random
from typing import TypeVar

from conversations.dialogue import Dialogue
from dial2vec.data.languages import start_advice
from dial2vec.encoder.protocol import Encoder

T = TypeVar("T")
# Dialogues or texts that are read, and share of unknown tokens from which a sentence says so.
READ, UNKNOWN = 500, 0.05


def encoder_advice(dialogues: Iterable[Dialogue], encoder: Encoder, *, trained: bool = False) -> str | None:
    """Return what to do if an encoder does not know the language, or many tokens, of dialogues; one sentence.

    :param dialogues: a sequence, of which 500 are drawn, always the same; of anything else the first 500 are read.
    :param trained: True if the encoder is to be trained.
    """
    some = drawn_texts(dialogues) if isinstance(dialogues, Sequence) else list(islice(dialogues, READ))
    share = unknown_share([turn.text for dialogue in some for turn in dialogue.turns], encoder)
    much = share if share > UNKNOWN else 0
    return start_advice(some, encoder.name, unknown=much, trained=trained) or _advice(share, encoder)


def unknown_advice(texts: Sequence[str], encoder: Encoder) -> str | None:
    """Return what to do if over 5 % of the tokens of the words in texts, of which 500 are drawn, are unknown."""
    return _advice(unknown_share(drawn_texts(texts), encoder), encoder)


def unknown_share(texts: Sequence[str], encoder: Encoder) -> float:
    """Return the share of the tokens of the words in texts that are unknown to an encoder, in [0, 1].

    Emoji and other signs do not count: most encoders do not know them, and read the words around them all the same.
    """
    return encoder.unknown_share([re.sub(r"[^\w\s]", _mark_or_blank, text) for text in texts])


def _mark_or_blank(sign: re.Match[str]) -> str:
    """Keep the marks of scripts such as Thai and Hindi, which are parts of words."""
    return sign[0] if unicodedata.category(sign[0]).startswith("M") else " "


def drawn_texts(texts: Sequence[T]) -> list[T]:
    """Return at most 500 of the texts, or dialogues, drawn at random but always the same."""
    return [texts[place] for place in Random(0).sample(range(len(texts)), min(READ, len(texts)))]


def _advice(share: float, encoder: Encoder) -> str | None:
    if share <= UNKNOWN:
        return None
    return (
        f"{share:.0%} of the tokens are unknown to {encoder.name}, which reads them all as one and the same; take an "
        "encoder that knows this language or script (docs/languages.md)."
    )
