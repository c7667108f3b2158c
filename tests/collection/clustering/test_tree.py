from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score, silhouette_score

from dial2vec.collection.clustering import tree as module
from dial2vec.collection.clustering.levels import areas_of_topics, assign_fine, divide_topics
from dial2vec.collection.clustering.tree import (
    GAP,
    Levels,
    Tree,
    find_levels,
    silhouette,
    tree_centres,
    without_small,
)
from dial2vec.encoder.nearest import unit_rows


def cloud(n: int, k: int, *, spread: float, d: int = 12, seed: int = 1):
    """Vectors about k axes, and the axis of each."""
    rng = np.random.default_rng(seed)
    true = rng.permutation(np.arange(n) % k).astype(np.int32)
    return unit_rows(np.eye(d)[true] + spread * rng.normal(size=(n, d))).astype(np.float32), true


def two_levels(n: int):
    """Vectors of three areas with four topics each, their topics, and their areas."""
    rng = np.random.default_rng(3)
    topics = (np.arange(n) % 12).astype(np.int32)
    points = np.eye(16)[topics // 4] + 0.45 * np.eye(16)[4 + topics] + 0.03 * rng.normal(size=(n, 16))
    return unit_rows(points).astype(np.float32), topics, topics // 4


@settings(max_examples=40)
@given(st.lists(st.integers(0, 4), min_size=3, max_size=30), st.integers(0, 99), st.booleans())
def test_the_silhouette_is_that_of_scikit_learn(groups, seed, alone):
    groups = np.unique([*groups, 5] if alone else groups, return_inverse=True)[1].astype(np.int32)
    units = unit_rows(np.random.default_rng(seed).normal(size=(len(groups), 4))).astype(np.float32)
    units[0] = 0 if seed % 3 == 0 else units[0]
    if 1 < groups.max() + 1 < len(groups):
        assert silhouette(units, groups) == pytest.approx(silhouette_score(units, groups, metric="cosine"), abs=1e-5)
    assert silhouette(units, np.zeros(len(groups), dtype=np.int32)) == 0


def test_dialogues_of_a_small_group_join_the_nearest_other_one():
    groups = np.array([0] * 5 + [1] * 2 + [2] * 6, dtype=np.int32)
    units = np.eye(3, dtype=np.float32)[groups]
    units[5:7] = [[0.6, 0.8, 0], [0, 0.8, 0.6]]
    assert without_small(units, groups).tolist() == [0] * 5 + [0, 1] + [1] * 6
    small = np.array([0, 1, 1], dtype=np.int32)
    assert without_small(units[:3], small).tolist() == [0, 1, 1]


def test_cuts_have_the_number_that_is_asked_for_and_nest():
    units, _ = cloud(400, 8, spread=0.25)
    tree = Tree(units, units)
    assert [len(np.unique(tree.cut(k))) for k in range(1, 9)] == list(range(1, 9))
    for few, many in ((2, 3), (3, 6), (5, 8)):
        coarse, fine = tree.cut(few), tree.cut(many)
        assert np.unique([coarse, fine], axis=1).shape[1] == many


def slow_best(units, plain, fewest, most):
    """The choice of the number by the text of `find_levels`: scipy's tree of the vectors, scikit-learn's silhouette."""
    merges, figures = linkage(units.astype(np.float64), "ward"), {}
    heights = merges[:, 2][::-1]
    for k in range(fewest, most + 1):
        groups = fcluster(merges, k, "maxclust")
        centres = {g: units[groups == g].sum(axis=0) for g in set(groups) if (groups == g).sum() >= 5}
        centres = {g: centre / np.linalg.norm(centre) for g, centre in centres.items()}
        names, means = np.array(list(centres)), np.array(list(centres.values()))
        moved = np.where(np.isin(groups, names), groups, names[(units @ means.T).argmax(axis=1)])
        figures[k] = silhouette_score(plain, moved, metric="cosine") if len(np.unique(moved)) > 1 else 0
    best = max(figures.values())
    return max(figures, key=lambda k: figures[k] / best + GAP * np.log(heights[k - 2] / heights[k - 1]))


@pytest.mark.parametrize("spread", [0.15, 0.3, 0.5])
def test_the_number_of_groups_is_that_of_a_slow_search(spread):
    for seed in range(3):
        units, _ = cloud(90, 6, spread=spread, seed=seed)
        noise = np.random.default_rng(seed).normal(size=units.shape)
        plain = unit_rows(units + 0.1 * noise).astype(np.float32)
        assert Tree(units, plain).best(2, 12) == slow_best(units, plain, 2, 12)


@pytest.mark.parametrize("k", [2, 3, 5, 9])
def test_clear_groups_are_found_without_their_number(k):
    units, true = cloud(270, k, spread=0.1)
    found = find_levels(units, units, seed=1)
    assert adjusted_rand_score(true, found.topics) == 1
    sizes = np.bincount(found.topics)
    assert sizes.tolist() == sorted(sizes, reverse=True)


def test_areas_and_topics_of_two_levels_are_found_in_any_order_of_the_dialogues():
    units, topics, areas = two_levels(360)
    found, order = find_levels(units, units, seed=1), np.random.default_rng(1).permutation(360)
    assert adjusted_rand_score(topics, found.topics) == 1
    assert adjusted_rand_score(topics[order], find_levels(units[order], units[order], seed=2).topics) == 1
    by_topic = areas_of_topics(found.topics, found, 12)
    assert adjusted_rand_score(areas, by_topic[found.topics]) == 1


def test_of_many_dialogues_a_sample_is_joined_and_the_others_go_to_the_nearest_centre(monkeypatch):
    monkeypatch.setattr(module, "SAMPLE", 80)
    units, true = cloud(500, 4, spread=0.12)
    assert adjusted_rand_score(true, find_levels(units, units, seed=1).topics) == 1
    units, _ = cloud(500, 4, spread=0.5)
    topics, rows = find_levels(units, units, seed=1).topics, module.sampled(500, 80, 1)
    centres = module.centres_of_groups(units[rows], topics[rows])
    others = np.setdiff1d(np.arange(500), rows)
    assert (topics[others] == (units[others] @ centres.T).argmax(axis=1)).all()


@settings(max_examples=20)
@given(st.lists(st.tuples(*[st.integers(-1, 1)] * 2), min_size=2, max_size=25))
def test_zero_and_equal_vectors_and_few_of_them_have_levels(points):
    units = unit_rows(np.array(points, dtype=np.float32))
    found = find_levels(units, units, seed=1)
    assert len(found.topics) == len(units)
    assert all(len(areas) == len(units) for areas in found.areas)
    assert (np.bincount(found.topics) > 0).all()
    for k in (1, 2, len(units)):
        assert np.isfinite(tree_centres(units, k, seed=1)).all()


def levels_of(topics, *areas):
    return Levels(topics, np.arange(len(topics)), tuple(np.array(one, dtype=np.int32) for one in areas))


def test_an_area_is_that_of_most_dialogues_and_has_the_number_of_its_first_topic():
    topics = np.repeat(np.arange(6, dtype=np.int32), 3)
    areas = [2, 2, 0, 0, 0, 0, 2, 2, 1, 1, 1, 1, 0, 0, 2, 1, 1, 1]
    assert areas_of_topics(topics, levels_of(topics, areas), 6).tolist() == [0, 1, 0, 2, 1, 2]
    assert areas_of_topics(topics[:12], levels_of(topics[:12], areas[:12]), 4).tolist() == [0, 1, 2, 3]


def test_no_area_holds_more_than_35_percent_of_the_dialogues():
    topics = np.repeat(np.arange(20, dtype=np.int32), 5)
    large, just, other = topics // 5 > 1, topics // 7, topics // 4
    assert areas_of_topics(topics, levels_of(topics, large, just, other), 20).tolist() == [*[0] * 7, *[1] * 7, *[2] * 6]
    # One topic more than a third, so that no division can help.
    topics[:36] = 0
    _, topics = np.unique(topics, return_inverse=True)
    k = int(topics.max()) + 1
    assert areas_of_topics(topics, levels_of(topics, large, just, other), k).tolist() == list(range(k))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 9), st.floats(0.1, 0.6))
def test_areas_are_unions_of_topics_of_at_most_35_percent_or_single_topics(seed, spread):
    units, _ = cloud(240, 12, spread=spread, d=16, seed=seed)
    found = find_levels(units, units, seed=1)
    k = int(found.topics.max()) + 1
    areas = areas_of_topics(found.topics, found, k)
    assert len(areas) == k
    assert np.bincount(areas[found.topics]).max() <= 0.35 * 240 or areas.tolist() == list(range(k))


def test_up_to_half_as_many_areas_as_topics_are_tried_before_more():
    units, *_ = two_levels(360)
    tree = Tree(units, units)
    numbers = tree.numbers_of_areas(12)
    assert sorted(numbers[:5]) == [2, 3, 4, 5, 6]
    assert numbers[0] == tree.best(2, 6) == 3
    assert numbers[5:] == [7, 8]
    assert Tree(units, units).numbers_of_areas(2) == []


def test_fine_topics_lie_within_their_topic():
    units, true = cloud(400, 4, spread=0.12)
    topics, told = (true // 2).astype(np.int32), list[int]()
    centres, parents = divide_topics(units, units, topics, 2, seed=1, done=told.append)
    fine = assign_fine(units, topics, centres, parents)
    assert parents.tolist() == [0, 0, 1, 1]
    assert (parents[fine] == topics).all()
    assert adjusted_rand_score(true, fine) == 1
    assert told == [1] * 10
