import numpy as np
import pytest

from dial2vec.evaluation.report.neighbours import NearestDialogues, kept_neighbours, neighbours_of, rank_nearest


def nearest(*places):
    found = np.array(places)
    return NearestDialogues(np.full(len(found), 0.5), found, np.full(found.shape, 0.5))


def test_neighbours_with_the_same_label_are_counted_and_compared():
    labels = ["a", "a", "b", "b", "c"]
    found = neighbours_of(nearest([2], [0], [3], [0], [1]), nearest([1], [3], [3], [2], [1]), labels)
    assert found.depth == 1
    # "c" stands alone and cannot be found.
    assert found.counted.tolist() == [True, True, True, True, False]
    assert (found.start.tolist(), found.trained.tolist()) == ([0, 1, 1, 0, 0], [1, 0, 1, 1, 0])
    assert found.changes == (2, 1, 1)
    assert found.means == (0.5, 0.75)
    gain = found.gain(seed=0)
    assert gain.points == 25
    assert gain.low < 0 < gain.high


@pytest.mark.parametrize(("size", "depth"), [(11, 10), (10, 5), (6, 5), (5, 3), (4, 3), (3, 1), (2, 1)])
def test_the_depth_is_one_that_labels_can_fill(size, depth):
    labels = [label for label in "abc" for _ in range(size)]
    ranked = rank_nearest(np.random.default_rng(0).normal(size=(len(labels), 4)), labels)
    assert neighbours_of(ranked, ranked, labels).depth == depth


def test_a_few_small_labels_do_not_lower_the_depth_and_do_not_count():
    labels = ["a"] * 30 + ["b"] * 30 + ["small"] * 3
    ranked = rank_nearest(np.random.default_rng(0).normal(size=(63, 4)), labels)
    found = neighbours_of(ranked, ranked, labels)
    assert found.depth == 10
    assert found.counted.sum() == 60
    assert found.changes == (0, 0, 60)


def test_kept_neighbours_do_not_depend_on_their_order():
    assert kept_neighbours(nearest([1, 2], [0, 2]), nearest([2, 1], [2, 3])).tolist() == [2, 1]
    assert kept_neighbours(nearest([1, 2], [0, 2]), nearest([2, 1], [2, 3]), depth=1).tolist() == [0, 0]
