import numpy as np
import pytest

from dial2vec.evaluation.clustering import accuracy, kmeans
from dial2vec.evaluation.report.confusion import confusion


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
