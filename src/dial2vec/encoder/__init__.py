"""From dialogues to vectors: reading, the transformer, pooling, the learnt map; and the folder that holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dial2vec.encoder.encoder import DialogueEncoder

__all__ = ["DialogueEncoder"]


def __getattr__(name: str) -> Any:
    # torch is imported with the encoder only: measures need `nearest.py` alone.
    if name == "DialogueEncoder":
        from dial2vec.encoder.encoder import DialogueEncoder

        return DialogueEncoder
    raise AttributeError(f"module 'dial2vec.encoder' has no attribute {name!r}")
