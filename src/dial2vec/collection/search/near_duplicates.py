"""Groups of dialogues of a collection that say nearly the same, by the words they share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from conversations.dialogue import Dialogue
from conversations.progress import counted
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.search.filters import Filters
from dial2vec.data.duplicates import bands, shingles, signatures
from dial2vec.errors import CorpusError

# With more dialogues, only those are compared that share a band of their MinHash signatures.
MOST_EXACT = 5_000
# Rows compared with all others at a time.
BLOCK = 500
# Neighbours in a band that a dialogue is compared with; equal dialogues form a chain of such neighbours.
NEIGHBOURS = 8
# Two standard deviations of a similarity estimated by signatures.
MARGIN = 0.09

Pairs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NearDuplicates:
    """A group of dialogues that say nearly the same.

    :param dialogue_ids: the dialogue with the most near-duplicates, then the others, the most similar first.
    :param similarities: share of different word triples that each has in common with the first, in [0, 1]: triples
        in both by triples in either (Jaccard similarity); 1 for the first itself.
    """

    dialogue_ids: tuple[str, ...]
    similarities: tuple[float, ...]


def find_near_duplicates(
    collection: CollectionFolder, *, similarity: float = 0.8, filters: Filters | None = None, progress: bool = False
) -> list[NearDuplicates]:
    """Return the groups of dialogues that share most of their word triples, largest first.

    Every pair is compared up to 5,000 dialogues. Above, a pair of similarity 0.8 is missed with a probability of 0.2 %,
    one of 0.6 with 37 % (`dial2vec.data.duplicates`, Broder 1997). Speakers, capitals and white space do not count.

    :param similarity: least Jaccard similarity of each dialogue of a group with its first, in (0, 1].
    :param filters: dialogues to look at; None looks at all.
    :raises CorpusError: if `similarity` is out of range, or a filter is invalid.
    """
    if not 0 < similarity <= 1:
        raise CorpusError(
            f"found the similarity {similarity}; expected more than 0 and at most 1. Name one, such as 0.8."
        )
    chosen = (filters or Filters()).rows(collection)
    rows = np.arange(len(collection)) if chosen is None else chosen
    dialogues = collection.dialogues(rows.tolist())
    shown = counted(dialogues, "dialogues", total=len(rows)) if progress else dialogues
    if len(rows) <= MOST_EXACT:
        pairs = _exact_pairs(_triples(shown), similarity)
    else:
        pairs = _likely_pairs(shown, similarity)
    ids = collection.rows["dialogue_id"]
    groups = [
        NearDuplicates(tuple(ids[int(rows[place])].as_py() for place in places), shared)
        for places, shared in _groups(collection, rows, pairs, similarity)
    ]
    return sorted(groups, key=lambda group: -len(group.dialogue_ids))


def _triples(dialogues: Iterable[Dialogue]) -> csr_matrix:
    """Return which dialogue has which word triple, [n, triples] of 0 and 1."""
    numbers: dict[str, int] = {}
    columns: list[int] = []
    starts = [0]
    for dialogue in dialogues:
        columns += [numbers.setdefault(triple, len(numbers)) for triple in shingles(dialogue)]
        starts.append(len(columns))
    ones = np.ones(len(columns), dtype=np.float32)
    return csr_matrix((ones, columns, starts), shape=(len(starts) - 1, max(1, len(numbers))))


def _jaccard(triples: csr_matrix, rows: csr_matrix) -> tuple[Pairs, Pairs, NDArray[np.float64]]:
    """Return the pairs of `rows` and `triples` that share a triple, and their Jaccard similarities."""
    shared = (rows @ triples.T).tocoo()
    either = np.asarray(rows.sum(1)).ravel()[shared.row] + np.asarray(triples.sum(1)).ravel()[shared.col] - shared.data
    return shared.row.astype(np.int64), shared.col.astype(np.int64), shared.data / either


def _exact_pairs(triples: csr_matrix, similarity: float) -> Pairs:
    close_pairs = [np.zeros((0, 2), dtype=np.int64)]
    for first in range(0, triples.shape[0], BLOCK):
        rows, others, likeness = _jaccard(triples, triples[first : first + BLOCK])
        close = (likeness >= similarity) & (rows + first < others)
        close_pairs.append(np.stack([rows[close] + first, others[close]], axis=1))
    return np.concatenate(close_pairs)


def _likely_pairs(dialogues: Iterable[Dialogue], similarity: float) -> Pairs:
    """Return the pairs of neighbours in a band whose signatures say that they may be similar enough."""
    signed = signatures(dialogues)
    close_pairs = [np.zeros((0, 2), dtype=np.int64)]
    for keys in bands(signed):
        order = np.argsort(keys, kind="stable")
        for step in range(1, NEIGHBOURS + 1):
            pairs = np.stack([order[:-step], order[step:]], axis=1)[keys[order[:-step]] == keys[order[step:]]]
            for block in np.split(pairs, range(MOST_EXACT, len(pairs), MOST_EXACT)):
                likeness = (signed[block[:, 0]] == signed[block[:, 1]]).mean(axis=1)
                close_pairs.append(block[likeness >= similarity - MARGIN])
    return np.unique(np.concatenate(close_pairs), axis=0)


def _groups(
    collection: CollectionFolder, rows: NDArray[np.int64], pairs: Pairs, similarity: float
) -> Iterator[tuple[list[int], tuple[float, ...]]]:
    """Yield places and similarities of each group, from dialogues that pairs connect."""
    n = len(rows)
    links = csr_matrix((np.ones(len(pairs), dtype=np.int8), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    degree = np.bincount(pairs.ravel(), minlength=n)
    _, component = connected_components(links, directed=False)
    members = np.flatnonzero(degree)
    members = members[np.argsort(component[members], kind="stable")]
    for places in np.split(members, np.flatnonzero(np.diff(component[members])) + 1):
        # A chain may connect two that differ, so each group gathers around one dialogue.
        left = places[np.argsort(-degree[places], kind="stable")]
        triples = _triples(collection.dialogues(rows[left].tolist()))
        while len(left) > 1:
            _, other, shared = _jaccard(triples, triples[:1])
            likeness = np.zeros(len(left))
            likeness[other] = shared
            close = likeness >= similarity
            if close.sum() > 1:
                order = np.flatnonzero(close)[np.argsort(-likeness[close], kind="stable")]
                order = np.concatenate([[0], order[order != 0]])
                yield left[order].tolist(), tuple(likeness[order].tolist())
            close[0] = True
            left, triples = left[~close], triples[~close]
