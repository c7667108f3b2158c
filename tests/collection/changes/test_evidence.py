from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy.stats import hypergeom, mannwhitneyu, rankdata, ttest_ind

from dial2vec.collection.changes.evidence import (
    adjusted,
    change_words,
    exact_p,
    newcombe,
    parts_p,
    rank_p,
    welch,
    wilson,
)


def test_the_interval_of_a_share_is_that_of_wilson():
    low, high = wilson([0, 5, 10, 0], [10, 10, 10, 0])
    # 5 of 10: (0.5 + z²/20 ± z·sqrt(0.025 + z²/400)) / (1 + z²/10) with z = 1.96.
    assert low == pytest.approx([0, 0.2366, 0.7225, 0], abs=1e-4)
    assert high == pytest.approx([0.2775, 0.7634, 1, 1], abs=1e-4)


def test_the_interval_of_a_difference_is_that_of_newcombes_paper():
    # 56 of 70 minus 48 of 80, table II, method 10.
    low, high = newcombe(48, 80, 56, 70)
    assert (float(low), float(high)) == pytest.approx((0.0524, 0.3339), abs=1e-4)


def test_the_exact_test_counts_the_ways_to_deal_out_dialogues():
    # One of comb(10, 5) ways puts all five on the second side; two sides count.
    assert float(exact_p(0, 5, 5, 5)) == pytest.approx(2 / comb(10, 5))
    # All ways with 4 or 5 on the second side.
    assert float(exact_p(1, 5, 4, 5)) == pytest.approx(2 * (1 + 5 * 5) / comb(10, 5))
    assert float(exact_p(2, 5, 2, 5)) == 1


@pytest.mark.parametrize("n", [12, 400, 20_000])
def test_the_tails_are_those_of_the_hypergeometric_distribution(n):
    rng = np.random.default_rng(n)
    n_before = rng.integers(1, n, 300)
    n_after = n - n_before
    before, after = rng.binomial(n_before, 0.1), rng.binomial(n_after, rng.choice([0, 0.1, 0.12, 0.9, 1], 300))
    table = n, before + after, n_after
    above, below = hypergeom.sf(after - 1, *table), hypergeom.cdf(after, *table)
    expected = np.minimum(1, 2 * np.minimum(above, below))
    assert exact_p(before, n_before, after, n_after) == pytest.approx(expected, rel=1e-8, abs=1e-290)


def sides(low: float):
    rng = np.random.default_rng(3)
    return np.round(rng.normal(low, 2, 30)), np.round(rng.normal(0, 1, 50))


@pytest.mark.parametrize("low", [0, 1])
def test_the_test_of_ranks_is_that_of_mann_and_whitney_also_with_ties(low):
    first, second = sides(low)
    ranks = rankdata(np.concatenate([first, second]))
    means = np.array(ranks[:30].mean()), np.array(ranks[30:].mean())
    p = rank_p((np.array(30.0), np.array(50.0)), means, np.array(ranks.std(ddof=1)))
    assert float(p) == pytest.approx(mannwhitneyu(first, second, use_continuity=False, method="asymptotic").pvalue)


def test_equal_ranks_are_no_evidence():
    assert float(rank_p((np.array(5.0), np.array(5.0)), (np.array(5.5), np.array(5.5)), np.array(0.0))) == 1


def test_the_interval_of_a_mean_is_that_of_welch():
    first, second = sides(1)
    n, means = (np.array(30.0), np.array(50.0)), (np.array(first.mean()), np.array(second.mean()))
    low, high = welch(n, means, (np.array(first.std(ddof=1)), np.array(second.std(ddof=1))))
    expected = ttest_ind(second, first, equal_var=False).confidence_interval()
    assert (float(low), float(high)) == pytest.approx((expected.low, expected.high))


def test_values_that_do_not_vary_have_an_interval_of_one_point():
    zero = np.array(0.0)
    low, high = welch((np.array(5.0), np.array(5.0)), (np.array(1.0), np.array(3.0)), (zero, zero))
    assert (float(low), float(high)) == (2, 2)


def test_the_adjustment_knows_how_many_were_tried():
    # 0.01 · 4 / 1, 0.02 · 4 / 2 and so on are all 0.04.
    assert adjusted([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04] * 4)
    assert adjusted([0.01, 0.9]) == pytest.approx([0.02, 0.9])
    assert adjusted([0.01, 0.9], tables=3) == pytest.approx([0.06, 1])
    assert len(adjusted([])) == 0


def test_a_group_is_new_if_it_had_almost_nothing_before():
    before, after = [0, 1, 20, 40, 20], [30, 30, 40, 20, 0]
    words = change_words(before, [100] * 5, after, [100] * 5, [0.01] * 5)
    assert words.tolist() == ["new", "new", "grew", "shrank", "gone"]
    assert change_words([0], [100], [30], [100], [0.06]).tolist() == [""]


def told(before: list[int], after: list[int]) -> list[int]:
    return np.flatnonzero(adjusted(parts_p(before, after)) <= 0.05).tolist()


def test_topics_that_only_look_smaller_because_another_is_new_do_not_change():
    before, after = [0, 300, 300, 300, 300], [350, 250, 250, 250, 250]
    # Alone, each of the old ones has a clearly smaller share.
    assert (exact_p(300, 1200, 250, 1350) < 0.001).all()
    assert told(before, after) == [0]


def test_topics_that_only_look_larger_because_another_halved_do_not_change():
    assert told([400, 200, 200, 200], [200, 200, 200, 200]) == [0]


def test_a_halving_beside_a_new_topic_is_found():
    assert told([0, 24, 168, 180, 180, 180], [36, 32, 28, 60, 60, 60]) == [0, 1, 2]


def test_of_two_topics_alone_the_one_that_grew_changed():
    assert told([90, 10], [50, 50]) == [1]
    assert told([10, 90], [50, 50]) == [0]


def test_shares_that_move_by_chance_are_not_told():
    rng, claims = np.random.default_rng(3), 0
    for _ in range(200):
        claims += bool(told(*rng.multinomial((400, 200), np.full(8, 1 / 8)).tolist()))
    # At 5 %, more than 18 of 200 have a probability of 1 %.
    assert claims <= 18


def test_all_topics_may_be_gone_but_one():
    assert told([45, 45, 10], [0, 0, 100]) == [2]
