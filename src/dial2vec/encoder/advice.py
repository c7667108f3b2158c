"""What to say of an encoder that does not know the language, or the tokens, of the dialogues that it is to read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice

from conversations.dialogue import Dialogue
from dial2vec.data.languages import start_advice
from dial2vec.encoder.protocol import Encoder

# Dialogues that are read, and share of unknown tokens from which a sentence says so.
READ, UNKNOWN = 500, 0.05


def encoder_advice(dialogues: Iterable[Dialogue], encoder: Encoder) -> str | None:
    """Return `start_advice` for an encoder, or else what to do if it does not know many tokens of the dialogues."""
    first = list(islice(dialogues, READ))
    texts = [turn.text for dialogue in first for turn in dialogue.turns]
    return start_advice(first, encoder.name) or unknown_advice(texts, encoder)


def unknown_advice(texts: Sequence[str], encoder: Encoder) -> str | None:
    """Return what to do if over 5 % of the tokens of the words in texts are unknown to an encoder.

    Emoji and other signs do not count: most encoders do not know them, and read the words around them all the same.
    """
    share = encoder.unknown_share([re.sub(r"[^\w\s]", " ", text) for text in texts])
    if share <= UNKNOWN:
        return None
    return (
        f"{share:.0%} of the tokens are unknown to {encoder.name}, which reads them all as one and the same; take an "
        "encoder that knows this language or script (docs/languages.md)."
    )
