"""What the first page does not wait for: each step shows its result on the open page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.explorer.maps import Maps
from dial2vec.collection.search.moments import update_moments
from dial2vec.encoder.loading import load_encoder


class Shown(Protocol):
    """An open page."""

    collection: CollectionFolder
    maps: Maps

    def show(self, collection: CollectionFolder, maps: Maps) -> None:
        """Show other vectors, groups and places of the same dialogues."""

    def search_again(self) -> None:
        """Open the files of the search again."""


@dataclass(frozen=True, slots=True)
class Later:
    """A step for which the first page does not wait.

    :param doing: name of what it makes, such as "index of single turns".
    """

    doing: str
    work: Callable[[Shown], object]


def index_turns(page: Shown) -> None:
    """Make vectors of the turns and the index of words, by which single moments are found; a killed run resumes."""
    update_moments(page.collection, load_encoder(page.collection.model), progress=False)
    page.search_again()


INDEX_OF_TURNS = Later("index of single turns", index_turns)
