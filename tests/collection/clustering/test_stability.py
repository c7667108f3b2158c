from __future__ import annotations

import numpy as np
import pytest

from dial2vec.collection import Collection
from dial2vec.collection.clustering import cluster
from dial2vec.collection.clustering.clusters import read_assignment
from dial2vec.collection.clustering.curation import curate, undo_decision
from dial2vec.collection.clustering.stability import measure_stability
from dial2vec.collection.clustering.tree import tree_centres
from dial2vec.encoder.nearest import unit_rows


def test_trees_of_halves_agree_where_groups_are_true_and_not_where_there_are_none():
    rng, true = np.random.default_rng(1), np.arange(200, dtype=np.int32) % 4
    for spread, low, high in ((0.1, 1.0, 1.0), (50.0, -0.1, 0.3)):
        units = unit_rows(np.eye(8)[true] + spread * rng.normal(size=(200, 8))).astype(np.float32)
        found = measure_stability(units, tree_centres(units, 4, seed=1), seed=1, find=tree_centres)
        assert low <= found.agreement <= high


def test_the_same_decision_has_the_same_result_again(make):
    cluster(make.add(*[0] * 40, *[1] * 30, *[2] * 20))
    first, second = read_assignment(Collection(make.folder))[[0, 40]].tolist()
    found = curate(Collection(make.folder), "merge", first, other=second).after
    undo_decision(Collection(make.folder))
    assert curate(Collection(make.folder), "merge", first, other=second).after == found


@pytest.mark.parametrize("n", [2, 3, 4])
def test_few_dialogues_are_clustered(make, n):
    found = cluster(make.add(*range(n)))
    assert sum(one.size for one in found.clusters) == n
