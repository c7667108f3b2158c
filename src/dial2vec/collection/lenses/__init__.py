"""Lenses: labels of your own for each dialogue, learnt from examples, or from descriptions alone."""

from dial2vec.collection.lenses.lens import Lens, LensLabel, lens, read_new

__all__ = ["Lens", "LensLabel", "lens", "read_new"]
