"""Train, dev and test, by upstream's splits or by seed, and without copies on two sides."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dial2vec.config import Prepare
from dial2vec.data.corpora.corpus import Splitting
from dial2vec.data.duplicates import Signatures, nearest_among, signatures
from dial2vec.dialogue import Dialogue

SPLITS = ("train", "dev", "test")
LEFT_OUT = len(SPLITS)
Assignment = NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Copy:
    """A dialogue of dev or test that is nearly the same as one of an earlier split.

    :param place: of the dialogue.
    :param of: place of the other.
    :param similarity: estimated Jaccard similarity of their word triples, up to 1.
    """

    place: int
    of: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Division:
    """A corpus of n dialogues, divided.

    :param ids: of the dialogues.
    :param labels: of the dialogues.
    :param assigned: int8 [n], the split of each dialogue: a place in `SPLITS`, or `LEFT_OUT`.
    :param several: places of those that are left out of an official dev or test for their several labels.
    :param copies: dialogues of dev and test that are nearly the same as one of an earlier split. A team's own are left
        out; those of the benchmark stay, because its splits are what its figures are about.
    :param splits: the split of each copy and of what it copies, by place.
    :param n_marked: dialogues that name a split of their own, which was not followed.
    """

    ids: list[str]
    labels: list[tuple[str, ...]]
    assigned: Assignment
    several: list[int]
    copies: list[Copy]
    splits: dict[int, str]
    n_marked: int

    def size(self, split: int) -> int:
        """Return the number of dialogues of a split."""
        return int((self.assigned == split).sum())


def divide(dialogues: Iterable[Dialogue], *, splitting: Splitting, options: Prepare, seed: int) -> Division:
    """Divide a corpus into train, dev and test; of the dialogues, one block at a time is in memory.

    :param options: shares, and the similarity from which on two dialogues are copies.
    """
    ids: list[str] = []
    labels: list[tuple[str, ...]] = []
    official: list[str | None] = []

    def noted() -> Iterator[Dialogue]:
        for dialogue in dialogues:
            ids.append(dialogue.dialogue_id)
            labels.append(dialogue.labels)
            official.append(dialogue.split)
            yield dialogue

    signed = signatures(noted())
    shares = {"dev_share": options.dev_share, "test_share": options.test_share}
    n_labels = [len(names) for names in labels]
    assigned = assign_splits(ids, n_labels, official, splitting=splitting, seed=seed, **shares)
    own = splitting == "hashed"
    copies = find_copies(assigned, signed, similarity=options.near_duplicate, of_copies=not own)
    splits = {place: SPLITS[assigned[place]] for copy in copies for place in (copy.place, copy.of)}
    several = np.flatnonzero(assigned == LEFT_OUT).tolist()
    n_marked = sum(split is not None for split in official) if splitting != "official" else 0
    return Division(
        ids, labels, without_copies(assigned, copies) if own else assigned, several, copies, splits, n_marked
    )


def assign_splits(
    ids: Sequence[str],
    n_labels: Sequence[int],
    official: Sequence[str | None],
    *,
    splitting: Splitting,
    dev_share: float,
    test_share: float,
    seed: int,
) -> Assignment:
    """Return the split of each dialogue, int8 [n]: a place in `SPLITS`, or `LEFT_OUT`.

    "official" follows each dialogue's own split. "shuffled" shuffles the sorted ids and cuts off `floor(share * n)`
    dialogues for train, then for dev, the rest is test: exact shares, for corpora that never change. "hashed"
    lets each id decide by a hash, so an old dialogue keeps its split when new ones arrive.

    The benchmark's dev and test hold dialogues with one label at most: where it cuts by its own splits, others are
    left out, and where it shuffles, they go to train. A team's own are hashed and stay where they fall: they help to
    choose without labels, and no labelled figure counts them.

    :param ids: of the n dialogues.
    :param n_labels: number of labels of each.
    :param official: split of each by upstream, None is train.
    """
    if splitting == "official":
        chosen = [SPLITS.index(split or "train") for split in official]
    elif splitting == "shuffled":
        chosen = _shuffled(ids, dev_share, test_share, seed)
    else:
        chosen = [_hashed(name, dev_share, test_share, seed) for name in ids]
    assigned = np.array(chosen, dtype=np.int8)
    if splitting != "hashed":
        several = (np.array(n_labels, dtype=np.int64) > 1) & (assigned != 0)
        assigned[several] = LEFT_OUT if splitting == "official" else 0
    return assigned


def _shuffled(ids: Sequence[str], dev_share: float, test_share: float, seed: int) -> list[int]:
    order = sorted(range(len(ids)), key=lambda place: ids[place])
    random.Random(seed).shuffle(order)
    # The shares are decimal fractions: without rounding, 1 - 0.1 - 0.1 would fall just below 0.8.
    n_train = int(round(1 - dev_share - test_share, 9) * len(ids))
    n_dev = int(dev_share * len(ids))
    chosen = [0] * len(ids)
    for rank, place in enumerate(order):
        chosen[place] = 0 if rank < n_train else 1 if rank < n_train + n_dev else 2
    return chosen


def _hashed(dialogue_id: str, dev_share: float, test_share: float, seed: int) -> int:
    digest = hashlib.sha256(f"{seed}/{dialogue_id}".encode()).digest()
    place = int.from_bytes(digest[:8], "big") / 2**64
    # From both ends: another share of dev leaves test as it is.
    return 1 if place < dev_share else 2 if place >= 1 - test_share else 0


def find_copies(
    assigned: Assignment, signatures: Signatures, *, similarity: float, of_copies: bool = False
) -> list[Copy]:
    """Return the dialogues of dev that are nearly the same as one of train, then those of test as one of train or dev.

    :param signatures: of all dialogues, by `duplicates.signatures`.
    :param similarity: from which on two dialogues count as copies, in [0.7, 1].
    :param of_copies: whether a dialogue of dev that is itself a copy counts among the others of test. It does where it
        stays, and not where it is left out.
    """
    copies: list[Copy] = []
    original = np.ones(len(assigned), dtype=bool)
    for split in (1, 2):
        queries, among = np.flatnonzero(assigned == split), np.flatnonzero((assigned < split) & original)
        found, similar = nearest_among(signatures, queries, among, similarity=similarity)
        for row in np.flatnonzero(found >= 0):
            copies.append(Copy(int(queries[row]), int(found[row]), round(float(similar[row]), 2)))
        original[queries[found >= 0]] = of_copies
    return copies


def without_copies(assigned: Assignment, copies: Sequence[Copy]) -> Assignment:
    """Return the splits with all copies left out.

    Train goes before dev and dev before test, because a dialogue that was once learned from must never judge: an old
    one may leave dev or test when a copy of it arrives in train, but it never moves to another split.
    """
    clean = assigned.copy()
    clean[[copy.place for copy in copies]] = LEFT_OUT
    return clean
