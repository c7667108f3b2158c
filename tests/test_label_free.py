import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.linalg import sqrtm
from sklearn.metrics import roc_auc_score

from dial2vec.evaluation.clustering import kmeans
from dial2vec.evaluation.selection import criteria
from dial2vec.evaluation.selection.criteria import CHOOSING, Views, cross_side, measure_criteria
from tests.evaluation.references import BAD, SIDES, cloud, islands, slow_cosine, slow_near, views

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from label_free import (
    cohesion,
    effective_rank,
    lexical,
    lexical_neighbours,
    lidar,
    measure_all,
    own_other_side,
    side_overlap,
    silhouette,
    stability,
    start_agreement,
)


def test_two_clean_clusters_are_stable_and_stand_apart():
    whole = islands(spread=1e-3)
    assert stability(whole, clusters=2, seed=0) == 1
    assert silhouette(whole, clusters=2, seed=0) == pytest.approx(1, abs=1e-3)
    # Cosine 1 within, 0 between.
    assert cohesion(whole, clusters=2, seed=0) == pytest.approx(1, abs=0.01)


def test_a_cloud_is_less_stable_and_less_apart_than_clusters():
    for criterion in (stability, silhouette, cohesion):
        assert criterion(islands(clusters=4), clusters=4, seed=0) > criterion(cloud(), clusters=4, seed=0) + 0.2


def test_stability_is_the_mean_over_pairs_of_runs(monkeypatch):
    runs = {5: [0, 0, 1, 1, 1], 6: [1, 1, 0, 0, 0], 7: [0, 1, 1, 1, 0]}
    monkeypatch.setattr(criteria, "kmeans", lambda units, clusters, seed: np.array(runs[seed]))
    # Runs 5 and 6 agree but for names: 1. Either with 7: of 10 pairs 4 are together in each and 1 in both; expected are
    # 4 x 4 / 10 = 1.6, so (1 - 1.6) / (4 - 1.6) = -1/4.
    assert stability(cloud(n=5), clusters=2, seed=5, runs=3) == pytest.approx((1 - 1 / 4 - 1 / 4) / 3)


def test_silhouette_and_cohesion_equal_their_slow_definitions():
    whole = cloud(n=20)
    cosines = np.array([[slow_cosine(a, b) for b in whole] for a in whole])

    def slow_silhouette(clusters):
        found = []
        for i, own in enumerate(clusters):
            apart = {c: [1 - cosines[i, j] for j in range(20) if clusters[j] == c and j != i] for c in set(clusters)}
            if not apart[own]:
                found.append(0)
                continue
            inside, outside = np.mean(apart[own]), min(np.mean(apart[c]) for c in apart if c != own)
            found.append((outside - inside) / max(inside, outside))
        return np.mean(found)

    units = whole / np.linalg.norm(whole, axis=1, keepdims=True)
    runs = [kmeans(units, 3, seed).tolist() for seed in (4, 5)]
    assert silhouette(whole, clusters=3, seed=4) == pytest.approx(np.mean([slow_silhouette(run) for run in runs]))
    pairs = [(cosines[i, j], runs[0][i] == runs[0][j]) for i in range(20) for j in range(i)]
    within, between = ([cosine for cosine, same in pairs if same is kind] for kind in (True, False))
    assert cohesion(whole, clusters=3, seed=4) == pytest.approx(np.mean(within) - np.mean(between))


@given(SIDES, st.integers(1, 2))
@settings(max_examples=60, deadline=None)
def test_overlap_equals_its_slow_definition(sides, neighbours):
    first, second = sides
    shares = []
    for i in range(len(first)):
        one, other = slow_near(first, i, neighbours), slow_near(second, i, neighbours)
        shares.append(neighbours * len(one & other) / len(one) / len(other))
    assert side_overlap(first, second, neighbours=neighbours) == pytest.approx(np.mean(shares))


@given(SIDES, st.integers(1, 2))
@settings(max_examples=30, deadline=None)
def test_own_other_side_equals_its_slow_definition(sides, neighbours):
    first, second = sides
    points = []
    for i in range(len(first)):
        cosines = [slow_cosine(first[i], other) for other in second]
        points.append((cosines[i] == max(cosines)) / cosines.count(max(cosines)))
    assert own_other_side(first, second) == pytest.approx(np.mean(points))


def test_lexical_is_the_area_under_the_roc_curve():
    whole, words = cloud(n=12), np.random.default_rng(5).random((12, 12)) < 0.3
    words[:, 0], words[:, 1] = True, False
    areas = []
    for i in range(2, 12):
        others = [j for j in range(12) if j != i]
        areas.append(roc_auc_score(words[i, others], [slow_cosine(whole[i], whole[j]) for j in others]))
    words[:2] = False
    # Rows without a relevant dialogue count as chance.
    assert lexical(whole, words) == pytest.approx((sum(areas) + 2 * 0.5) / 12)


def test_equal_sides_overlap_and_find_each_other():
    topics = islands(clusters=3)
    assert side_overlap(topics, topics, neighbours=5) == 1
    assert own_other_side(topics, topics) == 1


def test_the_start_agrees_with_itself_alone():
    assert start_agreement(cloud(), cloud(), neighbours=6) == 1
    assert start_agreement(cloud(seed=1), cloud(), neighbours=6) == pytest.approx(0.5, abs=0.1)


def test_words_shared_by_few_dialogues_make_them_near():
    texts = [
        "the train leaves",
        "a train ticket",
        "the pizza",
        "a pizza please",
        "the hotel",
        "a hotel room",
        "the",
        "a",
    ]
    near = lexical_neighbours(texts, neighbours=2)
    expected = np.zeros((8, 8), bool)
    for one in (0, 2, 4):
        expected[one, one + 1] = expected[one + 1, one] = True
    assert (near == expected).all()


@pytest.mark.parametrize("texts", [["", "", ""], ["same words"] * 12, ["one", "two", "three", "four"]])
def test_texts_that_share_no_telling_word_have_no_neighbours_and_lexical_is_chance(texts):
    words = lexical_neighbours(texts, neighbours=1)
    assert not words.any()
    assert lexical(cloud(n=len(texts)), words) == 0.5


@pytest.mark.parametrize("directions", [1, 2, 5])
def test_effective_rank_counts_equally_used_directions(directions):
    # Each direction and its opposite, beside one that all share: about their mean the singular values are equal.
    axes = 0.8 * np.eye(directions, 8, k=1)
    whole = np.concatenate([axes, -axes]) + 0.6 * np.eye(8)[0]
    assert effective_rank(whole.astype(np.float32)) == pytest.approx(directions)


def test_effective_rank_of_unequal_directions():
    whole = np.repeat(np.array([[1, 0], [-1, 0], [0, 1], [0, -1]], np.float32), [4, 4, 1, 1], axis=0)
    # Singular values sqrt(8) and sqrt(2): shares 2/3 and 1/3.
    assert effective_rank(whole) == pytest.approx(np.exp(-(2 / 3 * np.log(2 / 3) + 1 / 3 * np.log(1 / 3))))


def test_lidar_counts_only_directions_in_which_the_sides_of_a_dialogue_agree():
    axes = np.concatenate([np.eye(3, 8), -np.eye(3, 8)]).repeat(10, axis=0).astype(np.float32)
    assert lidar(axes, axes) == pytest.approx(3)
    # The third direction tells only the sides apart.
    other = axes * np.array([1, 1, -1, 1, 1, 1, 1, 1], np.float32)
    assert lidar(axes, other) == pytest.approx(2)


def test_lidar_equals_its_slow_definition():
    first, second = cloud(n=30, d=4), cloud(n=30, d=4) + np.array([1, 2, 1, 1]) * cloud(n=30, d=4, seed=1)
    sides = np.stack([side / np.linalg.norm(side, axis=1, keepdims=True) for side in (first, second)], axis=1)
    between, within = np.zeros((4, 4)), np.zeros((4, 4))
    for dialogue in sides:
        mean = dialogue.mean(axis=0)
        between += np.outer(mean - sides.mean(axis=(0, 1)), mean - sides.mean(axis=(0, 1))) / 30
        for side in dialogue:
            within += np.outer(side - mean, side - mean) / 30
    within += 1e-4 * np.trace(between + within) / 4 * np.eye(4)
    root = np.linalg.inv(sqrtm(within))
    shares = np.linalg.eigvalsh(root @ between @ root)
    shares /= shares.sum()
    assert lidar(first, second.astype(np.float32)) == pytest.approx(np.exp(-(shares * np.log(shares)).sum()), rel=1e-5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("bad", BAD)
def test_collapsed_vectors_have_the_defined_low_figures(bad):
    vectors = BAD[bad].astype(np.float32)
    words = np.eye(60, k=1, dtype=bool)
    found = measure_all(Views(vectors, vectors, vectors), start=views(), words=words, seed=0)
    assert found == pytest.approx(
        {
            "stability": 0,
            "silhouette": 0,
            "cross_side": 0.5,
            "side_overlap": 6 / 59,
            "own_other_side": 1 / 60,
            "effective_rank": 1,
            "lidar": 1,
            "cohesion": 0,
            "start_agreement": 0.5,
            "lexical": 0.5,
        }
    )


@pytest.mark.filterwarnings("error")
@given(SIDES, st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_no_figure_is_ever_undefined(sides, seed):
    found = measure_all(
        Views(sides[0], *sides), start=Views(sides[1], *sides), words=np.zeros((len(sides[0]),) * 2, bool), seed=seed
    )
    assert np.isfinite(list(found.values())).all()


def test_fewer_different_points_than_clusters_are_no_clusters():
    whole = islands(clusters=3, spread=0)
    assert stability(whole, clusters=3, seed=0) == 1
    assert stability(whole, clusters=4, seed=0) == 0
    assert silhouette(whole, clusters=4, seed=0) == 0


def test_as_many_clusters_as_dialogues_are_no_clusters():
    assert stability(cloud(n=4), clusters=4, seed=0) == 0
    assert silhouette(cloud(n=3), clusters=4, seed=0) == 0


@given(st.integers(0, 9), st.integers(-6, 6))
@settings(max_examples=10, deadline=None)
def test_neither_rotation_nor_length_changes_a_figure(seed, power):
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(8, 8)))[0] * 10.0**power
    start = views(whole=islands(clusters=4, seed=seed))
    turned = Views(start.whole @ turn, start.first @ turn, start.second @ turn)
    plain = measure_all(start, start=start, words=None, seed=seed)
    assert measure_all(turned, start=start, words=None, seed=seed) == pytest.approx(plain, abs=1e-6)


@given(SIDES, st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_the_order_of_dialogues_changes_only_k_means(sides, random):
    order = np.array(random.sample(range(len(sides[0])), len(sides[0])))
    first, second = sides
    assume(len(first) > 2)
    for criterion in (side_overlap, start_agreement):
        moved = criterion(first[order], second[order], neighbours=2)
        assert moved == pytest.approx(criterion(first, second, neighbours=2))
    assert own_other_side(first[order], second[order]) == pytest.approx(own_other_side(first, second))
    assert effective_rank(first[order]) == pytest.approx(effective_rank(first))
    assert lidar(first[order], second[order]) == pytest.approx(lidar(first, second))


def test_measure_gives_the_figures_of_the_single_criteria():
    one = views()
    found = measure_criteria(one, seed=3)
    assert tuple(found) == CHOOSING
    assert found["stability"] == stability(one.whole, clusters=4, seed=3)
    assert found["silhouette"] == silhouette(one.whole, clusters=4, seed=3)
    assert found["cross_side"] == cross_side(one.first, one.second, neighbours=6)
    assert measure_all(one, start=one, words=None, seed=3).items() >= found.items()
