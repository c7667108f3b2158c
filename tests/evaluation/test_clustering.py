import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from dial2vec.evaluation.clustering import accuracy, cluster_scores, published_runs, purity

ASSIGNMENTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30)


def slow_purity(labels, clusters):
    hits = 0
    for cluster in set(clusters):
        inside = [label for label, own in zip(labels, clusters, strict=True) if own == cluster]
        hits += max(inside.count(label) for label in set(inside))
    return hits / len(labels)


def slow_accuracy(labels, clusters):
    names, best = sorted(set(labels)), 0
    wide = [*sorted(set(clusters)), *[None] * len(names)]
    for matched in set(itertools.permutations(wide, len(names))):
        given_to = dict(zip(names, matched, strict=True))
        best = max(best, sum(given_to[label] == own for label, own in zip(labels, clusters, strict=True)))
    return best / len(labels)


@pytest.fixture
def islands():
    rng = np.random.default_rng(0)
    labels = [f"label {i % 4}" for i in range(60)]
    centres = 20 * np.eye(4, 8)
    vectors = centres[[i % 4 for i in range(60)]] + rng.normal(size=(60, 8))
    return vectors.astype(np.float32), labels


def test_purity_of_a_worked_example():
    assert purity(["a", "a", "b", "b", "b", "c"], [0, 0, 0, 1, 1, 1]) == pytest.approx(4 / 6)


@given(ASSIGNMENTS)
@settings(max_examples=50, deadline=None)
def test_purity_and_accuracy_equal_their_slow_definitions(pairs):
    labels, clusters = (list(side) for side in zip(*pairs, strict=True))
    assert purity(labels, clusters) == pytest.approx(slow_purity(labels, clusters))
    assert accuracy(labels, clusters) == pytest.approx(slow_accuracy(labels, clusters))


@given(ASSIGNMENTS, st.permutations(range(4)))
@settings(max_examples=30, deadline=None)
def test_renaming_labels_and_clusters_changes_nothing(pairs, names):
    labels, clusters = (list(side) for side in zip(*pairs, strict=True))
    renamed = [f"name {names[label]}" for label in labels], [names[cluster] for cluster in clusters]
    assert purity(*renamed) == pytest.approx(purity(labels, clusters))
    assert accuracy(*renamed) == pytest.approx(accuracy(labels, clusters))


def test_each_dialogue_a_cluster_is_pure_but_not_accurate():
    labels = ["a", "a", "a", "b"]
    assert purity(labels, range(4)) == 1
    assert accuracy(labels, range(4)) == pytest.approx(2 / 4)


def test_separate_islands_are_found_by_the_best_run(islands):
    assert max(cluster_scores(*islands, runs=5, seed=0).purities) == 1


def test_the_published_code_runs_less_often_the_more_dialogues_there_are():
    assert [published_runs(n) for n in (2, 499, 500, 1331, 3499, 3500, 10**6)] == [10, 10, 9, 8, 4, 3, 3]
    vectors = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    labels = [place % 3 for place in range(40)]
    assert cluster_scores(vectors, labels, runs=None, seed=0) == cluster_scores(vectors, labels, runs=10, seed=0)


@pytest.mark.parametrize("n_clusters", [None, 5])
def test_the_papers_way_and_the_releases_are_scikit_learns_calls_of_them(n_clusters):
    rng = np.random.default_rng(0)
    vectors, labels = rng.normal(size=(60, 4)).astype(np.float32), rng.integers(0, 3, 60).tolist()
    k = n_clusters or 3

    def called(seed, **options):
        return purity(labels, KMeans(k, random_state=seed, **options).fit_predict(vectors))

    paper = cluster_scores(vectors, labels, runs=2, seed=5, way="paper", n_clusters=n_clusters)
    assert paper.purities == tuple(called(5 + run, n_init=1) for run in range(10))
    release = cluster_scores(vectors, labels, runs=2, seed=5, way="release", n_clusters=n_clusters)
    assert release.purities == tuple(called(5 + run, n_init=10, max_iter=500, tol=1e-5) for run in range(10))


def test_more_clusters_than_dialogues_are_as_many_as_there_are_dialogues():
    vectors = np.arange(8, dtype=np.float32)[:, None]
    assert cluster_scores(vectors, list("aabbccdd"), runs=1, seed=0, n_clusters=45).purity == 1


def test_figures_are_the_mean_and_population_deviation_of_the_runs():
    rng = np.random.default_rng(0)
    vectors, labels = rng.normal(size=(80, 6)).astype(np.float32), rng.integers(0, 5, 80).tolist()
    scores = cluster_scores(vectors, labels, runs=6, seed=3)
    assert len(set(scores.purities)) > 1
    assert scores.purity == pytest.approx(np.mean(scores.purities))
    assert scores.purity_sd == pytest.approx(np.sqrt(np.mean((np.array(scores.purities) - scores.purity) ** 2)))


def test_run_i_is_seeded_by_the_seed_plus_i():
    rng = np.random.default_rng(0)
    vectors, labels = rng.normal(size=(80, 6)).astype(np.float32), rng.integers(0, 5, 80).tolist()
    whole = cluster_scores(vectors, labels, runs=4, seed=7)
    assert whole == cluster_scores(vectors, labels, runs=4, seed=7)
    assert whole.purities == tuple(cluster_scores(vectors, labels, runs=1, seed=7 + i).purity for i in range(4))
    assert whole.purities != cluster_scores(vectors, labels, runs=4, seed=70).purities


def test_vectors_are_clustered_as_they_are_not_normalised():
    # All point the same way: only their lengths tell the labels apart.
    lengths = np.concatenate([np.linspace(1, 2, 20), np.linspace(11, 12, 20)])
    vectors = np.outer(lengths, [0.6, 0.8]).astype(np.float32)
    assert cluster_scores(vectors, ["short"] * 20 + ["long"] * 20, runs=3, seed=0).accuracy == 1


@pytest.mark.filterwarnings("error")
def test_collapsed_vectors_score_the_share_of_the_commonest_label_without_a_warning():
    scores = cluster_scores(np.ones((10, 4), np.float32), ["a"] * 7 + ["b"] * 2 + ["c"], runs=2, seed=0)
    assert scores.purity == pytest.approx(0.7)
    assert scores.ari == pytest.approx(0)
    assert scores.purity_sd == 0


def test_figures_do_not_depend_on_how_many_runs_go_at_a_time(islands, monkeypatch):
    vectors, labels = islands
    vectors = vectors + np.random.default_rng(1).normal(size=vectors.shape).astype(np.float32) * 9
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        found.append(cluster_scores(vectors, labels, runs=7, seed=5))
    assert found[0] == found[1]
    assert len(set(found[0].purities)) > 1
    np.testing.assert_array_equal(found[0].clusters, found[1].clusters)
