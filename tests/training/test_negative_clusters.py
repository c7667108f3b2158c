from __future__ import annotations

import numpy as np

from dial2vec.config import Encoder
from dial2vec.training.negatives import cluster_dialogues
from tests.conftest import make_dialogue


def test_dialogues_of_the_same_words_share_a_cluster_and_clusters_are_numbered_from_zero(tiny_folder, tmp_path):
    lines = [("a: red red", "b: green"), ("a: how much", "b: seven euros please")]
    dialogues = [make_dialogue(f"d{i}", *lines[i % 2]) for i in range(120)]
    options = {"encoder": Encoder(name=str(tiny_folder)), "seed": 3, "vectors": tmp_path / "vectors"}
    found = cluster_dialogues(dialogues, **options)
    assert set(found[::2]) == {found[0]}
    assert set(found[1::2]) == {found[1]}
    assert sorted(set(found.tolist())) == [0, 1]
    np.testing.assert_array_equal(cluster_dialogues(dialogues, **options), found)


def test_small_clusters_join_the_nearest_large_one(tiny_folder, tmp_path):
    words = [("a: red red", "b: green")] * 110 + [("a: how much", "b: seven euros please")] * 3
    dialogues = [make_dialogue(f"d{i}", *lines) for i, lines in enumerate(words)]
    found = cluster_dialogues(dialogues, encoder=Encoder(name=str(tiny_folder)), seed=3, vectors=tmp_path)
    assert np.bincount(found).min() >= 10


def test_a_small_corpus_is_one_cluster(tiny_folder, tmp_path):
    dialogues = [make_dialogue(f"d{i}", "a: red", "b: green") for i in range(20)]
    found = cluster_dialogues(dialogues, encoder=Encoder(name=str(tiny_folder)), seed=3, vectors=tmp_path)
    assert found.tolist() == [0] * 20
