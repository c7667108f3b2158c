"""Is the share of a topic in the last days larger than its past makes it: weekdays, bursts and all tries counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import betabinom

Counts = NDArray[np.int64]
Figures = NDArray[np.float64]

# Chance of any false tell in a quarter of a year, and its days.
ALPHA, QUARTER = 0.05, 91
# Parts of it for topics that appear, for shares, and for metadata.
NEW, SHARES, RATES = 0.4, 0.4, 0.2
# Lengths of the last days that are tried, and days before them that count as the past.
WINDOWS, PAST = (1, 3, 7), 56
# Fewest earlier windows that a topic is compared with, and those that the dispersion of all topics weighs as much as.
LEAST, SHARED = 3, 10


@dataclass(frozen=True, slots=True)
class Growth:
    """The clearest change of the share of a topic.

    :param topic: column of the topic.
    :param p: p-value, times the number of windows, directions and topics that were tried.
    :param days: length of the window.
    :param before: share that the past expects.
    :param after: share in the window.
    """

    topic: int
    p: float
    days: int
    before: float
    after: float


def spent(days: float) -> float:
    """Return the part of `ALPHA` that a look may spend, after so many days since the last one.

    Alpha spending (Lan and DeMets 1983), linear in time: whoever looks more often spends less each time, and the chance
    of any false tell in a quarter is at most `ALPHA`, however the tests depend on each other.
    """
    return ALPHA * min(days, QUARTER) / QUARTER


def clear_growth(counts: Counts, since: Counts, topics: Sequence[int], *, level: float, season: int) -> list[Growth]:
    """Return the topics whose share in the last days is not what their past makes it, the clearest first.

    Each window is compared with those of the same length that ended on the same weekday in earlier weeks; before there
    are three of them, with all earlier windows. The count of a topic is beta-binomial: its share varies from window to
    window as much as it did in the past, but at least as by chance. Shares add up to 1, so where one topic grows, all
    others have less: the clearest change is taken away until none is left, and a topic counts as a share of those that
    did not change.

    :param counts: dialogues of each day and topic, int64 [days, k]; days without dialogues have zeros.
    :param since: first day from which the past of a topic counts, int64 [k]: it appeared, or was told, then.
    :param topics: columns that are tried.
    :param level: largest p, for all that is tried.
    :param season: days after which a pattern comes again; 1 if the rows of `counts` are weeks.
    """
    clear, changed = list[Growth](), since > 0
    left = np.isin(np.arange(len(since)), topics)
    while left.any():
        rows = [
            row for side in (left & ~changed, left & changed) for row in _growth(counts, since, side, ~changed, season)
        ]
        best = min(rows, key=lambda row: row.p)
        best = replace(best, p=min(best.p * len(topics), 1.0))
        if best.p > level:
            break
        clear.append(best)
        left[best.topic], changed[best.topic] = False, True
    return clear


def _growth(
    counts: Counts, since: Counts, tried: NDArray[np.bool_], whole: NDArray[np.bool_], season: int
) -> list[Growth]:
    """Return the clearest change of each of some topics, as shares of themselves and the whole."""
    topics = np.flatnonzero(tried)
    own, rest = counts[:, topics], counts[:, whole].sum(axis=1)
    totals = rest[:, None] + np.where(whole[topics], 0, own)
    varies = _variation(own, totals, since[topics], season)
    windows = [_window(own, totals, since[topics], varies / days, days, season) for days in WINDOWS]
    p = np.stack([row for window in windows for row in window[:2]])
    best, at = p.argmin(axis=0), np.arange(len(topics))
    before, after = (np.stack([window[place] for window in windows])[best // 2, at] for place in (2, 3))
    lengths = np.array(WINDOWS)[best // 2]
    columns = (topics, p[best, at] * len(p), lengths, before, after)
    return [Growth(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def _variation(counts: Counts, totals: Counts, since: Counts, season: int) -> Figures:
    """Return the variance of the rate of each topic from day to day, beside its week, as a part of its square, [k].

    Large topics vary by more than chance makes small ones vary. The days that are tested do not count.
    """
    k, past = counts.shape[1], len(counts) - max(WINDOWS)
    squares, expected, freedom = np.zeros(k), np.zeros(k), np.zeros(k)
    for weekday in range(season):
        days = np.arange(weekday, max(past, 0), season)
        n = np.where(days[:, None] >= since, totals[days], 0)
        x = np.where(n > 0, counts[days], 0)
        share = (x.sum(axis=0) + 0.5) / (n.sum(axis=0) + 1)
        squares += ((x - n * share) ** 2 / np.maximum(n * share * (1 - share), 1e-9)).sum(axis=0)
        expected += (n * share).sum(axis=0)
        freedom += np.maximum((n > 0).sum(axis=0) - 1, 0)
    of_all = max(0.0, float((squares - freedom).sum() / max(expected.sum(), 1e-9)))
    own = (squares - freedom) / np.maximum(expected, 1e-9)
    return np.asarray(np.maximum((own * freedom + of_all * SHARED) / (freedom + SHARED), 0))


def _window(
    counts: Counts, totals: Counts, since: Counts, varies: Figures, days: int, season: int
) -> tuple[Figures, Figures, Figures, Figures]:
    """Return p that a topic grew and that it shrank, and its expected and its own share, for one window."""
    own, n = (each[-days:].sum(axis=0).astype(np.float64) for each in (counts, totals))
    k = counts.shape[1]
    more, less, expected, ready = np.ones(k), np.ones(k), np.zeros(k), np.zeros(k, dtype=bool)
    # Later ones only where there are too few weeks.
    for stride in (max(season, days), days):
        x, sizes = (_earlier(each, days, stride) for each in (counts, totals))
        ends = len(counts) - stride * np.arange(1, len(x) + 1)
        usable = (ends[:, None] - days >= since) & (sizes > 0)
        now = (usable.sum(axis=0) >= max(LEAST, season // stride)) & ~ready
        tails = _tails(own, n, np.where(usable, x, 0), np.where(usable, sizes, 0), varies)
        more, less, expected = (np.where(now, new, old) for new, old in zip(tails, (more, less, expected), strict=True))
        ready |= now
    return more, less, expected, own / np.maximum(n, 1)


def _earlier(counts: Counts, days: int, stride: int) -> Counts:
    """Return the sums of earlier windows, which end `stride` days before each other, the latest first, [windows, k]."""
    sums = np.concatenate([np.zeros((1, counts.shape[1]), dtype=np.int64), counts.cumsum(axis=0)])
    ends = np.arange(len(counts) - stride, max(days - 1, len(counts) - days - PAST), -stride)
    return sums[ends] - sums[ends - days]


def _tails(own: Figures, n: Figures, x: Counts, sizes: Counts, varies: Figures) -> tuple[Figures, Figures, Figures]:
    """Return the chances of as many dialogues or more, and as many or fewer, and the expected share, of each topic.

    :param varies: variance of the rate from window to window, as a part of its square.
    """
    total, windows = sizes.sum(axis=0), (sizes > 0).sum(axis=0)
    share = (x.sum(axis=0) + 0.5) / (total + 1)
    variance = np.maximum(sizes * share * (1 - share), 1e-9)
    squares = ((x - sizes * share) ** 2 / variance).sum(axis=0)
    freedom = np.maximum(windows - 1, 0)
    usual = 1 + varies * n * share
    spread = np.maximum((squares + SHARED * usual) / (freedom + SHARED), usual)
    # The past has its own error: its share is known from `total` dialogues only.
    rho = (spread * (1 + n / np.maximum(total, 1)) - 1) / np.maximum(n - 1, 1)
    weight = 1 / np.clip(rho, 1e-9, 0.99) - 1
    a, b = share * weight, (1 - share) * weight
    return betabinom.sf(own - 1, n, a, b), betabinom.cdf(own, n, a, b), share
