"""Dialogues in a folder with their vectors, to be searched, clustered and looked at; it grows by adding."""

from dial2vec.collection.adding import Added, add
from dial2vec.collection.collection import Collection

__all__ = ["Added", "Collection", "add"]
