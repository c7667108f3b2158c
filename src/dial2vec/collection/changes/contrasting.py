"""Metadata of two sets of dialogues side by side: shares of values, and means of numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from dial2vec.collection.changes.evidence import exact_p, newcombe, rank_p, welch
from dial2vec.collection.changes.facts import Cells, Figures, KnownFacts, Values, mean_and_sd, sums_of

# A value that fewer dialogues of both sides have is not tried, nor a mean of fewer values on one side.
LEAST_DIALOGUES, LEAST_VALUES = 5, 10


class Compared(NamedTuple):
    """A share, or a mean, on two sides.

    :param n_before: dialogues that are compared, before.
    :param n_after: dialogues that are compared, after.
    :param before: share in [0, 1], or mean, before.
    :param after: share or mean after.
    :param low: lower end of the 95 % interval of `after` minus `before`.
    :param high: upper end.
    :param p: p-value, not adjusted.
    """

    n_before: int
    n_after: int
    before: float
    after: float
    low: float
    high: float
    p: float

    @classmethod
    def of_arrays(cls, *columns: NDArray[Any]) -> list[Compared]:
        """Return one for each place of the seven arrays."""
        n_before, n_after, *figures = columns
        sizes = n_before.astype(np.int64), n_after.astype(np.int64)
        return [cls(*row) for row in zip(*(column.tolist() for column in (*sizes, *figures)), strict=True)]


class Contrast(NamedTuple):
    """Share of one value, or mean of one number, on two sides.

    :param pair: number of the pair of sides.
    :param key: key of the metadata.
    :param value: value whose share is compared; None for a mean.
    """

    pair: int
    key: str
    value: str | None
    compared: Compared


def contrasts(facts: KnownFacts, cells: Cells, before: NDArray[np.bool_], after: NDArray[np.bool_]) -> list[Contrast]:
    """Return all tried contrasts of the facts, for each pair of sides; rare values and short lists are not tried.

    Shares are tested by Fisher's exact test, numbers by their ranks; intervals of means are Welch's.

    :param cells: cell of each dialogue from 0; -1 leaves a dialogue out.
    :param before: cells of the first side of each pair, [pairs, cells].
    :param after: cells of the second side, [pairs, cells].
    """
    tried: list[Contrast] = []
    sides = before.astype(np.int64), after.astype(np.int64)
    for values in facts.values:
        tried += _of_values(values, cells, sides)
    for key, numbers in facts.numbers.items():
        tried += _of_numbers(key, numbers, cells, sides)
    return tried


def showing(facts: KnownFacts, contrast: Contrast, n: int) -> NDArray[np.bool_]:
    """Return which of n dialogues have the value of a contrast, or a number beyond the middle of its means, [n]."""
    key, value, (_, _, before, after, *_) = contrast.key, contrast.value, contrast.compared
    if value is None:
        numbers, middle = facts.numbers[key], (before + after) / 2
        return numbers > middle if after > before else numbers < middle
    values = next(values for values in facts.values if values.key == key)
    has = np.zeros(n, dtype=bool)
    has[values.rows[values.codes == values.names.index(value)]] = True
    return has


def _of_values(values: Values, cells: Cells, sides: tuple[Cells, Cells]) -> list[Contrast]:
    """Return the contrasts of the shares of each value of a key."""
    counts, totals = values.counts(cells, sides[0].shape[1])
    # Pairs x values.
    first, second = (side @ counts for side in sides)
    n_first, n_second = ((side @ totals)[:, None] + 0 * first for side in sides)
    tried = (first + second >= LEAST_DIALOGUES) & (n_first > 0) & (n_second > 0)
    # A value that all have on both sides says nothing.
    tried &= first + second < n_first + n_second
    pairs, codes = np.nonzero(tried)
    four = first[tried], n_first[tried], second[tried], n_second[tried]
    names = [values.names[code] for code in codes]
    shares = four[0] / four[1], four[2] / four[3]
    compared = Compared.of_arrays(four[1], four[3], *shares, *newcombe(*four), exact_p(*four))
    rows = zip(pairs.tolist(), names, compared, strict=True)
    return [Contrast(pair, values.key, name, figures) for pair, name, figures in rows]


def _of_numbers(key: str, numbers: Figures, cells: Cells, sides: tuple[Cells, Cells]) -> list[Contrast]:
    """Return the contrasts of the means of a key."""
    ranks = np.full(len(numbers), np.nan)
    kept = np.isfinite(numbers) & (cells >= 0)
    ranks[kept] = rankdata(numbers[kept])
    sums, middle = sums_of(numbers, cells, sides[0].shape[1])
    of_ranks, middle_rank = sums_of(ranks, cells, sides[0].shape[1])
    n_first, n_second = (side @ sums[0] for side in sides)
    pairs = np.flatnonzero((n_first >= LEAST_VALUES) & (n_second >= LEAST_VALUES))
    n = n_first[pairs], n_second[pairs]
    (mean_1, sd_1), (mean_2, sd_2) = (mean_and_sd(sums @ side[pairs].T, middle) for side in sides)
    rank_1, rank_2 = (mean_and_sd(of_ranks @ side[pairs].T, middle_rank)[0] for side in sides)
    spread = mean_and_sd(of_ranks @ (sides[0] + sides[1])[pairs].T, middle_rank)[1]
    means = mean_1, mean_2
    # If ranks and means disagree, outliers moved the mean.
    p = np.where((rank_2 - rank_1) * (mean_2 - mean_1) > 0, rank_p(n, (rank_1, rank_2), spread), 1)
    compared = Compared.of_arrays(*n, *means, *welch(n, means, (sd_1, sd_2)), p)
    return [Contrast(pair, key, None, figures) for pair, figures in zip(pairs.tolist(), compared, strict=True)]
