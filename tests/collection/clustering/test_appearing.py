"""Groups that appear where the past has next to none, against a plain count."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from dial2vec.collection.clustering import appearing
from dial2vec.collection.clustering.appearing import SIZES, appeared
from dial2vec.encoder.nearest import unit_rows

D = 16


def around(direction: int, n: int, seed: int, spread: float = 0.2) -> np.ndarray:
    return unit_rows(np.eye(D)[[direction] * n] + spread * np.random.default_rng(seed).normal(size=(n, D)))


def everywhere(n: int, seed: int) -> np.ndarray:
    """Return vectors of eight topics."""
    return np.concatenate([around(at, n // 8, seed + at) for at in range(8)])


def scan(past: np.ndarray, new: np.ndarray, level: float = 1e-3) -> list[appearing.Appeared]:
    units = np.concatenate([past, new]).astype(np.float32)
    n = len(past)
    return appeared(units, np.arange(n), np.arange(n, len(units)), level=level, seed=1)


def plainly(past: np.ndarray, new: np.ndarray) -> float:
    """Return the smallest p of all balls, times their number."""
    smallest, sizes = 0.0, [size for size in SIZES if size <= len(new)]
    for middle in new:
        for size in sizes:
            edge = np.sort(new @ middle)[-size]
            inside = int((past @ middle >= edge).sum())
            if inside / len(past) <= 0.1 * size / len(new):
                smallest = min(smallest, binom.logsf(size - 1, size + inside, len(new) / (len(new) + len(past))))
    return float(np.exp(min(0.0, smallest + np.log(len(sizes) * len(new)))))


def test_a_topic_that_never_was_there_is_one_group_of_its_dialogues():
    past, new = everywhere(800, 1), np.concatenate([everywhere(160, 50), around(12, 15, 99)])
    [group] = scan(past, new)
    assert set(range(960, 975)) <= set(group.rows.tolist())
    assert len(group.rows) <= 20
    assert group.p == pytest.approx(plainly(past, new), rel=1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_the_p_is_that_of_a_plain_count(seed):
    past = everywhere(320, seed)
    new = np.concatenate([everywhere(80, seed + 40), around(9, 5, seed), around(10, 7, seed)])
    groups = scan(past, new, level=1.0)
    assert min(group.p for group in groups) == pytest.approx(plainly(past, new), rel=1e-3)


@pytest.mark.parametrize("seed", range(10))
def test_nothing_appears_among_dialogues_like_the_past(seed):
    assert scan(everywhere(800, seed), everywhere(160, seed + 100), level=0.01) == []


def test_an_old_topic_that_has_three_times_its_share_is_not_new():
    new = np.concatenate([everywhere(160, 50), around(3, 60, 7)])
    assert scan(everywhere(800, 1), new) == []


def test_two_topics_are_two_groups_the_surer_first():
    new = np.concatenate([everywhere(160, 50), around(12, 10, 1), around(13, 15, 2)])
    groups = scan(everywhere(800, 1), new)
    assert [group.rows.tolist() for group in groups] == [[*range(970, 985)], [*range(960, 970)]]


def test_without_a_past_or_new_dialogues_nothing_appears():
    none = np.zeros((0, D))
    assert scan(none, everywhere(80, 1)) == scan(everywhere(80, 1), none) == []


def test_large_sides_are_sampled(monkeypatch):
    monkeypatch.setattr(appearing, "PAST", 400)
    monkeypatch.setattr(appearing, "NEW", 150)
    [group] = scan(everywhere(1600, 1), np.concatenate([everywhere(160, 50), around(12, 40, 9)]))
    assert 20 <= len(group.rows) <= 30
    assert np.mean(group.rows >= 1760) > 0.9
