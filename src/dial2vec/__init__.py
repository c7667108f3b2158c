"""One vector per whole dialogue, speakers kept apart: `DialogueEncoder.from_pretrained(...).encode(dialogues)`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from conversations import dialogue
from conversations.dialogue import Dialogue, Turn

if TYPE_CHECKING:
    from conversations.reading import read
    from dial2vec.encoder import DialogueEncoder, StudentEncoder, load_encoder
    from dial2vec.encoder.vectorizer import DialogueVectorizer

__all__ = [
    "Dialogue",
    "DialogueEncoder",
    "DialogueVectorizer",
    "StudentEncoder",
    "Turn",
    "load_encoder",
    "read",
]


# Versions in a registry that were stored before `conversations` was a package import it by this name.
sys.modules["dial2vec.dialogue"] = dialogue


def __getattr__(name: str) -> Any:
    # torch is imported with the encoder only, so that the shell command starts at once.
    if name in ("DialogueEncoder", "StudentEncoder", "load_encoder"):
        from dial2vec import encoder

        return getattr(encoder, name)
    if name == "DialogueVectorizer":
        from dial2vec.encoder.vectorizer import DialogueVectorizer

        return DialogueVectorizer
    if name == "read":
        from conversations.reading import read

        return read
    raise AttributeError(f"module 'dial2vec' has no attribute {name!r}")


def __dir__() -> list[str]:
    # Names that are imported when they are asked for count too, so that an editor or a notebook completes them.
    return sorted({*globals(), *__all__})
