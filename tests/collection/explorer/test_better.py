"""The better page takes the place of the first one: its vectors, its map and its groups, with ids and decisions."""

from __future__ import annotations

import numpy as np
import pytest

from conversations.dialogue import write_dialogues
from dial2vec.collection.adding import add
from dial2vec.collection.clustering.clustering import cluster
from dial2vec.collection.clustering.clusters import read_clusters
from dial2vec.collection.clustering.curation import curate
from dial2vec.collection.clustering.decisions import read_decisions
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.explorer import better as module
from dial2vec.collection.explorer.better import FOLDER, better, take_over
from dial2vec.collection.explorer.later import INDEX_OF_TURNS
from dial2vec.collection.explorer.maps import maps_of
from dial2vec.collection.search.moments import open_moments
from tests.students import tiny_student

from .conftest import dialogues_of


class Page:
    """An open page, without a server."""

    def __init__(self, collection, maps) -> None:
        self.collection, self.maps, self.shown = collection, maps, 0

    def show(self, collection, maps) -> None:
        self.collection, self.maps, self.shown = collection, maps, self.shown + 1

    def search_again(self) -> None:
        pass


@pytest.fixture
def page(tmp_path):
    """The page of 60 dialogues by a student."""
    write_dialogues(tmp_path / "calls.jsonl", dialogues_of(range(60)))
    add(tmp_path / "calls", tmp_path / "calls.jsonl", encoder=tiny_student(), turns=False, progress=False)
    collection = CollectionFolder(tmp_path / "calls")
    cluster(collection)
    return Page(collection, maps_of(collection, progress=False))


def test_turns_are_indexed_later(page):
    assert open_moments(page.collection) is None
    INDEX_OF_TURNS.work(page)
    assert open_moments(page.collection) is not None


def test_vectors_map_and_groups_are_replaced_and_a_decision_stays(page, tiny_folder):
    folder, first = page.collection.folder, page.maps.trained.points
    fingerprint = page.collection.manifest.fingerprint
    curate(page.collection, "rename", 0, to="Ours")
    better(tiny_folder).work(page)
    now = CollectionFolder(folder)
    assert page.shown == 1
    assert now.manifest.fingerprint != fingerprint
    assert now.vectors.shape == (60, now.manifest.dimension)
    assert {row.name: row.id for row in read_clusters(now)[0].clusters}["Ours"] == 0
    assert len(read_decisions(folder).made) == 1
    np.testing.assert_array_equal(maps_of(now, progress=False).trained.points, page.maps.trained.points)
    # It lies where the first map lies.
    np.testing.assert_allclose(page.maps.trained.points.mean(axis=0), first.mean(axis=0), atol=1e-3)
    assert open_moments(now) is not None
    assert not (folder / FOLDER).exists()


def test_a_killed_change_goes_on_with_the_next_look(page, tiny_folder, monkeypatch):
    folder = page.collection.folder
    monkeypatch.setattr(module, "take_over", lambda _: None)
    better(tiny_folder).work(page)
    before = CollectionFolder(folder).manifest.fingerprint
    # The first of two files was moved.
    (folder / FOLDER / "vectors.f32").replace(folder / "vectors.f32")
    take_over(folder)
    assert CollectionFolder(folder).manifest.fingerprint != before
    assert len(CollectionFolder(folder).vectors) == 60
    assert not (folder / FOLDER).exists()
    take_over(folder)
