"""How like a description each dialogue is, from its turns, and how probable each description is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, logsumexp

Floats = NDArray[np.float64]

# Fitted on labelled sets by `benchmarks/facets.py --fit`, one for all collections: the likeness at which "none" is as
# probable as a single description, its growth with the logarithm of their number, and the scale of the likeness.
NONE, NONE_PER_LOG, SCALE = 0.388, 0.181, 0.173
# Weight of the collection's own share of "none" against even odds. At 1 a badly estimated share, for instance of 40
# descriptions that are near to each other, moves everything to one side.
OWN_SHARE = 0.5
LEAST_SHARE, ROUNDS = 0.02, 100
# Turns that are compared at a time.
BLOCK = 65_536


@dataclass(frozen=True, slots=True)
class Likeness:
    """Likeness of dialogues to descriptions.

    :param values: likeness, float64 [n, descriptions]; higher is closer.
    :param turns: number of the dialogue's turn that is nearest to each description, from 0, int32 [n, descriptions].
    """

    values: Floats
    turns: NDArray[np.int32]


def likeness(
    turns: NDArray[np.floating],
    starts: NDArray[np.int64],
    descriptions: NDArray[np.float32],
    *,
    done: Callable[[int], object] = lambda n: None,
) -> Likeness:
    """Compare the turns of dialogues with descriptions.

    A dialogue's cosine is the mean of its best turn's and of all its turns' mean: one turn says it, and the others are
    about it. From this the mean cosine of all turns of the collection is taken away, and the rest divided by the square
    root of their standard deviation, so that a description that is close to everything does not win everywhere.

    :param turns: vectors of length 1 of all turns, dialogue by dialogue, floats [turns, d].
    :param starts: first turn of each dialogue, and the number of turns at the end, int64 [n + 1], strictly ascending.
    :param descriptions: vectors of length 1, float32 [descriptions, d].
    :param done: called with the number of dialogues compared since the last call.
    """
    n, k = len(starts) - 1, len(descriptions)
    means, best, numbers = np.empty((n, k)), np.empty((n, k)), np.empty((n, k), dtype=np.int32)
    total, squares = np.zeros(k), np.zeros(k)
    begin = 0
    while begin < n:
        # At least one dialogue, however long.
        end = max(begin + 1, int(np.searchsorted(starts, starts[begin] + BLOCK, side="right")) - 1)
        cosines = np.asarray(turns[starts[begin] : starts[end]], dtype=np.float32) @ descriptions.T
        total += cosines.sum(0, dtype=np.float64)
        squares += np.square(cosines, dtype=np.float64).sum(0)
        edges = starts[begin : end + 1] - starts[begin]
        means[begin:end] = np.add.reduceat(cosines, edges[:-1], axis=0) / np.diff(edges)[:, None]
        for row, (first, last) in enumerate(pairwise(edges), start=begin):
            numbers[row] = cosines[first:last].argmax(0)
            best[row] = cosines[first + numbers[row], np.arange(k)]
        done(end - begin)
        begin = end
    mean = total / max(1, int(starts[-1]))
    spread = np.sqrt(np.maximum(squares / max(1, int(starts[-1])) - mean**2, 1e-4))
    return Likeness(((best + means) / 2 - mean) / np.sqrt(spread), numbers)


def probabilities(values: Floats) -> Floats:
    """Return the probability of each description and, last, of none of them; float64 [n, descriptions + 1].

    A softmax with "none" as one more choice, whose likeness is the same everywhere. The collection then says how
    frequent "none" is (expectation-maximisation of Saerens et al. 2002, half weight), and the probabilities follow.
    Rows sum to 1.

    :param values: likeness of each dialogue to each description, [n, descriptions].
    """
    none = NONE + NONE_PER_LOG * np.log(values.shape[1])
    scores = np.concatenate([values, np.full((len(values), 1), none)], axis=1) / SCALE
    even = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    odds = scores[:, -1] - logsumexp(scores[:, :-1], axis=1)
    share = 0.5
    for _ in range(ROUNDS if len(values) else 0):
        share = float(np.clip(expit(odds + logit(share)).mean(), LEAST_SHARE, 1 - LEAST_SHARE))
    own = expit(odds + OWN_SHARE * logit(share))
    rest = even[:, :-1] / even[:, :-1].sum(1, keepdims=True).clip(min=np.finfo(float).tiny)
    return np.concatenate([rest * (1 - own)[:, None], own[:, None]], axis=1)
