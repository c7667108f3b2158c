from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dial2vec.evaluation.intervals import Contributions, Gain, contributions, gains, intervals
from dial2vec.evaluation.scores import figures, score, task_scores


def blobs(n: int, *, spread: float, seed: int = 0) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    return (np.eye(3, 8)[labels] + spread * rng.normal(size=(n, 8))).astype(np.float32), [f"l{n}" for n in labels]


def slow_intervals(vectors, labels, scores, *, draws, seed):
    """Draw dialogues one lot at a time and compute each figure from the lot."""
    n, commonest = len(labels), []
    for run in scores.clusters.clusters:
        names = {c: Counter(sorted(np.array(labels)[run == c])) for c in set(run)}
        commonest.append(np.array([names[at].most_common(1)[0][0] for at in run]))
    lots = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=draws)
    drawn = []
    for times in lots:
        lot = np.repeat(np.arange(n), times)
        drawn.append(
            (
                np.mean([named[lot] == np.array(labels)[lot] for named in commonest]),
                np.mean(scores.relatedness[lot]),
                np.nanmean(scores.retrieval.precisions[lot]),
            )
        )
    return 100 * np.percentile(drawn, [2.5, 97.5], axis=0).T


def test_intervals_equal_a_bootstrap_lot_by_lot_with_a_label_that_occurs_once(monkeypatch):
    monkeypatch.setattr("dial2vec.evaluation.intervals.DRAWS", 50)
    vectors, labels = blobs(40, spread=0.6)
    labels[7] = "alone"
    scores = task_scores(vectors, labels, runs=3, seed=1)
    found = intervals(contributions(scores, labels), seed=5)
    assert list(found) == ["purity", "spearman", "map"]
    assert np.array(list(found.values())) == pytest.approx(slow_intervals(vectors, labels, scores, draws=50, seed=5))


def test_the_figure_lies_in_its_interval_and_more_dialogues_narrow_it():
    widths = []
    for n in (60, 960):
        vectors, labels = blobs(n, spread=0.6)
        scores = task_scores(vectors, labels, runs=3, seed=1)
        found, points = intervals(contributions(scores, labels), seed=0), figures(scores, vectors, labels)
        assert all(low <= points[name] <= high for name, (low, high) in found.items())
        widths.append([high - low for low, high in found.values()])
    # A sixteenth of the variance is a quarter of the width; a sample's own spread moves it a little.
    assert np.divide(*widths) == pytest.approx(4, abs=1.5)


def test_perfect_vectors_have_no_spread_but_in_relatedness():
    vectors, labels = blobs(30, spread=0)
    found = intervals(contributions(task_scores(vectors, labels, runs=2, seed=0), labels), seed=0)
    assert found["purity"] == found["map"] == (100.0, 100.0)


def test_without_a_query_there_is_no_interval_of_map():
    vectors, labels = blobs(30, spread=0.3)
    scores = task_scores(vectors, labels, runs=1, seed=0)
    scores.retrieval.precisions[:] = np.nan
    assert "map" not in intervals(contributions(scores, labels), seed=0)


def test_judging_first_changes_no_figure():
    vectors, labels = blobs(30, spread=0.5)
    assert figures(task_scores(vectors, labels, runs=2, seed=3), vectors, labels) == score(
        vectors, labels, runs=2, seed=3
    )


def judged_twice(n: int, *, spreads: tuple[float, float]) -> list[Contributions]:
    """The same dialogues with the same disturbance, once weaker and once stronger."""
    found = []
    for spread in spreads:
        vectors, labels = blobs(n, spread=spread)
        labels[3] = "alone"
        found.append(contributions(task_scores(vectors, labels, runs=2, seed=1), labels))
    return found


def test_every_figure_is_the_mean_of_what_the_dialogues_add():
    vectors, labels = blobs(50, spread=0.7)
    labels[3] = "alone"
    scores = task_scores(vectors, labels, runs=3, seed=1)
    points = figures(scores, vectors, labels)
    for name, row in contributions(scores, labels).rows().items():
        assert 100 * np.nanmean(row) == pytest.approx(points[name], abs=1e-4)


def test_gains_equal_a_paired_bootstrap_lot_by_lot(monkeypatch):
    monkeypatch.setattr("dial2vec.evaluation.intervals.DRAWS", 200)
    ours, theirs = judged_twice(40, spreads=(0.5, 0.9))
    lots = np.random.default_rng(2).multinomial(40, np.full(40, 1 / 40), size=200)
    for name, gain in gains(ours, theirs, seed=2).items():
        differences = []
        for times in lots:
            lot = np.repeat(np.arange(40), times)
            differences.append(np.nanmean(ours.rows()[name][lot]) - np.nanmean(theirs.rows()[name][lot]))
        assert (gain.low, gain.high) == pytest.approx(100 * np.percentile(differences, [2.5, 97.5]), abs=1e-4)
        assert gain.points == pytest.approx(
            100 * (np.nanmean(ours.rows()[name]) - np.nanmean(theirs.rows()[name])), abs=1e-4
        )


def test_the_pair_is_compared_more_sharply_than_its_two_figures():
    ours, theirs = judged_twice(200, spreads=(0.5, 0.55))
    gain = gains(ours, theirs, seed=0)["map"]
    apart = [high - low for low, high in (intervals(one, seed=0)["map"] for one in (ours, theirs))]
    assert gain.high - gain.low < sum(apart) / 2


def test_an_encoder_gains_nothing_over_itself():
    ours, _ = judged_twice(30, spreads=(0.5, 0.9))
    assert set(gains(ours, ours, seed=0).values()) == {Gain(0.0, 0.0, 0.0)}


@given(st.integers(0, 5))
def test_who_gains_and_who_loses_are_mirror_images(seed: int):
    ours, theirs = (Contributions(*np.random.default_rng(n).random((3, 12))) for n in (1, 2))
    forth, back = gains(ours, theirs, seed=seed), gains(theirs, ours, seed=seed)
    for name, gain in forth.items():
        assert (gain.points, gain.low, gain.high) == pytest.approx(
            (-back[name].points, -back[name].high, -back[name].low), abs=2e-4
        )


def test_a_gain_reads_with_its_interval():
    assert str(Gain(1.234, -0.5, 2.0)) == "+1.23 [-0.50, +2.00]"
