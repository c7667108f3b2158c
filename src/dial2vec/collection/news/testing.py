"""Is the share of a topic in the last days larger than its past makes it: weekdays, bursts and all tries counted."""

from __future__ import annotations

from dataclasses import dataclass

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
    """The clearest change of the share of each topic.

    :param p: p-value, times the number of windows and directions that were tried, float64 [k].
    :param days: length of the window, int64 [k].
    :param before: share that the past expects, float64 [k].
    :param after: share in the window, float64 [k].
    :param count: dialogues in the window, int64 [k].
    """

    p: Figures
    days: Counts
    before: Figures
    after: Figures
    count: Counts


def spent(days: float) -> float:
    """Return the part of `ALPHA` that a look may spend, after so many days since the last one.

    Alpha spending (Lan and DeMets 1983), linear in time: whoever looks more often spends less each time, and the chance
    of any false tell in a quarter is at most `ALPHA`, however the tests depend on each other.
    """
    return ALPHA * min(days, QUARTER) / QUARTER


def growth(counts: Counts, since: Counts, *, season: int = 7) -> Growth:
    """Compare the last days with the days before, for each topic.

    Each window is compared with those of the same length that ended on the same weekday in earlier weeks; before there
    are three of them, with all earlier windows. The count of a topic is beta-binomial: its share varies from window to
    window as much as it did in the past, but at least as by chance.

    :param counts: dialogues of each day and topic, int64 [days, k]; days without dialogues have zeros.
    :param since: first day from which the past of a topic counts, int64 [k]: it appeared, or was told, then.
    :param season: days after which a pattern comes again; 1 if the rows of `counts` are weeks.
    """
    k, tried = counts.shape[1], [_window(counts, since, days, season) for days in WINDOWS]
    p = np.stack([row for window in tried for row in window[:2]])
    best = p.argmin(axis=0)
    window, topics = best // 2, np.arange(k)
    before, after, count = (np.stack([each[at] for each in tried])[window, topics] for at in (2, 3, 4))
    smallest = np.minimum(p[best, topics] * len(p), 1)
    return Growth(smallest, np.array(WINDOWS)[window], before, after, count.astype(np.int64))


def _window(
    counts: Counts, since: Counts, days: int, season: int
) -> tuple[Figures, Figures, Figures, Figures, Figures]:
    """Return p that a topic grew and that it shrank, its expected and its own share, and its count, for one window."""
    own = counts[-days:].sum(axis=0).astype(np.float64)
    n, k = own.sum(), counts.shape[1]
    more, less, expected, ready = np.ones(k), np.ones(k), np.zeros(k), np.zeros(k, dtype=bool)
    # Later ones only where there are too few weeks.
    for stride in (max(season, days), days):
        x, usable = _earlier(counts, since, days, stride)
        now = (usable.sum(axis=0) >= max(LEAST, season // stride)) & ~ready
        tails = _tails(own, n, x, usable)
        more, less, expected = (np.where(now, new, old) for new, old in zip(tails, (more, less, expected), strict=True))
        ready |= now
    return more, less, expected, own / max(n, 1), own


def _earlier(counts: Counts, since: Counts, days: int, stride: int) -> tuple[Counts, NDArray[np.bool_]]:
    """Return the counts of earlier windows [m, k], the latest first, and whether a topic can be compared with each."""
    sums = np.concatenate([np.zeros((1, counts.shape[1]), dtype=np.int64), counts.cumsum(axis=0)])
    ends = np.arange(len(counts) - max(days, stride), max(days - 1, len(counts) - days - PAST), -stride)
    x = sums[ends] - sums[ends - days]
    return x, (ends[:, None] - days >= since) & (x.sum(axis=1) > 0)[:, None]


def _tails(own: Figures, n: float, x: Counts, usable: NDArray[np.bool_]) -> tuple[Figures, Figures, Figures]:
    """Return the chances of as many dialogues or more, and as many or fewer, and the expected share, of each topic."""
    sizes = np.where(usable, x.sum(axis=1)[:, None], 0)
    total, windows = sizes.sum(axis=0), usable.sum(axis=0)
    share = (np.where(usable, x, 0).sum(axis=0) + 0.5) / (total + 1)
    variance = np.maximum(sizes * share * (1 - share), 1e-9)
    squares = np.where(usable, (x - sizes * share) ** 2 / variance, 0).sum(axis=0)
    freedom = np.maximum(windows - 1, 0)
    # The rate of a topic varies by a part of itself, so that counts of large topics vary by more than chance.
    expected = (sizes * share).sum(axis=0)
    of_all = max(0.0, float((squares - freedom).sum() / max(expected.sum(), 1e-9)))
    usual = 1 + of_all * expected / np.maximum(windows, 1)
    spread = np.maximum((squares + SHARED * usual) / (freedom + SHARED), 1)
    # The past has its own error: its share is known from `total` dialogues only.
    rho = (spread * (1 + n / np.maximum(total, 1)) - 1) / max(n - 1, 1)
    weight = 1 / np.clip(rho, 1e-9, 0.99) - 1
    a, b = share * weight, (1 - share) * weight
    return betabinom.sf(own - 1, n, a, b), betabinom.cdf(own, n, a, b), share
