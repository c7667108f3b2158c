"""How like a description each dialogue is, from its turns, and how probable each description is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, logsumexp, softmax

from dial2vec.encoder.nearest import unit_rows

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Level:
    """What is needed for a description to be more probable than "none".

    :param none: score at which "none" is as probable as a single description.
    :param per_log: growth of this score with the logarithm of the number of descriptions.
    :param cosine: weight of the cosine of the best turn, against 1 for the likeness within the collection.
    :param scale: difference of scores that multiplies the odds by e; positive.
    """

    none: float
    per_log: float
    cosine: float
    scale: float


# Fitted on labelled sentences and dialogues (docs/lenses.md); the same for every collection.
FITTED = Level(none=1.215, per_log=0.101, cosine=1.85, scale=0.269)
# Weight of the collection's own share of "none" against even odds. At 1 a badly estimated share, for instance of 40
# descriptions that are near to each other, moves everything to one side.
OWN_SHARE = 0.5
LEAST_SHARE, ROUNDS = 0.02, 100
# Weight that many examples together have against the description, and the number of examples that have half of it.
EXAMPLES, HALF = 2.0, 3.0
# Difference of cosines that makes a turn of an example e times as heavy as another.
SHARPNESS = 0.1
# Turns that are compared at a time.
BLOCK = 65_536


@dataclass(frozen=True, slots=True)
class Likeness:
    """Likeness of dialogues to descriptions.

    :param values: likeness as compared with the whole collection, float64 [n, descriptions]; higher is closer.
    :param cosines: cosine of the nearest turn, float64 [n, descriptions], in [-1, 1].
    :param turns: number of the dialogue's nearest turn, from 0, int32 [n, descriptions].
    """

    values: Floats
    cosines: Floats
    turns: NDArray[np.int32]


def likeness(
    vectors: Callable[[slice], NDArray[np.float32]],
    starts: NDArray[np.int64],
    descriptions: NDArray[np.float32],
) -> Likeness:
    """Compare the turns of dialogues with descriptions.

    A dialogue's closeness is the mean of its best turn's cosine and of all its turns' mean: one turn says it, and the
    others are about it. From this the mean cosine of all turns of the collection is taken away, and the rest divided by
    the square root of their standard deviation, so that a description that is close to everything does not win
    everywhere.

    :param vectors: function that returns vectors of length 1 of consecutive turns, counted over all dialogues.
    :param starts: first turn of each dialogue, and the number of turns at the end, int64 [n + 1], strictly ascending.
    :param descriptions: vectors of length 1, float32 [descriptions, d].
    """
    n, k = len(starts) - 1, len(descriptions)
    means, best, numbers = np.empty((n, k)), np.empty((n, k)), np.empty((n, k), dtype=np.int32)
    total, squares = np.zeros(k), np.zeros(k)
    begin = 0
    while begin < n:
        # At least one dialogue, however long.
        end = max(begin + 1, int(np.searchsorted(starts, starts[begin] + BLOCK, side="right")) - 1)
        cosines = np.asarray(vectors(slice(starts[begin], starts[end])), dtype=np.float32) @ descriptions.T
        total += cosines.sum(0, dtype=np.float64)
        squares += np.square(cosines, dtype=np.float64).sum(0)
        firsts, sizes = starts[begin:end] - starts[begin], np.diff(starts[begin : end + 1])
        means[begin:end] = np.add.reduceat(cosines, firsts, axis=0) / sizes[:, None]
        highest = np.maximum.reduceat(cosines, firsts, axis=0)
        places = np.where(cosines == np.repeat(highest, sizes, axis=0), np.arange(len(cosines))[:, None], len(cosines))
        numbers[begin:end] = np.minimum.reduceat(places, firsts, axis=0) - firsts[:, None]
        best[begin:end] = highest
        begin = end
    mean = total / max(1, int(starts[-1]))
    spread = np.sqrt(np.maximum(squares / max(1, int(starts[-1])) - mean**2, 1e-4))
    return Likeness(((best + means) / 2 - mean) / np.sqrt(spread), best, numbers)


def moved_by_examples(
    units: NDArray[np.float32],
    vectors: Callable[[slice], NDArray[np.float32]],
    starts: NDArray[np.int64],
    examples: Sequence[Sequence[int]],
) -> NDArray[np.float32]:
    """Return descriptions that examples have moved, vectors of length 1, float32 [descriptions, d].

    The mean of the examples is added, with a weight that grows with their number. Of an example, the turns near to the
    description weigh most.

    :param units: vectors of the descriptions, of length 1, float32 [descriptions, d].
    :param vectors: function that returns vectors of length 1 of consecutive turns, counted over all dialogues.
    :param starts: first turn of each dialogue, and the number of turns at the end, int64 [n + 1].
    :param examples: rows of the examples of each description.
    """
    moved = units.copy()
    for place, rows in enumerate(examples):
        for row in rows:
            turns = np.asarray(vectors(slice(starts[row], starts[row + 1])), dtype=np.float32)
            spoken = softmax(turns @ units[place] / SHARPNESS) @ turns
            moved[place] += EXAMPLES / (len(rows) + HALF) * spoken
    return unit_rows(moved)


def probabilities(alike: Likeness, level: Level = FITTED) -> Floats:
    """Return the probability of each description and, last, of none of them; float64 [n, descriptions + 1].

    A softmax with "none" as one more choice, whose score is the same everywhere. The collection then says how frequent
    "none" is (expectation-maximisation of Saerens et al. 2002, half weight), and the probabilities follow. Rows sum to
    1.

    :param alike: likeness of each dialogue to each description.
    """
    scores = scores_of(alike, level)
    even = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    odds = scores[:, -1] - logsumexp(scores[:, :-1], axis=1)
    share = 0.5
    for _ in range(ROUNDS if len(scores) else 0):
        share = float(np.clip(expit(odds + logit(share)).mean(), LEAST_SHARE, 1 - LEAST_SHARE))
    own = expit(odds + OWN_SHARE * logit(share))
    rest = even[:, :-1] / even[:, :-1].sum(1, keepdims=True).clip(min=np.finfo(float).tiny)
    return np.concatenate([rest * (1 - own)[:, None], own[:, None]], axis=1)


def scores_of(alike: Likeness, level: Level) -> Floats:
    """Return the logarithm of each weight, up to one number for all, at even odds; "none" last, [n, descriptions + 1].

    :param alike: likeness of each dialogue to each description.
    """
    n, k = alike.values.shape
    none = np.full((n, 1), level.none + level.per_log * np.log(k))
    return np.concatenate([alike.values + level.cosine * alike.cosines, none], axis=1) / level.scale
