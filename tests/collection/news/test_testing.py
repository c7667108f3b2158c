"""Growth of topics: shares against their past, with one error rate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from dial2vec.collection.news.testing import ALPHA, _tails, clear_growth, spent

WEEKDAYS = np.array([1, 1, 1, 1, 1, 0.5, 0.5])
LEVEL = 0.4 * ALPHA / 91


def nights(days: int, rates, *, volume: int = 1000, seed: int = 1, weekly=None) -> np.ndarray:
    """Return counts of days and topics, drawn from shares with a pattern of the week."""
    random, rates = np.random.default_rng(seed), np.asarray(rates, dtype=float)
    rows = []
    for day in range(days):
        own = rates * (1 if weekly is None else weekly[day % 7])
        rows.append(random.multinomial(int(volume * WEEKDAYS[day % 7]), own / own.sum()))
    return np.array(rows)


def told(counts, since=None, level: float = LEVEL, season: int = 7) -> list[int]:
    since = np.zeros(counts.shape[1], dtype=int) if since is None else since
    return [row.topic for row in clear_growth(counts, since, range(counts.shape[1]), level=level, season=season)]


def test_what_is_spent_in_a_quarter_adds_up_to_the_rate_however_often_somebody_looks():
    assert [91 * spent(1), 91 * 24 * spent(1 / 24), spent(91), spent(400)] == pytest.approx([ALPHA] * 4)


def test_a_topic_that_doubles_is_clear_and_the_others_are_not():
    counts = nights(56, [0.05] * 20)
    counts[-3:, 4] *= 2
    [row] = clear_growth(counts, np.zeros(20, dtype=int), range(20), level=LEVEL, season=7)
    assert (row.topic, row.days) == (4, 3)
    assert row.before == pytest.approx(0.05, abs=0.005)
    assert row.after == pytest.approx(0.095, abs=0.015)


def test_others_do_not_shrink_where_one_grows_much():
    counts = nights(56, [0.1] * 10)
    counts[-7:, 0] *= 8
    assert told(counts) == [0]


def test_a_topic_that_shrinks_is_clear():
    counts = nights(56, [0.1] * 10)
    counts[-7:, 3] //= 2
    assert told(counts) == [3]


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_clear_where_each_weekday_has_shares_of_its_own(seed):
    weekly = np.exp(np.random.default_rng(seed).normal(0, 0.5, (7, 30)))
    counts = nights(70, np.full(30, 1 / 30), seed=seed, weekly=weekly)
    assert [told(counts[:until]) for until in range(35, 71)] == [[]] * 36


def test_a_monday_is_compared_with_mondays():
    weekly = np.ones((7, 10))
    weekly[0, 0] = 4
    counts = nights(57, [0.1] * 10, weekly=weekly)
    assert counts[-1, 0] > 2 * counts[-2, 0]
    assert told(counts) == []
    counts[-1, 0] *= 2
    assert told(counts) == [0]


def test_a_topic_that_bursts_now_and_then_needs_a_larger_burst():
    calm, bursts = nights(56, [0.05] * 20), nights(56, [0.05] * 20)
    bursts[3::5, 7] *= 3
    for counts in (calm, bursts):
        counts[-1, 7] = 70
    assert (told(calm), told(bursts)) == ([7], [])


def test_after_it_was_told_only_its_days_since_then_count():
    counts = nights(70, [0.05] * 20)
    counts[-30:, 2] *= 2
    assert told(counts[:43]) == [2]
    since = np.zeros(20, dtype=int)
    since[2] = 40
    assert told(counts, since) == []
    counts[-5:, 2] *= 2
    assert told(counts, since) == [2]


def test_with_too_short_a_past_nothing_is_clear():
    counts = nights(8, [0.1] * 10)
    counts[-1, 0] *= 5
    assert told(counts[:7]) == []
    assert told(counts) == [0]


def test_weeks_have_no_weekdays():
    counts = nights(20, [0.1] * 10, volume=300)
    counts[-3:, 0] *= 3
    assert told(counts, season=1) == [0]


def test_with_a_steady_and_long_past_the_chances_are_binomial():
    x, sizes = np.full((500, 1), 50), np.full((500, 1), 1000)
    own, n = np.array([70.0]), np.array([1000.0])
    more, less, share = _tails(own, n, x, sizes, np.zeros(1))
    assert share[0] == pytest.approx(0.05, rel=1e-4)
    assert more[0] == pytest.approx(binom.sf(69, 1000, 0.05), rel=0.1)
    assert less[0] == pytest.approx(binom.cdf(70, 1000, 0.05), rel=0.01)
