"""Intervals and tests for shares and means, for many comparisons at once.

All functions take arrays that broadcast. Intervals hold for one comparison each; `adjusted` accounts for their number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, ndtr, stdtrit
from scipy.stats import false_discovery_control

Numbers = NDArray[np.float64]

# Quantile of the normal distribution for intervals of 95 %.
Z = 1.959963984540054
LEVEL = 0.05
# Tables of a comparison: groups, metadata and terms.
TABLES = 3
# A group is new (or gone) with at most this part of the dialogues that its share in the other period would give.
NEARLY_NONE = 0.05
# Smallest part of a sum that changes it.
EPSILON = 1e-17


def wilson(count: ArrayLike, n: ArrayLike) -> tuple[Numbers, Numbers]:
    """Return lower and upper ends of the 95 % score intervals of shares, in [0, 1] (Wilson 1927).

    :param count: dialogues with a property, from 0 to n.
    :param n: all dialogues; the interval of 0 dialogues is [0, 1].
    """
    count, n = np.asarray(count, dtype=np.float64), np.asarray(n, dtype=np.float64)
    share = np.divide(count, n, out=np.full(np.broadcast(count, n).shape, 0.5), where=n > 0)
    middle = (n * share + Z * Z / 2) / (n + Z * Z)
    half = Z * np.sqrt(n * share * (1 - share) + Z * Z / 4) / (n + Z * Z)
    # Rounding would leave a trace of 1e-17 at the ends.
    low = np.where((count == 0) | (n == 0), 0.0, np.maximum(middle - half, 0))
    return low, np.where(count == n, 1.0, np.minimum(middle + half, 1))


def newcombe(before: ArrayLike, n_before: ArrayLike, after: ArrayLike, n_after: ArrayLike) -> tuple[Numbers, Numbers]:
    """Return lower and upper ends of the 95 % intervals of share after minus share before, in [-1, 1].

    Newcombe 1998, "Interval estimation for the difference between independent proportions", method 10.

    :param before: dialogues with a property before.
    :param n_before: all dialogues before, at least 1.
    :param after: dialogues with the property after.
    :param n_after: all dialogues after, at least 1.
    """
    first, second = np.asarray(before) / np.asarray(n_before), np.asarray(after) / np.asarray(n_after)
    (low_1, high_1), (low_2, high_2) = wilson(before, n_before), wilson(after, n_after)
    difference = second - first
    low = difference - np.sqrt((second - low_2) ** 2 + (high_1 - first) ** 2)
    high = difference + np.sqrt((high_2 - second) ** 2 + (first - low_1) ** 2)
    return low, high


def exact_p(before: ArrayLike, n_before: ArrayLike, after: ArrayLike, n_after: ArrayLike) -> Numbers:
    """Return the p-values of Fisher's exact test that two shares are equal: twice the smaller tail, at most 1.

    The parameters are those of `newcombe`. The tails are those of the hypergeometric distribution.
    """
    first, n_first, second, n_second = (
        np.asarray(count, dtype=np.float64) for count in np.broadcast_arrays(before, n_before, after, n_after)
    )
    total, marked = n_first + n_second, first + second
    chance = np.exp(
        _log_choices(marked, second) + _log_choices(total - marked, n_second - second) - _log_choices(total, n_second)
    )
    # The tail away from the mean, term by term; the other one is the rest, with the chance of these counts in both.
    up = second * total >= marked * n_second
    tail, term, at = chance.copy(), chance, second
    while (term > EPSILON * tail).any():
        rising = (marked - at) * (n_second - at) / ((at + 1) * (total - marked - n_second + at + 1))
        falling = at * (total - marked - n_second + at) / ((marked - at + 1) * (n_second - at + 1))
        term = term * np.where(up, rising, falling)
        tail, at = tail + term, np.where(term > 0, at + np.where(up, 1, -1), at)
    return np.asarray(np.clip(2 * np.minimum(tail, 1 - tail + chance), 0, 1))


def parts_p(before: ArrayLike, after: ArrayLike) -> Numbers:
    """Return the p-values that the parts of a whole have equal shares, [k].

    Shares add up to 1: where one part is new, all others have smaller shares. So a part must differ in its share of all
    dialogues, and likewise in its share of its own and those in parts that did not change; the larger p counts. To find
    these parts, the one with the clearest change is taken away until none has one. Of two parts alone, whose changes
    mirror each other, that is the one that grew. Stepwise exclusion is the way of ANCOM (Mandal et al. 2015).

    :param before: dialogues of each part before.
    :param after: dialogues of each part after.
    """
    first, second = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    all_first, all_second = np.full(first.shape, first.sum()), np.full(second.shape, second.sum())
    difference = second / all_second - first / all_first
    same = np.ones(len(first), dtype=bool)
    while True:
        n_first, n_second = (counts[same].sum() + np.where(same, 0, counts) for counts in (first, second))
        p = exact_p(first, n_first, second, n_second)
        clear = np.flatnonzero(same & (adjusted(p, tables=TABLES) <= LEVEL))
        if not len(clear):
            break
        same[clear[np.lexsort((-difference[clear], p[clear]))[0]]] = False
    likewise = difference * (second * n_first - first * n_second) > 0
    return np.where(likewise, np.maximum(p, exact_p(first, all_first, second, all_second)), 1)


def _log_choices(n: Numbers, k: Numbers) -> Numbers:
    """Return the logarithm of the number of ways to choose k of n."""
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def welch(
    n: tuple[Numbers, Numbers], mean: tuple[Numbers, Numbers], sd: tuple[Numbers, Numbers]
) -> tuple[Numbers, Numbers]:
    """Return lower and upper ends of the 95 % intervals of the second mean minus the first (Welch 1947).

    If no value varies on either side, both ends are the difference.

    :param n: number of values before and after, each at least 2.
    :param mean: means before and after.
    :param sd: standard deviations before and after, with n - 1 degrees of freedom.
    """
    squares = [spread**2 / count for spread, count in zip(sd, n, strict=True)]
    freedom = np.divide(
        (squares[0] + squares[1]) ** 2,
        squares[0] ** 2 / (n[0] - 1) + squares[1] ** 2 / (n[1] - 1),
        out=np.ones_like(squares[0]),
        where=squares[0] + squares[1] > 0,
    )
    difference, half = mean[1] - mean[0], stdtrit(freedom, 0.5 + 0.95 / 2) * np.sqrt(squares[0] + squares[1])
    return difference - half, difference + half


def rank_p(n: tuple[Numbers, Numbers], mean: tuple[Numbers, Numbers], sd: Numbers) -> Numbers:
    """Return the p-values that dialogues were dealt to both sides by chance, from their mean ranks.

    With the ranks of exactly these dialogues it is the test of Mann and Whitney (1947) with its normal limit, and
    correct for ties. Ranks do not let one very long call make a difference. Without any variation p is 1.

    :param n: number of ranks before and after.
    :param mean: mean ranks before and after.
    :param sd: standard deviation of the ranks of both sides together.
    """
    error = sd * np.sqrt(1 / n[0] + 1 / n[1])
    distance = np.divide(np.abs(mean[1] - mean[0]), error, out=np.zeros_like(error), where=error > 0)
    return np.asarray(2 * ndtr(-distance))


def adjusted(p: ArrayLike, *, tables: int = 1) -> Numbers:
    """Return p-values adjusted for their number, in [0, 1] (Benjamini and Hochberg 1995).

    Among comparisons with an adjusted p of at most 0.05, at most 5 % are expected to be chance.

    :param tables: number of tables in which something is looked for; all p-values are multiplied by it (Bonferroni).
    """
    values = np.asarray(p, dtype=np.float64)
    return np.minimum(1, tables * np.asarray(false_discovery_control(values))) if len(values) else values


def change_words(
    before: ArrayLike, n_before: ArrayLike, after: ArrayLike, n_after: ArrayLike, p: ArrayLike
) -> NDArray[np.str_]:
    """Return "grew", "shrank", "new", "gone", or "" without a clear change, for each of several groups.

    The first parameters are those of `newcombe`.

    :param p: adjusted p-values; a change is clear up to 0.05.
    """
    first, n_first, second, n_second = (np.asarray(count, dtype=float) for count in (before, n_before, after, n_after))
    grew = second / n_second > first / n_first
    words = np.where(grew, "grew", "shrank")
    words = np.where(grew & (first <= NEARLY_NONE * n_first * second / n_second), "new", words)
    words = np.where(~grew & (second <= NEARLY_NONE * n_second * first / n_first), "gone", words)
    return np.where(np.asarray(p) <= LEVEL, words, "")
