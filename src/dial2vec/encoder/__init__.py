"""From dialogues to vectors: reading, the transformer, pooling, the learnt map; and the folder that holds them."""

from __future__ import annotations

from dial2vec.encoder.encoder import DialogueEncoder

__all__ = ["DialogueEncoder"]
