"""Dialogues and their vectors in a folder that grows: search, cluster, explore and explain them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dial2vec.collection.adding import Added, add
    from dial2vec.collection.collection import Collection

__all__ = ["Added", "Collection", "add"]


def __getattr__(name: str) -> Any:
    # A search from the shell imports a part of this package, and neither pandas nor scipy.
    if name in ("Added", "add"):
        from dial2vec.collection import adding

        return getattr(adding, name)
    if name == "Collection":
        from dial2vec.collection.collection import Collection

        return Collection
    raise AttributeError(f"module 'dial2vec.collection' has no attribute {name!r}")
