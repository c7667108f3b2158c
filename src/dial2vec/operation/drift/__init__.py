"""Comparison of new dialogues with those that a model was trained on (docs/drift.md)."""

from dial2vec.operation.drift.comparison import Comparison, Far, compare

__all__ = ["Comparison", "Far", "compare"]
