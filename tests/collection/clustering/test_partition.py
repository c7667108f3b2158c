from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from dial2vec.collection.clustering import partition
from dial2vec.collection.clustering.partition import assign, centres_of, centres_of_groups
from dial2vec.collection.clustering.stability import (
    jaccards,
    match_groups,
    measure_stability,
)
from dial2vec.encoder.nearest import unit_rows


def groups_of(n: int, k: int, *, spread: float, d: int = 12, seed: int = 0):
    rng = np.random.default_rng(seed)
    centres = np.eye(d)[:k]
    true = np.arange(n) % k
    return unit_rows(centres[true] + spread * rng.normal(size=(n, d))).astype(np.float32), true.astype(np.int32)


@given(n=st.integers(1, 20), k=st.integers(1, 5), block=st.integers(1, 7), seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_assignment_is_the_nearest_centre_of_each_and_how_far_the_second_is(n, k, block, seed):
    rng = np.random.default_rng(seed)
    units, centres = (unit_rows(rng.normal(size=(rows, 4))).astype(np.float32) for rows in (n, k))
    whole, partition.BLOCK = partition.BLOCK, block
    try:
        found = assign(units, centres)
    finally:
        partition.BLOCK = whole
    for row in range(n):
        cosines = sorted((float(units[row] @ centre) for centre in centres), reverse=True)
        assert float(units[row] @ centres[found.groups[row]]) == pytest.approx(cosines[0], abs=1e-6)
        assert found.similarity[row] == pytest.approx(cosines[0], abs=1e-6)
        second = cosines[1] if k > 1 else 0
        assert found.margin[row] == pytest.approx(cosines[0] - second, abs=1e-6)


def test_centres_are_mean_directions_and_zero_without_vectors():
    units, half = np.array([[1, 0], [0, 1], [1, 0]], dtype=np.float32), 0.5**0.5
    centres = centres_of_groups(units, np.array([0, 0, 2], dtype=np.int32), 4)
    np.testing.assert_allclose(centres, [[half, half], [0, 0], [1, 0], [0, 0]], rtol=1e-6)


def test_separate_groups_are_found_whatever_the_number_of_threads():
    units, true = groups_of(300, 4, spread=0.1)
    with threadpool_limits(limits=1):
        one = centres_of(units, 4, seed=1)
    with threadpool_limits(limits=2):
        two = centres_of(units, 4, seed=1)
    np.testing.assert_array_equal(one, two)
    assert jaccards(true, assign(units, one).groups, 4).max(axis=1).tolist() == [1, 1, 1, 1]


def test_true_clusters_are_stable():
    units, _ = groups_of(400, 4, spread=0.12)
    found = measure_stability(units, centres_of(units, 4, seed=1), seed=1)
    assert found.agreement == pytest.approx(1)
    assert found.clusters == pytest.approx((1, 1, 1, 1))


def test_stability_compares_with_another_number_of_clusters():
    units, groups = groups_of(400, 4, spread=0.12)
    found = measure_stability(
        units,
        centres_of(units, 4, seed=1),
        seed=1,
        groups=groups.astype(np.int32),
        find=lambda own, k, *, seed: centres_of(own, 2, seed=seed),
    )
    assert found.agreement < 0.8


def test_a_cluster_that_is_none_is_less_stable_than_the_others():
    units, _ = groups_of(400, 3, spread=0.12)
    found = measure_stability(units, centres_of(units, 4, seed=1), seed=1)
    assert min(found.clusters) < 0.75 < sorted(found.clusters)[2]


def test_jaccard_of_groups_by_hand():
    one, other = np.array([0, 0, 0, 1, 1], dtype=np.int32), np.array([1, 1, 0, 0, 0], dtype=np.int32)
    np.testing.assert_allclose(jaccards(one, other, 2), [[1 / 5, 2 / 3], [2 / 3, 0]])


def test_groups_are_matched_by_what_they_share():
    old = np.array([0, 0, 1, 1, 2, 2], dtype=np.int32)
    new = np.array([1, 1, 0, 0, 0, 3], dtype=np.int32)
    assert match_groups(old, new, 3, 4) == {1: 0, 0: 1, 3: 2}


def test_a_group_is_not_another_because_of_one_dialogue():
    old = np.repeat([0, 1], 100).astype(np.int32)
    new = np.array([1] + [0] * 199, dtype=np.int32)
    assert match_groups(old, new, 2, 2) == {0: 1}
