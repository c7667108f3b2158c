"""Groups that appear: places where new dialogues are close to each other, and the past has next to none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components
from scipy.stats import binom

from dial2vec.collection.clustering.partition import Vectors
from dial2vec.collection.collection_folder import sampled

# Numbers of new dialogues in the balls that are tried.
SIZES = (5, 7, 10, 15, 20, 30, 50, 80)
# Most dialogues that are compared, and new dialogues that are compared with them at a time.
PAST, NEW, BLOCK = 20_000, 4_000, 250
# A ball is new if its share of the past is at most this part of its share of the new dialogues.
NEARLY_NONE = 0.1
# Days that are tried as new, 0 for all since the last clustering from scratch; and the level of a clustering by hand:
# 5 % of all nights of a quarter, about, for all windows together.
WINDOWS, LEVEL = (1, 3, 7, 0), 3e-4


@dataclass(frozen=True, slots=True)
class Appeared:
    """A group of new dialogues.

    :param rows: rows of its dialogues, ascending.
    :param p: chance of such a group at any place, if the new dialogues were like the past, in [0, 1].
    """

    rows: NDArray[np.int64]
    p: float


def appeared(
    units: Vectors, past: NDArray[np.int64], new: NDArray[np.int64], *, level: float, seed: int
) -> list[Appeared]:
    """Return the groups of new dialogues that the past does not explain, the least probable first.

    A scan statistic (Kulldorff 1997): balls around each new dialogue reach to its 5th, 7th, ... 80th nearest new one.
    If new dialogues were drawn as the past was, the new ones among all in a ball would be binomial. The smallest p of
    a ball counts, times the number of balls tried. Balls with p below the level that share dialogues are one group.

    :param units: vectors of length 1, float32 [n, d].
    :param past: rows of the past; of more than 20,000 a sample.
    :param new: rows of the new dialogues; of more than 4,000 a sample.
    :param level: largest p of a group.
    """
    rows, known = new[sampled(len(new), NEW, seed)], past[sampled(len(past), PAST, seed)]
    sizes = np.array([size for size in SIZES if size <= len(rows)])
    if not len(sizes) or not len(known):
        return []
    nearest, log_p = _balls(np.asarray(units[known]), np.asarray(units[rows]), sizes)
    best, places = log_p.argmin(axis=1), np.arange(len(rows))
    p = np.exp(np.minimum(log_p[places, best] + np.log(log_p.size), 0))
    centres = np.flatnonzero(p <= level)
    inside = np.arange(nearest.shape[1]) < sizes[best[centres], None]
    ball, at = np.nonzero(inside)
    members = csr_matrix((np.ones(len(ball)), (ball, nearest[centres][ball, at])), (len(centres), len(rows)))
    n_groups, of_ball = connected_components(members @ members.T, directed=False)
    groups = [
        Appeared(rows[np.unique(members[of_ball == group].indices)], float(p[centres[of_ball == group]].min()))
        for group in range(n_groups if len(centres) else 0)
    ]
    return sorted(groups, key=lambda group: (group.p, group.rows[0]))


def _balls(past: Vectors, new: Vectors, sizes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the nearest new dialogues of each new one [m, largest size], and the log p of its balls [m, sizes]."""
    n, m = len(past), len(new)
    nearest, log_p = np.empty((m, sizes[-1]), dtype=np.int64), np.zeros((m, len(sizes)))
    for first in range(0, m, BLOCK):
        own = slice(first, min(first + BLOCK, m))
        cosines, with_past = new[own] @ new.T, new[own] @ past.T
        nearest[own] = np.argsort(-cosines, axis=1, kind="stable")[:, : sizes[-1]]
        edges = np.take_along_axis(cosines, nearest[own][:, sizes - 1], axis=1)
        counts = np.stack([(with_past >= edges[:, at, None]).sum(axis=1) for at in range(len(sizes))], axis=1)
        chance = binom.logsf(sizes - 1, sizes + counts, m / (m + n))
        log_p[own] = np.where(counts / n <= NEARLY_NONE * sizes / m, chance, 0)
    return nearest, log_p
