"""One vector per whole dialogue, speakers kept apart: `DialogueEncoder.from_pretrained(...).encode(dialogues)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dial2vec.dialogue import Dialogue, Turn

if TYPE_CHECKING:
    from dial2vec.encoder import DialogueEncoder
    from dial2vec.encoder.vectorizer import DialogueVectorizer

__all__ = ["Dialogue", "DialogueEncoder", "DialogueVectorizer", "Turn"]


def __getattr__(name: str) -> Any:
    # torch is imported when the encoder is first asked for, so that the shell command starts at once.
    if name == "DialogueEncoder":
        from dial2vec.encoder import DialogueEncoder

        return DialogueEncoder
    if name == "DialogueVectorizer":
        from dial2vec.encoder.vectorizer import DialogueVectorizer

        return DialogueVectorizer
    raise AttributeError(f"module 'dial2vec' has no attribute {name!r}")
