"""Groups, the map and "similar" use the adapted vectors; queries find by the plain ones."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np

from dial2vec.collection import Collection
from dial2vec.collection.changes.grouped import nearest_groups
from dial2vec.collection.clustering import cluster
from dial2vec.collection.clustering.clusters import far_limit, read_stored
from dial2vec.collection.clustering.partition import assign, centres_of_groups
from dial2vec.collection.explorer.maps import SEED, maps_of
from dial2vec.collection.explorer.server import Explorer
from dial2vec.collection.search import Search
from dial2vec.evaluation.geometry import lay_out

from .conftest import calls, ruinous


def with_other_map(collection: Collection) -> Collection:
    ruinous(16, len(collection)).write(collection.folder, collection.vectors)
    return Collection(collection.folder)


def test_groups_are_those_of_the_adapted_vectors(grow):
    collection = with_other_map(grow(90))
    assert cluster(collection).adapted == collection.adaptation.name
    state = read_stored(collection).state
    np.testing.assert_allclose(state.centres, centres_of_groups(collection.adapted, state.groups), atol=1e-5)


def test_groups_of_other_vectors_keep_ids_names_and_dialogues_and_get_centres_among_the_adapted_ones(grow):
    plain = grow(90, adapted=False)
    before = cluster(plain)
    old, collection = read_stored(plain).state, with_other_map(plain)
    stored = read_stored(collection)
    clusters, state = stored.clusters, stored.state
    assert (before.adapted, clusters.adapted) == ("", collection.adaptation.name)
    assert [(one.id, one.name, one.size) for one in clusters.clusters] == [
        (one.id, one.name, one.size) for one in before.clusters
    ]
    np.testing.assert_array_equal(state.groups, old.groups)
    np.testing.assert_allclose(state.centres, centres_of_groups(collection.adapted, old.groups), atol=1e-6)
    np.testing.assert_allclose(state.fine_centres, centres_of_groups(collection.adapted, old.fine), atol=1e-6)
    similarity = assign(collection.adapted, state.centres, known=state.groups).similarity
    limits = [far_limit(similarity[state.groups == place]) for place in range(len(clusters.clusters))]
    np.testing.assert_allclose([one.far for one in clusters.clusters], limits, atol=1e-6)


def test_another_collection_is_compared_by_the_map_of_the_first(grow):
    collection, other = grow(90), grow(100, name="other", adapted=False)
    cluster(collection)
    found = nearest_groups(collection, other)
    expected = assign(collection.adaptation(other.vectors), read_stored(collection).state.centres)
    np.testing.assert_array_equal(found.groups[90:], expected.groups)
    np.testing.assert_allclose(found.similarity[90:], expected.similarity, atol=1e-6)


def test_the_map_and_similar_ones_are_by_the_adapted_vectors(grow):
    collection = with_other_map(grow(90))
    maps = maps_of(collection, progress=False)
    np.testing.assert_allclose(maps.trained.points, lay_out(collection.adapted, seed=SEED).points, atol=1e-4)
    explorer = Explorer(collection, maps)
    similar = json.loads(bytes(explorer.dialogue(SimpleNamespace(path_params={"row": 5})).body))["similar"]
    cosines = collection.adapted @ collection.adapted[5]
    cosines[5] = -2
    assert {row for row, _ in similar} == set(np.argsort(-cosines, kind="stable")[:10].tolist())
    plain = collection.vectors @ collection.vectors[5]
    assert {row for row, _ in similar} != set(np.argsort(-plain, kind="stable")[1:11].tolist())


def test_queries_find_by_the_plain_vectors(grow):
    plain = grow(90, adapted=False)
    queries = ["w3 w8", calls([400])[0]]
    before = [Search(plain).find(query, way="themes") for query in queries]
    collection = with_other_map(plain)
    assert [Search(collection).find(query, way="themes") for query in queries] == before
