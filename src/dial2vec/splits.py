"""Train, dev and test, by upstream's splits or by seed."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dial2vec.corpora.corpus import Splitting
from dial2vec.dialogue import Dialogue

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True, slots=True)
class Splits:
    """The three splits, each in reading order, and what belongs to none.

    :param left_out: dialogues of an official dev or test split that have several labels.
    """

    train: list[Dialogue]
    dev: list[Dialogue]
    test: list[Dialogue]
    left_out: list[Dialogue]

    @property
    def sizes(self) -> dict[str, int]:
        """Number of dialogues per split."""
        return {name: len(getattr(self, name)) for name in SPLITS}


def split_dialogues(
    dialogues: Sequence[Dialogue], *, splitting: Splitting, dev_share: float, test_share: float, seed: int
) -> Splits:
    """Split a corpus.

    "official" follows each dialogue's own split. "shuffled" shuffles the sorted ids and cuts off `floor(share * n)`
    dialogues for train, then for dev, the rest is test: exact shares, for corpora that never change. "hashed"
    lets each id decide by a hash, so an old dialogue keeps its split when new ones arrive.

    The benchmark's dev and test hold dialogues with one label at most: where it cuts by its own splits, others are
    left out, and where it shuffles, they go to train. A team's own are hashed and stay where they fall: they help to
    choose without labels, and no labelled figure counts them.
    """
    if splitting == "official":
        chosen = {d.dialogue_id: d.split or "train" for d in dialogues}
    elif splitting == "shuffled":
        chosen = _shuffled([d.dialogue_id for d in dialogues], dev_share, test_share, seed)
    else:
        chosen = {d.dialogue_id: _hashed(d.dialogue_id, dev_share, test_share, seed) for d in dialogues}
    parts: dict[str, list[Dialogue]] = {name: [] for name in (*SPLITS, "left_out")}
    for dialogue in dialogues:
        name = chosen[dialogue.dialogue_id]
        if name != "train" and splitting != "hashed" and len(dialogue.labels) > 1:
            name = "left_out" if splitting == "official" else "train"
        parts[name].append(dialogue if name == "left_out" else replace(dialogue, split=name))
    return Splits(**parts)


def _shuffled(ids: list[str], dev_share: float, test_share: float, seed: int) -> dict[str, str]:
    ids = sorted(ids)
    random.Random(seed).shuffle(ids)
    # The shares are decimal fractions: without rounding, 1 - 0.1 - 0.1 would fall just below 0.8.
    n_train = int(round(1 - dev_share - test_share, 9) * len(ids))
    n_dev = int(dev_share * len(ids))
    return {name: "train" if i < n_train else "dev" if i < n_train + n_dev else "test" for i, name in enumerate(ids)}


def _hashed(dialogue_id: str, dev_share: float, test_share: float, seed: int) -> str:
    digest = hashlib.sha256(f"{seed}/{dialogue_id}".encode()).digest()
    place = int.from_bytes(digest[:8], "big") / 2**64
    return "dev" if place < dev_share else "test" if place < dev_share + test_share else "train"


def label_counts(dialogues: Iterable[Dialogue]) -> dict[str, int]:
    """Return how many single-label dialogues each label has, most frequent first."""
    return dict(Counter(d.label for d in dialogues if d.label is not None).most_common())  # type: ignore[misc]
