"""Splits into train, dev and test, official or by seed, without copies across splits."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec.config import EQUAL_SHARES, Prepare
from dial2vec.data.corpora.corpus import Splitting
from dial2vec.data.duplicates import Places, Signatures, nearest_among, signatures

SPLITS = ("train", "dev", "test")
LEFT_OUT = len(SPLITS)
Assignment = NDArray[np.int8]


# Dialogues that are signed at a time: some 10 MB of text.
BLOCK = 5000


@dataclass(frozen=True, slots=True)
class Signed:
    """What dividing needs to know of some dialogues.

    :param official: The split that each names; None if it names none.
    :param signatures: Their signatures, uint32 [n, 126].
    """

    ids: list[str]
    labels: list[tuple[str, ...]]
    official: list[str | None]
    signatures: Signatures

    @classmethod
    def of(cls, dialogues: Sequence[Dialogue]) -> Signed:
        """Sign dialogues."""
        return cls(
            [dialogue.dialogue_id for dialogue in dialogues],
            [dialogue.labels for dialogue in dialogues],
            [dialogue.split for dialogue in dialogues],
            signatures(dialogues),
        )


def signed_blocks(dialogues: Iterable[Dialogue]) -> Iterator[Signed]:
    """Sign dialogues, with one block of them at a time in memory."""
    stream = iter(dialogues)
    while taken := list(islice(stream, BLOCK)):
        yield Signed.of(taken)


@dataclass(frozen=True, slots=True)
class Copy:
    """A dialogue that nearly equals a dialogue of another split.

    :param of: Place of the other dialogue.
    :param similarity: Estimated Jaccard similarity of their word triples, at most 1.
    """

    place: int
    of: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Division:
    """A corpus of n dialogues, divided into splits.

    :param assigned: Split of each dialogue, int8 [n]: a place in `SPLITS`, or `LEFT_OUT`.
    :param several: Places of dialogues left out of an official dev or test because they have several labels.
    :param copies: Near-duplicates in dev and test of dialogues in an earlier split of their own corpus. They are left
        out of a team's own corpus, and stay in benchmark corpora, whose figures are about the given splits.
    :param foreign: Near-duplicates in train, and in dev, of dialogues of another joined corpus in a later split; left
        out, so that the later split keeps its dialogues.
    :param surplus: Places of training dialogues left out because of `prepare.shares`.
    :param splits: Place -> split, of each copy and its original.
    :param n_marked: Number of dialogues that name a split which was not followed.
    """

    ids: list[str]
    labels: list[tuple[str, ...]]
    assigned: Assignment
    several: list[int]
    copies: list[Copy]
    foreign: list[Copy]
    surplus: list[int]
    splits: dict[int, str]
    n_marked: int

    def size(self, split: int) -> int:
        """Return the number of dialogues of a split."""
        return int((self.assigned == split).sum())


def divide(
    blocks: Iterable[Signed],
    *,
    splitting: Splitting,
    options: Prepare,
    seed: int,
    parts: Mapping[str, Splitting] | None = None,
) -> Division:
    """Divide a corpus into train, dev and test.

    A joint corpus is divided as each of its corpora alone. Then train loses what copies a dialogue of another corpus in
    dev or test, and dev what copies one in test.

    :param blocks: All dialogues, signed, in their order.
    :param options: Shares of dev and test, minimum similarity of copies, and shares of joined corpora.
    :param parts: Name -> splitting of each corpus that a joint one joins.
    """
    ids: list[str] = []
    labels: list[tuple[str, ...]] = []
    official: list[str | None] = []
    parts_signed = [signatures([])]
    for block in blocks:
        ids += block.ids
        labels += block.labels
        official += block.official
        parts_signed.append(block.signatures)
    signed = np.concatenate(parts_signed)
    owners, groups = _grouped(ids, splitting, parts)
    before, after = (np.full(len(ids), LEFT_OUT, dtype=np.int8) for _ in range(2))
    copies: list[Copy] = []
    for kind, places in groups:
        own_ids = [ids[place].partition("/")[2] if parts else ids[place] for place in places.tolist()]
        n_labels = [len(labels[place]) for place in places.tolist()]
        named = [official[place] for place in places.tolist()]
        before[places], after[places], own = _alone(kind, own_ids, n_labels, named, signed[places], options, seed)
        copies += [Copy(int(places[copy.place]), int(places[copy.of]), copy.similarity) for copy in own]
    foreign = find_foreign_copies(after, signed, owners, similarity=options.near_duplicate)
    assigned = without_copies(after, foreign)
    surplus = _surplus(assigned, ids, list(parts or ()), owners, shares=options.shares, seed=seed) if parts else []
    assigned[surplus] = LEFT_OUT
    several = np.flatnonzero(before == LEFT_OUT).tolist()
    splits = {place: SPLITS[before[place]] for copy in [*copies, *foreign] for place in (copy.place, copy.of)}
    ignored = [places for kind, places in groups if kind != "official"]
    n_marked = sum(official[place] is not None for places in ignored for place in places.tolist())
    return Division(ids, labels, assigned, several, copies, foreign, surplus, splits, n_marked)


def _alone(
    splitting: Splitting,
    ids: Sequence[str],
    n_labels: Sequence[int],
    official: Sequence[str | None],
    signed: Signatures,
    options: Prepare,
    seed: int,
) -> tuple[Assignment, Assignment, list[Copy]]:
    """Return the splits of a corpus, the same without the copies of a team's own corpus, and the copies."""
    shares = {"dev_share": options.dev_share, "test_share": options.test_share}
    assigned = assign_splits(ids, n_labels, official, splitting=splitting, seed=seed, **shares)
    own = splitting == "hashed"
    copies = find_copies(assigned, signed, similarity=options.near_duplicate, of_copies=not own)
    return assigned, without_copies(assigned, copies) if own else assigned, copies


def _grouped(
    ids: Sequence[str], splitting: Splitting, parts: Mapping[str, Splitting] | None
) -> tuple[Places, list[tuple[Splitting, Places]]]:
    """Return the number of each dialogue's corpus, int64 [n], and splitting and places of each corpus."""
    if not parts:
        return np.zeros(len(ids), dtype=np.int64), [(splitting, np.arange(len(ids)))]
    number = {name: place for place, name in enumerate(parts)}
    owners = np.array([number[name.partition("/")[0]] for name in ids], dtype=np.int64)
    return owners, [(kind, np.flatnonzero(owners == number[name])) for name, kind in parts.items()]


def _surplus(
    assigned: Assignment,
    ids: Sequence[str],
    names: Sequence[str],
    owners: Places,
    *,
    shares: Sequence[str],
    seed: int,
) -> list[int]:
    """Return the places of training dialogues beyond the shares of their corpora, drawn by a hash of their ids."""
    trained = [np.flatnonzero((assigned == 0) & (owners == number)).tolist() for number in range(len(names))]
    smallest = min((len(places) for places in trained), default=0)
    named = {name: float(share) for name, _, share in (entry.partition("=") for entry in shares) if share}
    surplus: list[int] = []
    for name, places in zip(names, trained, strict=True):
        keep = smallest if tuple(shares) == (EQUAL_SHARES,) else math.ceil(named.get(name, 1.0) * len(places))
        drawn = sorted(places, key=lambda place: hashlib.sha256(f"{seed}/{ids[place]}".encode()).digest())
        surplus += drawn[keep:]
    return sorted(surplus)


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

    "official" follows each dialogue's own split. "shuffled" shuffles the sorted ids and takes `floor(share * n)`
    dialogues for train, then for dev, and the rest for test: exact shares, for corpora that never change. "hashed"
    decides by a hash of the id, so an old dialogue keeps its split when new dialogues arrive.

    In dev and test of benchmark corpora, dialogues have at most 1 label. Others are left out if the splits are
    official, and go to train if they are shuffled. In hashed corpora they stay: they help to choose without labels, and
    no labelled figure counts them.

    :param ids: Ids of the n dialogues.
    :param n_labels: Number of labels of each dialogue.
    :param official: Official split of each dialogue; None means train.
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
    # Without rounding, 1 - 0.1 - 0.1 would be just below 0.8.
    n_train = int(round(1 - dev_share - test_share, 9) * len(ids))
    n_dev = int(dev_share * len(ids))
    chosen = [0] * len(ids)
    for rank, place in enumerate(order):
        chosen[place] = 0 if rank < n_train else 1 if rank < n_train + n_dev else 2
    return chosen


def _hashed(dialogue_id: str, dev_share: float, test_share: float, seed: int) -> int:
    digest = hashlib.sha256(f"{seed}/{dialogue_id}".encode()).digest()
    place = int.from_bytes(digest[:8], "big") / 2**64
    # Dev and test start at opposite ends, so another share of dev does not change test.
    return 1 if place < dev_share else 2 if place >= 1 - test_share else 0


def find_copies(
    assigned: Assignment, signatures: Signatures, *, similarity: float, of_copies: bool = False
) -> list[Copy]:
    """Return the near-duplicates in dev of dialogues in train, then those in test of dialogues in train or dev.

    :param signatures: Signatures of all dialogues, from `duplicates.signatures`.
    :param similarity: Minimum similarity of copies, in [0.7, 1].
    :param of_copies: True if test is also compared with copies in dev, because these stay in dev.
    """
    copies: list[Copy] = []
    original = np.ones(len(assigned), dtype=bool)
    for split in (1, 2):
        queries, among = np.flatnonzero(assigned == split), np.flatnonzero((assigned < split) & original)
        nearest, similar = nearest_among(signatures, queries, among, similarity=similarity)
        for row in np.flatnonzero(nearest >= 0):
            copies.append(Copy(int(queries[row]), int(nearest[row]), round(float(similar[row]), 2)))
        original[queries[nearest >= 0]] = of_copies
    return copies


def find_foreign_copies(
    assigned: Assignment, signatures: Signatures, owners: Places, *, similarity: float
) -> list[Copy]:
    """Return the near-duplicates in train, then in dev, of dialogues of other corpora in a later split.

    :param owners: Number of each dialogue's corpus, int64 [n].
    """
    copies: list[Copy] = []
    for split in (0, 1):
        for owner in np.unique(owners):
            queries = np.flatnonzero((assigned == split) & (owners == owner))
            among = np.flatnonzero((assigned > split) & (assigned != LEFT_OUT) & (owners != owner))
            nearest, similar = nearest_among(signatures, queries, among, similarity=similarity)
            for row in np.flatnonzero(nearest >= 0):
                copies.append(Copy(int(queries[row]), int(nearest[row]), round(float(similar[row]), 2)))
    return copies


def without_copies(assigned: Assignment, copies: Sequence[Copy]) -> Assignment:
    """Return the splits with all copies left out.

    Train has priority over dev, and dev over test, because a training dialogue must never be used for evaluation. If a
    copy of a dialogue in dev or test arrives in train, the dialogue is left out; it never moves to another split.
    """
    clean = assigned.copy()
    clean[[copy.place for copy in copies]] = LEFT_OUT
    return clean
