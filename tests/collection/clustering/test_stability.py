from __future__ import annotations

import numpy as np

from dial2vec.collection import Collection
from dial2vec.collection.clustering import cluster
from dial2vec.collection.clustering.clusters import read_assignment
from dial2vec.collection.clustering.curation import curate, undo_decision
from dial2vec.collection.clustering.stability import KeptCentres


def counted() -> tuple[list[int], object]:
    seeds: list[int] = []

    def find(units, k, *, seed):
        seeds.append(seed)
        return units[:k] * seed

    return seeds, find


def test_centres_are_found_once_for_the_same_vectors_and_seed(tmp_path):
    path, units = tmp_path / "halves.npz", np.eye(3, dtype=np.float32)
    seeds, find = counted()
    for _ in range(2):
        kept = KeptCentres(path, find)
        np.testing.assert_array_equal(kept(units, 2, seed=5), 5 * units[:2])
        kept.write()
    assert seeds == [5]
    kept = KeptCentres(path, find)
    kept(units, 2, seed=6)
    kept(units[::-1], 2, seed=5)
    assert seeds == [5, 6, 5]
    kept.write()
    # Only what the last run asked for stays, so the file does not grow.
    KeptCentres(path, find)(units, 2, seed=5)
    assert seeds == [5, 6, 5, 5]


def test_a_damaged_file_is_found_again(tmp_path):
    (tmp_path / "halves.npz").write_bytes(b"PK\x03\x04 cut off")
    seeds, find = counted()
    kept = KeptCentres(tmp_path / "halves.npz", find)
    kept(np.eye(2, dtype=np.float32), 1, seed=3)
    kept.write()
    KeptCentres(tmp_path / "halves.npz", find)(np.eye(2, dtype=np.float32), 1, seed=3)
    assert seeds == [3]


def test_a_decision_finds_no_halves_again_and_has_the_same_result(make, monkeypatch):
    cluster(make.add(*[0] * 40, *[1] * 30, *[2] * 20))
    first, second = read_assignment(Collection(make.folder))[[0, 40]].tolist()
    (make.folder / "clusters" / "halves.npz").rename(make.folder / "away.npz")
    found = curate(Collection(make.folder), "merge", first, other=second).after
    undo_decision(Collection(make.folder))
    (make.folder / "away.npz").rename(make.folder / "clusters" / "halves.npz")
    monkeypatch.setattr("dial2vec.collection.clustering.describing._find_communities", None)
    assert curate(Collection(make.folder), "merge", first, other=second).after == found
