"""Terms that became more or less frequent within groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from conversations.dialogue import Dialogue
from dial2vec.collection.changes.evidence import LEVEL, TABLES, adjusted, exact_p
from dial2vec.collection.changes.sides import Sides
from dial2vec.collection.collection_folder import sampled
from dial2vec.data.terms import READ, Terms

# Fewer dialogues of a group with a term cannot show much: 7 of 7 on one side of two equal ones has p = 0.016.
LEAST = 8
# Terms that are shown per group.
SHOWN = 5


@dataclass(frozen=True, slots=True)
class ChangedTerm:
    """A term whose share changed within a group.

    :param group: place of the group.
    :param text: word, or two consecutive words.
    :param counts: dialogues with the term before, all before, with the term after, all after.
    :param p: p-value of Fisher's exact test.
    :param p_adjusted: p-value adjusted for all terms of all groups, and for the tables of a comparison.
    :param rows: rows that have the term, on the side with the larger share.
    """

    group: int
    text: str
    counts: tuple[int, int, int, int]
    p: float
    p_adjusted: float
    rows: NDArray[np.int64]


def changed_terms(sides: Sides, *, seed: int, done: Callable[[int], object]) -> list[ChangedTerm]:
    """Return at most five changed terms of each group, the clearest first.

    Of many dialogues, 20,000 are read, in equal parts from both sides.

    :param done: called with a number of dialogues that were read.
    """
    rows = sample_of(sides, seed)
    terms = Terms.read(_reporting(sides.dialogues(rows), done))
    cells = 2 * sides.grouped.groups[rows].astype(np.int64) + sides.side[rows]
    n_cells = 2 * len(sides.grouped.ids)
    which = csr_array((np.ones(len(rows), dtype=np.int64), (cells, np.arange(len(rows)))), shape=(n_cells, len(rows)))
    sizes = np.bincount(cells, minlength=n_cells)
    # All terms of all groups that are tried: their group, their place among the terms, and their four counts.
    groups, places, four = _tried(csr_array(which @ terms.inside), sizes)
    p = exact_p(*four)
    corrected = adjusted(p, tables=TABLES)
    more = (four[2] * four[1] > four[0] * four[3]).astype(np.int64)
    columns = terms.inside.tocsc()
    chosen: list[ChangedTerm] = []
    # The clearest first; of equal ones, that of more dialogues.
    order = np.lexsort((-(four[0] + four[2]), p, groups))
    for at in order[corrected[order] <= LEVEL]:
        text, group = terms.texts[places[at]], int(groups[at])
        shown = [other.text for other in chosen if other.group == group]
        if len(shown) == SHOWN or any({*text.split()} & {*known.split()} for known in shown):
            continue
        having = np.sort(columns.indices[columns.indptr[places[at]] : columns.indptr[places[at] + 1]])
        showing = rows[having[cells[having] == 2 * group + more[at]]]
        first, n_first, second, n_second = four[:, at].tolist()
        counts = first, n_first, second, n_second
        chosen.append(ChangedTerm(group, text, counts, float(p[at]), float(corrected[at]), showing))
    return chosen


def sample_of(sides: Sides, seed: int) -> NDArray[np.int64]:
    """Return the rows whose terms are read, ascending."""
    parts = []
    for side in (0, 1):
        rows = np.flatnonzero(sides.side == side)
        parts.append(rows[sampled(len(rows), READ // 2, seed)])
    return np.sort(np.concatenate(parts))


def _reporting(dialogues: Iterator[Dialogue], done: Callable[[int], object]) -> Iterator[Dialogue]:
    for dialogue in dialogues:
        yield dialogue
        done(1)


def _tried(
    counts: csr_array, sizes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return group, term and the four counts [4, tries] of each term of a group that enough dialogues have.

    :param counts: dialogues of each group and side with each term, [2 groups, terms].
    :param sizes: dialogues of each group and side, [2 groups].
    """
    groups, places, four = [], [], []
    for group in range(len(sizes) // 2):
        first, second = (counts[[2 * group + side]].toarray()[0].astype(np.int64) for side in (0, 1))
        n_first, n_second = sizes[2 * group : 2 * group + 2]
        enough = (first + second >= LEAST) & (first + second < n_first + n_second) & (n_first > 0) & (n_second > 0)
        own = np.flatnonzero(enough)
        groups.append(np.full(len(own), group))
        places.append(own)
        four.append(np.array([first[own], np.full(len(own), n_first), second[own], np.full(len(own), n_second)]))
    return np.concatenate(groups), np.concatenate(places), np.concatenate(four, axis=1)
