from __future__ import annotations

import numpy as np
import pytest
from dial2vec.collection.clustering.communities import communities, divide, neighbour_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.metrics import adjusted_rand_score

from dial2vec.collection.clustering import communities as module
from dial2vec.encoder.nearest import nearest_others, unit_rows


def groups_of(n: int, k: int, *, spread: float, d: int = 12, seed: int = 1):
    rng = np.random.default_rng(seed)
    true = rng.permutation(np.arange(n) % k)
    return unit_rows(np.eye(d)[true] + spread * rng.normal(size=(n, d))).astype(np.float32), true


@settings(deadline=None, max_examples=20)
@given(st.integers(4, 40), st.integers(1, 3), st.integers(0, 99))
def test_the_graph_is_that_of_a_plain_loop(n, k, seed):
    units = unit_rows(np.random.default_rng(seed).normal(size=(n, 4))).astype(np.float32)
    near = [{at, *row} for at, row in enumerate(nearest_others(units, k=k).tolist())]
    expected = np.zeros((n, n))
    for one in range(n):
        for other in range(n):
            if one != other and (other in near[one] or one in near[other]):
                expected[one, other] = len(near[one] & near[other]) / len(near[one] | near[other])
    np.testing.assert_allclose(neighbour_graph(units, k).toarray(), expected, rtol=1e-6)


def test_true_groups_are_found_without_their_number_with_every_seed():
    units, true = groups_of(400, 5, spread=0.12)
    for seed in range(3):
        assert adjusted_rand_score(true, communities(units, seed=seed)) == 1


def test_groups_depend_neither_on_the_order_of_the_dialogues_nor_much_on_the_seed():
    units, _ = groups_of(600, 12, spread=0.3)
    found = communities(units, seed=1)
    order = np.random.default_rng(1).permutation(600)
    assert adjusted_rand_score(found[order], communities(units[order], seed=1)) > 0.95
    assert adjusted_rand_score(found, communities(units, seed=2)) > 0.95


def test_the_largest_group_comes_first_and_no_number_is_left_out():
    units, _ = groups_of(300, 4, spread=0.12)
    found = communities(np.concatenate([units, units[:40] + np.float32(0.001)]), seed=1)
    sizes = np.bincount(found)
    assert sizes.tolist() == sorted(sizes, reverse=True)
    assert sizes.min() > 0


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_few_dialogues_are_all_in_a_group(n):
    units = unit_rows(np.random.default_rng(1).normal(size=(n, 4))).astype(np.float32)
    assert communities(units, seed=1).shape == (n,)


def test_a_sample_is_divided_and_the_others_join_it(monkeypatch):
    monkeypatch.setattr(module, "SAMPLE", 100)
    units, true = groups_of(1000, 4, spread=0.12)
    assert adjusted_rand_score(true, communities(units, seed=1)) == 1


def test_members_of_a_small_group_join_the_group_that_they_are_linked_to_most():
    # Two cliques of six, and a pair with a weak link to the second.
    weights = np.zeros((14, 14), dtype=np.float32)
    weights[:6, :6] = weights[6:12, 6:12] = weights[12:, 12:] = 1
    weights[12, 6] = weights[6, 12] = weights[13, 7] = weights[7, 13] = 0.01
    np.fill_diagonal(weights, 0)
    assert divide(csr_matrix(weights), seed=1).tolist() == [1] * 6 + [0] * 8


def test_steps_are_told_and_never_more_than_announced():
    told: list[int] = []
    communities(groups_of(200, 5, spread=0.4)[0], seed=1, done=told.append)
    assert 2 <= len(told) <= module.steps()
