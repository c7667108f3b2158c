"""Dialogues and their vectors in a folder that grows: search, cluster, explore and explain them."""

from dial2vec.collection.adding import Added, add
from dial2vec.collection.collection import Collection

__all__ = ["Added", "Collection", "add"]
