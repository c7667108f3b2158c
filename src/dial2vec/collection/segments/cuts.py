"""The segments of all dialogues as arrays; thanks and good wishes join the segment beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection.clustering.partition import Groups, Vectors
from dial2vec.collection.segments.cutting import Cutter, weights_of
from dial2vec.encoder.nearest import unit_rows

Numbers = NDArray[np.int64]

# A group holds courtesies if this share of its segments are last, or are first, among several of their dialogue, and if
# its segments have at most this share of the mean number of words.
AT_AN_END, FEW_WORDS = 0.9, 0.4


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
    return joined, _largest_first(groups[at])


def _largest_first(groups: Groups) -> Groups:
    """Number the groups that are left by size."""
    _, numbers, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    places = np.empty(len(sizes), dtype=np.int32)
    places[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes), dtype=np.int32)
    return places[numbers]
