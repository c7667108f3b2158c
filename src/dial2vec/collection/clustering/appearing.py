"""Groups that appear: places where new dialogues are close to each other, and the past has next to none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from dial2vec.collection.clustering.partition import Groups, Vectors, assign
from dial2vec.collection.collection_folder import sampled
from dial2vec.encoder.nearest import unit_rows

Added = list[tuple[Vectors, float]]
# Numbers of new dialogues in the balls that are tried.
SIZES = (5, 7, 10, 15, 20, 30, 50, 80)
# Most dialogues that are compared, and new dialogues that are compared with them at a time.
PAST, NEW, BLOCK = 10_000, 3_000, 250
# A ball is new if its share of the past is at most this part of its share of the new dialogues.
NEARLY_NONE = 0.1
# Days that are tried as new, 0 for all since the last clustering from scratch; and the level of a clustering by hand:
# 5 % of all nights of a quarter, about, for all windows together.
WINDOWS, LEVEL = (1, 3, 7, 0), 3e-4
# Fewest dialogues of a cluster that appears, the level at which a group may become one, and standard deviations of the
# cosines to its centre within which a dialogue joins it.
LEAST, EMERGING, RIM = 10, 0.05, 2.5


@dataclass(frozen=True, slots=True)
class Appeared:
    """A group of new dialogues that the past does not explain.

    :param rows: rows of its dialogues, ascending.
    :param p: chance of such a group at any place, if the new dialogues were like the past, in [0, 1].
    """

    rows: NDArray[np.int64]
    p: float

    def overlaps(self, others: list[Appeared]) -> bool:
        """Return whether it shares a dialogue with one of some groups."""
        return any(np.isin(self.rows, other.rows).any() for other in others)

    def centre(self, units: Vectors) -> tuple[Vectors, NDArray[np.float32]]:
        """Return the centre of its dialogues [d], and the cosine of each of them to the centre of the others.

        The cosines of random directions are about 0.
        """
        own = np.asarray(units[self.rows])
        total = own.sum(axis=0, keepdims=True)
        return unit_rows(total)[0], np.asarray((own * unit_rows(total - own)).sum(axis=1))


def appearing(
    units: Vectors, days: NDArray[np.int64], centres: Vectors, known: Groups, *, close: float, level: float, seed: int
) -> tuple[Added, dict[int, float], list[Appeared]]:
    """Return the clusters that appear since the clustering from scratch, and the groups that may become one.

    Of a cluster it is the centre [d], and the cosine to it below which no dialogue joins the cluster. A group near a
    cluster that has appeared before widens it: between the two stand the new limits of such clusters. Tried are the new
    dialogues of the last day, the last 3 and 7 days, and all. Those of a cluster that has appeared since the clustering
    from scratch count as the past.

    :param units: vectors of length 1, float32 [n, d].
    :param days: day of each dialogue, int64 [n].
    :param centres: centres of the clusters, float32 [k, d].
    :param known: clusters of the first dialogues, which were clustered from scratch, int32 [at most n].
    :param close: least closeness, so that what is scattered is no cluster.
    :param level: largest p of a cluster, for all windows together; groups with up to 0.05 may become one.
    """
    settled, young = len(known), np.bincount(known, minlength=len(centres)) == 0
    added, sure, perhaps = Added(), list[Appeared](), list[Appeared]()
    wider = dict[int, float]()
    for window in WINDOWS:
        nearest = assign(np.asarray(units[settled:]), np.stack([*centres, *(centre for centre, _ in added)]))
        fresh = np.zeros(len(units), dtype=bool)
        fresh[settled:] = ~np.append(young, np.ones(len(added), dtype=bool))[nearest.groups]
        if window:
            fresh &= days > days.max() - window
        new, past = np.flatnonzero(fresh), np.flatnonzero(~fresh)
        for group in appeared(units, past, new, level=EMERGING / len(WINDOWS), seed=seed):
            centre, cosines = group.centre(units)
            closeness, least = float(cosines.mean()), float(cosines.mean() - RIM * cosines.std())
            joins = units[new] @ centre > np.maximum(nearest.similarity[new - settled], least)
            # What is not close together is no topic, and another part of what has appeared is no other topic.
            near = np.where(young, centres @ centre, -1)
            if closeness < close or any(centre @ other > close for other, _ in added):
                continue
            if near.max() > close:
                place = int(near.argmax())
                wider[place] = min(wider.get(place, 1.0), float((units[group.rows] @ centres[place]).min()))
            elif group.p <= level / len(WINDOWS) and joins.sum() >= LEAST:
                added.append((centre, least))
                sure.append(group)
            elif not group.overlaps(perhaps):
                perhaps.append(group)
    return added, wider, [group for group in perhaps if not group.overlaps(sure)]


def own_topics(units: Vectors, groups: Groups, centres: Vectors, limits: NDArray[np.float64]) -> Added:
    """Return those groups of dialogues that are none of some clusters, as `appearing` does where there is a past.

    :param groups: group of each dialogue, int32 [n].
    :param limits: cosine to its centre below which a dialogue is far from a cluster, float64 [k].
    """
    added = Added()
    for number in np.unique(groups):
        group = Appeared(np.flatnonzero(groups == number), 0.0)
        centre, cosines = group.centre(units)
        # A group of a known topic is nearer to the topic's centre than its own dialogues are to theirs.
        if len(group.rows) >= LEAST and cosines.mean() > max(limits.min(), (centres @ centre).max()):
            added.append((centre, float(cosines.mean() - RIM * cosines.std())))
    return added


def appeared(
    units: Vectors, past: NDArray[np.int64], new: NDArray[np.int64], *, level: float, seed: int
) -> list[Appeared]:
    """Return the groups of new dialogues that the past does not explain, the least probable first.

    A scan statistic (Kulldorff 1997): balls around each new dialogue reach to its 5th, 7th, ... 80th nearest new one.
    If new dialogues were drawn as the past was, the new ones among all in a ball would be binomial. The smallest p of
    a ball counts, times the number of balls tried. Of balls that share dialogues the least probable is a group.

    :param units: vectors of length 1, float32 [n, d].
    :param past: rows of the past; of more than 10,000 a sample.
    :param new: rows of the new dialogues; of more than 3,000 a sample.
    :param level: largest p of a group.
    """
    rows, known = new[sampled(len(new), NEW, seed)], past[sampled(len(past), PAST, seed)]
    sizes = np.array([size for size in SIZES if size <= len(rows)])
    if not len(sizes) or not len(known):
        return []
    nearest, log_p = _balls(np.asarray(units[known]), np.asarray(units[rows]), sizes)
    best = log_p.argmin(axis=1)
    p = np.exp(np.minimum(log_p[np.arange(len(rows)), best] + np.log(log_p.size), 0))
    taken, groups = np.zeros(len(rows), dtype=bool), list[Appeared]()
    for middle in np.argsort(p, kind="stable")[: int((p <= level).sum())].tolist():
        ball = nearest[middle, : sizes[best[middle]]]
        if not taken[ball].any():
            taken[ball] = True
            groups.append(Appeared(np.sort(rows[ball]), float(p[middle])))
    return groups


def _balls(past: Vectors, new: Vectors, sizes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the nearest new dialogues of each new one [m, largest size], and the log p of its balls [m, sizes]."""
    n, m = len(past), len(new)
    nearest, log_p = np.empty((m, sizes[-1]), dtype=np.int64), np.zeros((m, len(sizes)))
    for first in range(0, m, BLOCK):
        own = slice(first, min(first + BLOCK, m))
        cosines, with_past = new[own] @ new.T, new[own] @ past.T
        nearest[own] = _largest(cosines, int(sizes[-1]))
        edges = np.take_along_axis(cosines, nearest[own][:, sizes - 1], axis=1)
        # Few of the past are in the largest ball, and only these can be in the others.
        row, column = np.nonzero(with_past >= edges[:, -1:])
        close = with_past[row, column]
        inside = [np.bincount(row[close >= edges[row, at]], minlength=len(edges)) for at in range(len(sizes))]
        counts = np.stack(inside, axis=1)
        chance = binom.logsf(sizes - 1, sizes + counts, m / (m + n))
        log_p[own] = np.where(counts / n <= NEARLY_NONE * sizes / m, chance, 0)
    return nearest, log_p


def _largest(cosines: Vectors, most: int) -> NDArray[np.int64]:
    """Return the places of the largest cosines of each row, the largest first, int64 [rows, most]."""
    some = np.argpartition(-cosines, most - 1, axis=1)[:, :most]
    order = np.argsort(-np.take_along_axis(cosines, some, axis=1), axis=1, kind="stable")
    return np.take_along_axis(some, order, axis=1)
