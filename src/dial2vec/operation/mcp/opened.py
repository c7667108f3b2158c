"""A collection that is open for questions, with what several of them need."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection.changes.grouped import Grouped, read_groups
from dial2vec.collection.clustering.clusters import Cluster
from dial2vec.collection.collection_folder import LENSES, MANIFEST, CollectionFolder
from dial2vec.collection.describing.describing import read_descriptions
from dial2vec.collection.explorer.reading import ReaderContent
from dial2vec.collection.search.filters import Filters, both
from dial2vec.collection.search.search import Search
from dial2vec.collection.segments.segments import segments_folder
from dial2vec.errors import CorpusError


class OpenCollection(CollectionFolder):
    """A collection as it was when it was opened."""

    def __init__(self, folder: Path) -> None:
        # Before it is read: what is added in between must count as new.
        self.stamp = stamp_of(folder)
        super().__init__(folder)

    @property
    def name(self) -> str:
        """Name by which tools call the collection: that of its folder."""
        return self.folder.resolve().name

    @cached_property
    def search(self) -> Search:
        """The search, with the collection's encoder."""
        return Search(self)

    @cached_property
    def grouped(self) -> Grouped:
        """The topic of each dialogue."""
        return read_groups(self)

    @cached_property
    def reading(self) -> ReaderContent:
        """What is known of each dialogue beside its turns."""
        return ReaderContent(self)

    @cached_property
    def summaries(self) -> dict[str, dict[str, str]]:
        """A language model's name and summary of each topic, by its id."""
        return (read_descriptions(self) or {"clusters": {}})["clusters"]

    @property
    def has_segments(self) -> bool:
        """True if its dialogues were cut into segments."""
        return (segments_folder(self) / "topics.json").exists()

    def cluster(self, topic: int) -> Cluster:
        """Return a topic; its errors are those of `place_of`."""
        return self.grouped.clusters.clusters[self.place_of(topic)]

    def place_of(self, topic: int) -> int:
        """Return the place of a topic among the clusters.

        :raises CorpusError: if there is no such topic.
        """
        for place, cluster in enumerate(self.grouped.clusters.clusters):
            if cluster.id == topic and not cluster.hidden:
                return place
        raise CorpusError(f"{self.name} has no topic {topic}; expected an id of the tool topics.")

    def topic_of(self, row: int) -> str | None:
        """Return the id and name of a dialogue's topic; None if it is hidden."""
        cluster = self.grouped.clusters.clusters[self.grouped.groups[row]]
        return None if cluster.hidden else f"{cluster.id}: {cluster.name}"

    def rows_of(self, filters: Filters, topic: int | None) -> NDArray[np.int64] | None:
        """Return the rows that pass the filters and are in a topic, ascending; None if nothing is asked."""
        own = None if topic is None else np.flatnonzero(self.grouped.groups == self.place_of(topic))
        return both(own, filters.rows(self))

    def ids_of(self, rows: Sequence[int] | NDArray[np.int64]) -> list[str]:
        """Return the ids of dialogues."""
        return self.rows["dialogue_id"].take(np.asarray(rows, dtype=np.int64)).to_pylist()  # type: ignore[no-any-return]


def stamp_of(folder: Path) -> tuple[int, ...]:
    """Return numbers that change with the dialogues, topics, descriptions or lenses of a collection."""
    names = (MANIFEST, "clusters/clusters.json", "descriptions/descriptions.json", LENSES, "segments")
    paths = [folder / name for name in names]
    return tuple(path.stat().st_mtime_ns if path.exists() else 0 for path in paths)
