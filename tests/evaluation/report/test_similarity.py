import re
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from dial2vec.evaluation import relatedness
from dial2vec.evaluation.clustering import accuracy, kmeans
from dial2vec.evaluation.relatedness import cosine_blocks
from dial2vec.evaluation.report.confusion import confusion
from dial2vec.evaluation.report.pictures import INK, curves, distributions, path
from dial2vec.evaluation.report.similarity import similarities


def test_each_pair_counts_once_in_the_bar_of_its_cosine():
    found = similarities(np.array([[1, 0], [1, 0], [0, 1], [-1, 0]], np.float32), ["a", "a", "b", "c"])
    # One pair of "a" at cosine 1; five others: three at 0, two at -1.
    assert found.same[-1] == 1
    assert found.different[50] == pytest.approx(3 / 5)
    assert found.different[0] == pytest.approx(2 / 5)
    assert found.edges[50] == pytest.approx(0)


def test_labels_that_one_threshold_parts_do_not_overlap():
    assert similarities(np.array([[1, 0], [1, 0], [0, 1], [0, 1]]), ["a", "a", "b", "b"]).overlap == pytest.approx(0)


def test_vectors_that_coincide_and_labels_the_wrong_way_round_overlap_wholly():
    assert similarities(np.ones((4, 3)), ["a", "a", "b", "b"]).overlap == pytest.approx(1)
    assert similarities(np.array([[1, 0], [0, 1], [1, 0], [0, 1]]), ["a", "a", "b", "b"]).overlap == pytest.approx(1)


@pytest.mark.parametrize("labels", [["a", "b", "c"], ["a", "a", "a"]])
def test_overlap_is_undefined_without_pairs_of_both_kinds(labels):
    assert np.isnan(similarities(np.eye(3), labels).overlap)


@given(st.integers(0, 1000), st.integers(1, 7))
def test_overlap_is_one_minus_the_one_sided_kolmogorov_smirnov_distance_in_blocks_of_any_size(seed, block):
    rng = np.random.default_rng(seed)
    vectors, labels = rng.normal(size=(9, 3)), np.array(list("aabbbcccc"))
    _, cosines = next(cosine_blocks(vectors))
    first, second = np.triu_indices(9, 1)
    same = labels[first] == labels[second]
    # In the steps in which they are counted: two cosines within 0.0001 are a tie.
    steps = np.floor((cosines[first, second] + 1) / 2 * 20_000)
    expected = 1 - ks_2samp(steps[~same], steps[same], alternative="greater").statistic
    with patch.object(relatedness, "BLOCK", block):
        assert similarities(vectors, labels.tolist()).overlap == pytest.approx(expected)


def test_clusters_stand_under_their_labels_and_the_stray_dialogue_beside_the_diagonal():
    places = {"cars": [0, 0], "food": [9, 0], "pets": [0, 9]}
    labels = ["pets", "cars", "food", "pets", "cars", "food", "food"]
    vectors = np.array([places[label] for label in labels], np.float32)
    vectors[-1] = places["cars"]
    found = confusion(vectors, labels, seed=0)
    assert found.labels == ["cars", "food", "pets"]
    assert found.counts.tolist() == [[2, 0, 0], [1, 2, 0], [0, 0, 2]]
    assert found.accuracy == pytest.approx(6 / 7)


def test_diagonal_is_the_accuracy_of_the_same_run_of_kmeans():
    vectors, labels = np.random.default_rng(0).normal(size=(40, 4)), [f"label {i % 5}" for i in range(40)]
    assert confusion(vectors, labels, seed=3).accuracy == pytest.approx(accuracy(labels, kmeans(vectors, 5, 3)))


def test_collapsed_vectors_leave_columns_of_zero():
    counts = confusion(np.ones((5, 2), np.float32), list("aaabb"), seed=0).counts
    assert sorted(counts.sum(axis=0)) == [0, 5]
    assert counts[0, 0] == 3


def ticks(svg):
    return re.findall(r">([−\d.]+)</text>", svg)


def test_no_loss_draws_no_curve():
    assert curves([]) == ""


def test_a_plot_takes_the_colour_of_the_page_and_is_the_same_every_time():
    history = [{"step": 1, "loss": 2.0, "learning_rate": 0.1}, {"step": 2, "loss": 1.0, "learning_rate": 0.0}]
    svg = curves(history)
    assert INK not in svg
    assert "currentColor" in svg
    assert svg == curves(history)


def test_histograms_share_their_axes_so_that_they_can_be_compared():
    labels = ["a", "a", "b", "b"]
    found = {"start": similarities(np.ones((4, 2)), labels), "trained": similarities(np.eye(4), labels)}
    drawn = distributions(found)
    assert ticks(drawn["start"]) == ticks(drawn["trained"])
    assert not set(re.findall(r' id="([^"]+)"', drawn["start"])) & set(re.findall(r' id="([^"]+)"', drawn["trained"]))


def test_path_names_the_start_the_chosen_one_and_every_candidate_between():
    svg = path([(-2, 0.5), (-2.2, 0.4), (-2.1, 0.3)], ["start", "step 5", "step 9"], chosen=2)
    assert all(f">{text}</text>" in svg for text in ("start (start)", "chosen (step 9)", "step 5"))
    assert ">adjusted alignment (lower is better)</text>" in svg


def test_many_candidates_are_drawn_without_their_names_and_none_need_be_chosen():
    points, names = [(-2 - i / 50, 0.5) for i in range(20)], [f"step {i}" for i in range(20)]
    svg = path(points, names, chosen=None)
    assert ">step 7</text>" not in svg
    assert "chosen" not in svg
