from collections import Counter

import numpy as np
import pytest

from dial2vec.evaluation.intervals import intervals
from dial2vec.evaluation.scores import figures, judge, score


def blobs(n: int, *, spread: float, seed: int = 0) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    return (np.eye(3, 8)[labels] + spread * rng.normal(size=(n, 8))).astype(np.float32), [f"l{n}" for n in labels]


def slow_intervals(vectors, labels, judged, *, draws, seed):
    """Draw dialogues one lot at a time and compute each figure from the lot."""
    n, commonest = len(labels), []
    for run in judged.clusters.clusters:
        names = {c: Counter(sorted(np.array(labels)[run == c])) for c in set(run)}
        commonest.append(np.array([names[at].most_common(1)[0][0] for at in run]))
    lots = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=draws)
    drawn = []
    for times in lots:
        lot = np.repeat(np.arange(n), times)
        drawn.append(
            (
                np.mean([named[lot] == np.array(labels)[lot] for named in commonest]),
                np.mean(judged.relatedness[lot]),
                np.nanmean(judged.retrieval.precisions[lot]),
            )
        )
    return 100 * np.percentile(drawn, [2.5, 97.5], axis=0).T


def test_intervals_equal_a_bootstrap_lot_by_lot_with_a_label_that_occurs_once():
    vectors, labels = blobs(40, spread=0.6)
    labels[7] = "alone"
    judged = judge(vectors, labels, runs=3, seed=1)
    found = intervals(judged, labels, draws=50, seed=5)
    assert list(found) == ["purity", "spearman", "map"]
    assert np.array(list(found.values())) == pytest.approx(slow_intervals(vectors, labels, judged, draws=50, seed=5))


def test_the_figure_lies_in_its_interval_and_more_dialogues_narrow_it():
    widths = []
    for n in (60, 960):
        vectors, labels = blobs(n, spread=0.6)
        judged = judge(vectors, labels, runs=3, seed=1)
        found, points = intervals(judged, labels, seed=0), figures(judged, vectors, labels)
        assert all(low <= points[name] <= high for name, (low, high) in found.items())
        widths.append([high - low for low, high in found.values()])
    # A sixteenth of the variance is a quarter of the width; a sample's own spread moves it a little.
    assert np.divide(*widths) == pytest.approx(4, abs=1.5)


def test_perfect_vectors_have_no_spread_but_in_relatedness():
    vectors, labels = blobs(30, spread=0)
    found = intervals(judge(vectors, labels, runs=2, seed=0), labels, seed=0)
    assert found["purity"] == found["map"] == (100.0, 100.0)


def test_without_a_query_there_is_no_interval_of_map():
    vectors, labels = blobs(30, spread=0.3)
    judged = judge(vectors, labels, runs=1, seed=0)
    judged.retrieval.precisions[:] = np.nan
    assert "map" not in intervals(judged, labels, seed=0)


def test_judging_first_changes_no_figure():
    vectors, labels = blobs(30, spread=0.5)
    assert figures(judge(vectors, labels, runs=2, seed=3), vectors, labels) == score(vectors, labels, runs=2, seed=3)
