"""Small collections with groups, dates and metadata, whose figures can be computed by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from conversations.dialogue import Dialogue, Turn
from dial2vec.collection.clustering.clusters import Cluster, Clusters, ClusterState, none_split_off, write_clusters
from dial2vec.collection.clustering.levels import Area
from dial2vec.collection.collection_folder import Addition, CollectionFolder, rows_file
from dial2vec.encoder.nearest import unit_rows
from tests.collection.made import written

D = 6
NAMES = ("cards", "loans", "fraud")

Call = dict[str, Any]
Make = Callable[..., CollectionFolder]


def call(topic: int, n: int = 1, **other: Any) -> list[Call]:
    """Return n calls with a topic; others are date, metadata, labels, text and vector."""
    return [{"topic": topic} | other for _ in range(n)]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Make a collection of calls, with the topics as groups unless `k` is 0."""

    def make(calls: Sequence[Call], *, name: str = "calls", k: int = 2, settled: int | None = None) -> CollectionFolder:
        folder = tmp_path / name
        noise = np.random.default_rng(1).normal(size=(len(calls), D))
        topics = [call["topic"] for call in calls]
        vectors = unit_rows((np.eye(D)[topics] + 0.05 * noise).astype(np.float32))
        for row, one in enumerate(calls):
            vectors[row] = one.get("vector", vectors[row])
        dialogues = [
            Dialogue(
                f"{name}-{number}",
                (Turn("ann", one.get("text", "hello")), Turn("bob", "okay")),
                one.get("labels", ()),
                date=one.get("date"),
                metadata=one.get("metadata", {}),
            )
            for number, one in enumerate(calls)
        ]
        collection = written(folder, dialogues, vectors.astype(np.float32))
        if k:
            write_groups(collection, vectors, np.array(topics, dtype=np.int32), k, settled or len(calls))
        return collection

    return make


def write_groups(collection: CollectionFolder, vectors: Any, topics: Any, k: int, settled: int) -> None:
    """Write the topics of the first `settled` calls as groups 10, 11, ..."""
    topics = topics[:settled]
    centres = unit_rows(np.stack([vectors[:settled][topics == group].sum(axis=0) for group in range(k)]))
    sizes = np.bincount(topics, minlength=k)
    groups = tuple(
        Cluster(10 + at, NAMES[at], (), int(sizes[at]), 1.0, 0.0, 0.9, (), (), area=at // 2) for at in range(k)
    )
    areas = (Area(0, "money", (), 1), Area(1, "crime", (), 1))
    clusters = Clusters("f", "communities", 1, 1.0, settled, settled, 10 + k, groups, areas=areas)
    parents = np.arange(k, dtype=np.int32)
    state = ClusterState(
        centres, topics, centres, parents, topics, none_split_off(len(parents)), np.ones(len(topics), dtype=bool)
    )
    write_clusters(collection, clusters, state)


def in_two_additions(collection: CollectionFolder, first: int) -> CollectionFolder:
    """Let the dialogues after the first ones be a second addition, of 20 November."""
    manifest = collection.manifest
    (one,) = manifest.additions
    starts = [*collection.rows["byte"].to_pylist(), one.text_bytes]
    for number, part in enumerate((collection.rows[:first], collection.rows[first:])):
        pq.write_table(part, rows_file(collection.folder, number))
    parts = [(first, starts[first]), (one.dialogues - first, one.text_bytes - starts[first])]
    days = ("2026-11-01T08:00:00+00:00", "2026-11-20T08:00:00+00:00")
    additions = tuple(Addition("s", day, *part) for day, part in zip(days, parts, strict=True))
    replace(manifest, additions=additions).write(collection.folder)
    return CollectionFolder(collection.folder)
