"""From dialogues to vectors: tokens, the transformer, pooling, the learnt map, and the folder of a saved encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dial2vec.encoder.encoder import DialogueEncoder

__all__ = ["DialogueEncoder"]


def __getattr__(name: str) -> Any:
    # torch is imported with the encoder only: metrics need just `nearest.py`.
    if name == "DialogueEncoder":
        from dial2vec.encoder.encoder import DialogueEncoder

        return DialogueEncoder
    raise AttributeError(f"module 'dial2vec.encoder' has no attribute {name!r}")
