"""Cutting dialogues at the turns with which their topic changes; how readily is learnt from joined dialogues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection.clustering.partition import Groups, Vectors, largest_first
from dial2vec.encoder.nearest import unit_rows

Numbers = NDArray[np.int64]

# Dimensions of the topic space, and share of the mean variance that is mixed into each direction's own.
DIMENSIONS, SHRINK = 32, 0.4
# A turn of this many words counts whole, a shorter one less: "yes, please" says little about the topic.
WHOLE, LEAST_WEIGHT = 6, 0.1
# Shortest and longest segment, in turns.
SHORTEST, LONGEST = 2, 400
# Penalties that are tried, and the one that is taken if there are too few dialogues to try them.
PENALTIES, DEFAULT = (0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.3, 2.6, 3.0), 1.8
# Parts of the sample, each of which is cut in a space that was fitted to the others.
FOLDS = 5
# Joined dialogues for the choice of the penalty, and the largest number of pieces of each.
JOINED, MOST_PIECES = 400, 4
# Pieces have at least this many turns; greetings at both ends of a dialogue of this many turns are left out.
SHORTEST_PIECE, LONG = 4, 10

# A group holds courtesies if this share of its segments are last, or are first, among several of their dialogue, and if
# its segments have at most this share of the mean number of words.
AT_AN_END, FEW_WORDS = 0.9, 0.4


@dataclass(frozen=True, slots=True)
class TopicSpace:
    """Directions in which turns of one dialogue are alike, and turns of different dialogues differ.

    :param mean: mean of the turns' vectors, [d].
    :param directions: map from a vector to the space, [d, k].
    """

    mean: Vectors
    directions: Vectors

    def project(self, turns: Vectors) -> Vectors:
        """Return turns as vectors of length 1 in the space, float32 [n, k], from float32 [n, d]."""
        return unit_rows(np.asarray((turns - self.mean) @ self.directions, dtype=np.float32))


def fit_space(turns: Vectors, starts: Numbers) -> TopicSpace:
    """Find the directions that different turns of the same dialogue share, without labels.

    They are those of a linear discriminant analysis (Fisher 1936) whose classes are the dialogues. The covariance of
    two different turns of a dialogue stands for that between classes, so what single turns say at random adds nothing.

    :param turns: vectors of length 1, float32 [n, d], dialogue by dialogue.
    :param starts: first turn of each dialogue, then n, int64 [dialogues + 1].
    """
    from scipy.linalg import eigh

    mean = turns.mean(axis=0)
    centred = turns - mean
    sizes = np.diff(starts)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    sums = np.zeros((len(sizes), turns.shape[1]), dtype=np.float32)
    np.add.at(sums, owner, centred)
    # Each dialogue counts once, however many pairs of turns it has.
    weights = np.where(sizes > 1, 1 / np.maximum(sizes * (sizes - 1.0), 1), 0).astype(np.float32)
    between = (sums * weights[:, None]).T @ sums - (centred * weights[owner][:, None]).T @ centred
    between /= max(1, (sizes > 1).sum())
    total = centred.T @ centred / len(turns)
    level = float(np.trace(total)) / len(total)
    if level < 1e-9:
        return TopicSpace(np.zeros_like(mean), np.eye(len(mean), dtype=np.float32))
    values, directions = eigh(
        between.astype(np.float64), ((1 - SHRINK) * total + SHRINK * level * np.eye(len(total))).astype(np.float64)
    )
    best = np.argsort(-values)[:DIMENSIONS]
    best = best[values[best] > 0]
    if not len(best):
        return TopicSpace(mean, np.eye(len(mean), dtype=np.float32))
    return TopicSpace(mean, (directions[:, best] * np.sqrt(values[best])).astype(np.float32))


def weights_of(words: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how much turns with these numbers of words count, in (0, 1], [n]."""
    return np.clip(words / WHOLE, LEAST_WEIGHT, 1.0)


def cut(turns: Vectors, weights: NDArray[np.float64], penalty: float) -> list[int]:
    """Return the turns at which segments begin, except the first, ascending.

    The segments maximise the sum over turns of the likeness to their segment's mean, less the penalty for each cut; the
    optimum is exact (dynamic programming, as in Utiyama and Isahara 2001).

    :param turns: vectors of length 1, float32 [n, k].
    :param weights: result of `weights_of` for the turns, [n].
    :param penalty: gain that a cut needs, in turns that are perfectly like their segment.
    """
    n = len(turns)
    sums = np.zeros((n + 1, turns.shape[1]))
    np.cumsum(turns * weights[:, None], axis=0, out=sums[1:], dtype=np.float64)
    masses = np.concatenate([[0], np.cumsum(weights)])
    best, origin = np.full(n + 1, -np.inf), np.zeros(n + 1, dtype=np.int64)
    best[0] = 0
    for end in range(1, n + 1):
        begins = np.arange(max(0, end - LONGEST), max(1, end - SHORTEST + 1))
        insides = ((sums[end] - sums[begins]) ** 2).sum(axis=1) / (masses[end] - masses[begins])
        values = best[begins] + insides - penalty * (begins > 0)
        place = int(values.argmax())
        best[end], origin[end] = values[place], begins[place]
        if end < SHORTEST and end < n:
            best[end] = -np.inf
    cuts: list[int] = []
    while (n := int(origin[n])) > 0:
        cuts.append(n)
    return cuts[::-1]


@dataclass(frozen=True, slots=True)
class Cutter:
    """What is needed to cut dialogues.

    :param spaces: topic spaces; number i was fitted without the dialogues i, i + 5, i + 10, ... of the sample.
    :param penalty: gain that a cut needs, for `cut`.
    :param f1: F1 within one turn at the seams of joined dialogues, in [0, 1]; NaN if there were too few dialogues.
    """

    spaces: tuple[TopicSpace, ...]
    penalty: float
    f1: float

    def cut(self, turns: Vectors, words: NDArray[np.int64], place: int | None = None) -> list[int]:
        """Return the turns at which segments of a dialogue begin, except the first.

        :param turns: vectors of its turns, float32 [n, d].
        :param words: number of words of each turn, int64 [n].
        :param place: number of the dialogue in the sample; None if it is not in it.
        """
        return cut(self.spaces[(place or 0) % len(self.spaces)].project(turns), weights_of(words), self.penalty)


def fit_cutter(turns: Vectors, words: NDArray[np.int64], starts: Numbers, *, seed: int) -> Cutter:
    """Fit topic spaces to a sample of dialogues, and choose the penalty that finds the seams of joined dialogues best.

    A dialogue is cut in a space that was fitted without it: in its own one, its turns look more alike than they are,
    above all if there are few dialogues.

    :param turns: vectors of length 1, float32 [n, d], dialogue by dialogue.
    :param words: number of words of each turn, int64 [n].
    :param starts: first turn of each dialogue, then n, int64 [dialogues + 1].
    """
    n = len(starts) - 1
    if n < 2:
        return Cutter((fit_space(turns, starts),), DEFAULT, float("nan"))
    owner = np.repeat(np.arange(n), np.diff(starts))
    spaces: list[TopicSpace] = []
    tried: list[list[list[int]]] = [[] for _ in PENALTIES]
    seams: list[list[int]] = []
    for fold in range(min(FOLDS, n)):
        out = owner % FOLDS == fold
        spaces.append(fit_space(turns[~out], _starts_of(starts, np.arange(n) % FOLDS != fold)))
        own, weights = spaces[-1].project(turns[out]), weights_of(words[out])
        joined = join_pieces(_starts_of(starts, np.arange(n) % FOLDS == fold), JOINED // FOLDS, seed=seed + fold)
        seams += [places for _, places in joined]
        for at, penalty in enumerate(PENALTIES):
            tried[at] += [cut(own[places], weights[places], penalty) for places, _ in joined]
    if not seams:
        return Cutter(tuple(spaces), DEFAULT, float("nan"))
    scores = [boundary_f1(cuts, seams, tolerance=1) for cuts in tried]
    best = int(np.argmax(scores))
    return Cutter(tuple(spaces), PENALTIES[best], scores[best])


def _starts_of(starts: Numbers, chosen: NDArray[np.bool_]) -> Numbers:
    """Return the starts of the chosen dialogues, if only their turns are kept."""
    return np.concatenate([[0], np.cumsum(np.diff(starts)[chosen])])


def join_pieces(starts: Sequence[int] | Numbers, count: int, *, seed: int) -> list[tuple[NDArray[np.int64], list[int]]]:
    """Join pieces of different dialogues at random: one to four of them, each with consecutive turns of its dialogue.

    :param starts: first turn of each dialogue, then the number of turns.
    :param count: number of joined dialogues.
    :return: turns of each joined dialogue, int64 [m], and the places in it at which a new piece begins; nothing if
        fewer than two dialogues are long enough.
    """
    starts = np.asarray(starts)
    usable = np.flatnonzero(np.diff(starts) >= SHORTEST_PIECE)
    if len(usable) < 2:
        return []
    rng = np.random.default_rng(seed)
    middle = int(np.median(np.diff(starts)[usable]))
    least, most = max(SHORTEST_PIECE, middle // 4), max(12, middle // 2)
    joined = []
    for _ in range(count):
        turns: list[int] = []
        seams: list[int] = []
        for row in rng.choice(usable, min(len(usable), int(rng.integers(1, MOST_PIECES + 1))), replace=False):
            first, end = int(starts[row]), int(starts[row + 1])
            if end - first >= LONG:
                first, end = first + 2, end - 2
            length = min(int(rng.integers(least, most + 1)), end - first)
            begin = first + int(rng.integers(0, end - first - length + 1))
            if turns:
                seams.append(len(turns))
            turns += range(begin, begin + length)
        joined.append((np.array(turns, dtype=np.int64), seams))
    return joined


def boundary_f1(cuts: Sequence[Sequence[int]], true: Sequence[Sequence[int]], *, tolerance: int = 0) -> float:
    """Return the F1 of boundaries over all dialogues, in [0, 1]; 1 if there are neither found nor true ones.

    Each true boundary matches at most one found boundary, the nearest within the tolerance.

    :param cuts: found boundaries of each dialogue, ascending: turns at which a segment begins, without the first turn.
    :param true: true boundaries of each dialogue.
    :param tolerance: largest distance, in turns.
    """
    matches = total = 0
    for own, others in zip(cuts, true, strict=True):
        left = list(others)
        total += len(own) + len(left)
        for place in own:
            if left and abs(nearest := min(left, key=lambda other: abs(other - place)) - place) <= tolerance:
                left.remove(place + nearest)
                matches += 1
    return 2 * matches / total if total else 1.0


@dataclass(frozen=True, slots=True)
class Cuts:
    """Segments in the order of the dialogues and of their turns.

    :param rows: row of each segment's dialogue, [m].
    :param first: its first turn, from 0, [m].
    :param last: its last turn, [m].
    :param words: its number of words, [m].
    :param vectors: its place in the topic space, of length 1, float32 [m, k].
    """

    rows: Numbers
    first: Numbers
    last: Numbers
    words: Numbers
    vectors: Vectors

    @classmethod
    def of(cls, cutter: Cutter, row: int, turns: Vectors, words: Numbers, place: int | None) -> Cuts:
        """Cut a dialogue.

        :param turns: vectors of its turns, float32 [n, d].
        :param words: number of words of each turn, [n].
        :param place: number of the dialogue in the sample of the cutter; None if it is not in it.
        """
        first = np.array([0, *cutter.cut(turns, words, place)], dtype=np.int64)
        # One space for all: those of the other parts of the sample have axes of their own.
        weighted = cutter.spaces[0].project(turns) * weights_of(words)[:, None]
        means = unit_rows(np.add.reduceat(weighted, first, axis=0)).astype(np.float32)
        last = np.append(first[1:], len(turns)) - 1
        return cls(np.full(len(first), row, dtype=np.int64), first, last, np.add.reduceat(words, first), means)

    @classmethod
    def joined(cls, parts: Sequence[Cuts]) -> Cuts:
        """Join the segments of dialogues, in the order of their rows."""
        fields = ("rows", "first", "last", "words", "vectors")
        whole = cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in fields))
        order = np.argsort(whole.rows, kind="stable")
        return cls(*(getattr(whole, name)[order] for name in fields))


def join_courtesies(cuts: Cuts, groups: Groups) -> tuple[Cuts, Groups]:
    """Join thanks, good wishes and greetings to the segment beside them, and return segments and their groups.

    They are no topic, but so much alike in all dialogues that they form groups: of short segments that nearly all stand
    at the end, or at the beginning, of their dialogue. A dialogue of nothing else keeps them.

    :param groups: group of each segment, int32 [m].
    """
    ends = np.append(cuts.rows[1:] != cuts.rows[:-1], True)
    begins = np.append(True, ends[:-1])
    several = ~(begins & ends)
    sizes = np.maximum(np.bincount(groups), 1)
    short = np.bincount(groups, weights=cuts.words) / sizes <= FEW_WORDS * cuts.words.mean()
    of_several = np.bincount(groups, weights=several)
    at_end, at_begin = (np.bincount(groups, weights=several & edge) for edge in (ends, begins))
    courteous = short & (of_several > 0) & (np.maximum(at_end, at_begin) >= AT_AN_END * of_several)
    kept = ~courteous[groups]
    # A dialogue of courtesies alone keeps its segments.
    kept |= ~np.isin(cuts.rows, cuts.rows[kept])
    at = np.flatnonzero(kept)
    # The first segment that is kept takes in what came before it, each other one what comes after it.
    rows = cuts.rows[at]
    origin = np.where(np.append(True, rows[1:] != rows[:-1]), np.searchsorted(cuts.rows, rows), at)
    until = np.append(origin[1:], len(cuts.rows)) - 1
    joined = replace(
        cuts, rows=rows, first=cuts.first[origin], last=cuts.last[until],
        words=np.add.reduceat(cuts.words, origin), vectors=cuts.vectors[at],
    )  # fmt: skip
    return joined, largest_first(groups[at])
