"""From dialogues to vectors: tokens, the transformer, pooling, the learnt map, and the folder of a saved encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dial2vec.errors import require_module

if TYPE_CHECKING:
    from dial2vec.encoder.encoder import DialogueEncoder
    from dial2vec.encoder.loading import load_encoder
    from dial2vec.encoder.student import StudentEncoder

__all__ = ["DialogueEncoder", "StudentEncoder", "load_encoder"]


def __getattr__(name: str) -> Any:
    # torch is imported with `DialogueEncoder` only: a student runs without it, and metrics need just `nearest.py`.
    if name == "DialogueEncoder":
        require_module("torch")
        from dial2vec.encoder.encoder import DialogueEncoder

        return DialogueEncoder
    if name == "StudentEncoder":
        from dial2vec.encoder.student import StudentEncoder

        return StudentEncoder
    if name == "load_encoder":
        from dial2vec.encoder.loading import load_encoder

        return load_encoder
    raise AttributeError(f"module 'dial2vec.encoder' has no attribute {name!r}")
