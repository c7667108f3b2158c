"""Counts of a corpus as the pipeline reads and splits it, next to published counts."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue, Quarantined
from conversations.progress import counted
from conversations.words import words
from dial2vec.config import Settings
from dial2vec.data.corpora import get_corpus
from dial2vec.data.corpora.joint import Joint
from dial2vec.data.splits import SPLITS, Division, divide, signed_blocks

# Liu et al. 2022, Table 1: dialogues, mean turns and mean words of each split, and labels of the whole corpus.
PUBLISHED: dict[str, tuple[dict[str, tuple[int, int, int]], int]] = {
    "bitod": ({"train": (2952, 19, 217), "dev": (70, 11, 109), "test": (106, 10, 106)}, 6),
    "doc2dial": ({"train": (3474, 11, 187), "dev": (661, 12, 182), "test": (661, 12, 182)}, 4),
    "metalwoz": ({"train": (30307, 11, 83), "dev": (3788, 11, 82), "test": (3789, 11, 82)}, 47),
    "multiwoz": ({"train": (8437, 13, 177), "dev": (1077, 9, 110), "test": (1084, 9, 110)}, 7),
    "self_dialogue": ({"train": (19331, 15, 151), "dev": (2416, 15, 151), "test": (2417, 15, 152)}, 28),
    "sgd": ({"train": (16142, 20, 199), "dev": (836, 14, 140), "test": (1331, 12, 124)}, 45),
}
RANDOM_SPLITS = (
    "Upstream has no splits: the sizes are the paper's, but `seed` of params.yaml draws the dialogues, as the paper's "
    "order is unknown."
)
# Known reasons why counts differ from the published ones.
DIFFERENCES: dict[str, tuple[str, ...]] = {
    "bitod": (
        "Users' goals name 5 domains. The paper's 6 would be these and `chat` (read.bitod_labels: active_and_chat). "
        "It does not say so, and its 70 and 106 dialogues with one label depend on that choice.",
    ),
    "doc2dial": (
        "By default dev and test are both upstream's validation file, as the paper's equal rows suggest. Its 661 "
        "dialogues may also be upstream's test file, which not every copy has (read.doc2dial_test: test).",
    ),
    "metalwoz": (RANDOM_SPLITS,),
    "multiwoz": (
        "The paper's 1,077 and 1,084 dialogues with one domain cannot come from the official dev and test, which have "
        "1,000 dialogues each. Its choice is unknown; read.multiwoz_splits: pooled draws as many dialogues.",
        "Two of the 7 domains, hospital and police, occur in the official train only.",
    ),
    "self_dialogue": (
        "The paper's 28 labels are unknown: upstream has 23 topics, one per folder, and no combination of up to three "
        "columns of its tables gives 28 meaningful labels. The 23 topics are used.",
        "The paper's 151 words count a double blank as one more word: counted like that, the mean of the whole corpus "
        "is 151.87; by words it is 150.90.",
        RANDOM_SPLITS,
    ),
    "sgd": ("By default the labels are services; 45 counts all dialogues, also those with several services.",),
}
TRUNCATED = "The paper's means are rounded down: 14.27 turns are printed as 14."
# Number of listed reasons; further reasons are only counted.
MAX_REASONS = 10
# Line width of sentences in a terminal.
WIDTH = 100


@dataclass(frozen=True, slots=True)
class Count:
    """Counts of some dialogues.

    :param dialogues: Number of dialogues.
    :param turns: Mean number of turns; 0 if there are no dialogues.
    :param words: Mean number of words, as stage validate counts them; 0 if there are no dialogues.
    :param labels: Number of different labels.
    """

    dialogues: int
    turns: float
    words: float
    labels: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts of a corpus.

    :param splits: Counts of train, dev and test.
    :param whole: Count of all usable dialogues, including those left out of dev and test.
    :param left_out: Number of dialogues left out of an official dev or test because they have several labels.
    :param copies: Number of near-duplicates left out of dev and test in a team's own corpus.
    :param reasons: Reason -> number of quarantined records, most frequent first.
    :param foreign: Number of near-duplicates left out of train and dev because another joined corpus has them in a
        later split.
    """

    corpus: str
    splits: dict[str, Count]
    whole: Count
    left_out: int
    copies: int
    reasons: dict[str, int]
    foreign: int = 0


def count_corpus(name: str, *, data: Path, settings: Settings) -> Statistics:
    """Read and split a corpus as stage prepare does, with one block of texts at a time in memory.

    The expectations of stage validate are not checked, so dialogues that they would quarantine are counted.

    :param data: Folder with one folder per corpus.
    :raises CorpusError: if the corpus is unknown, missing or damaged.
    """
    corpus = get_corpus(name, data=data, options=settings.read)
    quarantine: list[Quarantined] = []
    lengths: list[tuple[int, int]] = []

    def measured() -> Iterator[Dialogue]:
        for dialogue in counted(corpus.read(data / name, quarantine=quarantine), "dialogues"):
            whole = dialogue.merged() if settings.read.merge_turns else dialogue
            lengths.append((len(whole.turns), sum(len(words(turn.text)) for turn in whole.turns)))
            yield whole

    parts = corpus.splittings if isinstance(corpus, Joint) else None
    blocks = signed_blocks(measured())
    division = divide(blocks, splitting=corpus.splitting, options=settings.prepare, seed=settings.seed, parts=parts)
    table = np.array(lengths, dtype=np.int64).reshape(-1, 2)
    splits = {split: _count(division, table, division.assigned == place) for place, split in enumerate(SPLITS)}
    whole = _count(division, table, np.ones(len(table), dtype=bool))
    copies = len(division.copies) if corpus.splitting == "hashed" else 0
    foreign = len(division.foreign)
    return Statistics(name, splits, whole, len(division.several), copies, _reasons(quarantine), foreign)


def _count(division: Division, lengths: NDArray[np.int64], chosen: NDArray[np.bool_]) -> Count:
    turns, words = lengths[chosen].mean(axis=0) if chosen.any() else (0.0, 0.0)
    labels = {label for place in np.flatnonzero(chosen) for label in division.labels[place]}
    return Count(int(chosen.sum()), float(turns), float(words), len(labels))


def _reasons(quarantine: Iterable[Quarantined]) -> dict[str, int]:
    # With its id, each reason would be unique.
    named = ((record.reason, record.dialogue_id) for record in quarantine)
    return dict(Counter(reason.replace(repr(name), "...") if name else reason for reason, name in named).most_common())


def corpus_table(statistics: Statistics) -> str:
    """Return a table of the counts, next to published counts if there are any, with remarks."""
    lines = _table(statistics)
    if statistics.left_out:
        lines.append(f"{statistics.left_out:,} dialogues of dev and test have several labels and are left out of them.")
    if statistics.copies:
        lines.append(f"{statistics.copies:,} dialogues copy one of an earlier split and are left out of dev and test.")
    if statistics.foreign:
        lines.append(
            f"{statistics.foreign:,} dialogues copy one of another corpus in a later split and are left out of theirs."
        )
    n_quarantined = sum(statistics.reasons.values())
    lines.append(f"{n_quarantined:,} records quarantined{':' if n_quarantined else '.'}")
    listed = list(statistics.reasons.items())[:MAX_REASONS]
    lines += [f"{number:>8,}  {reason}" for reason, number in listed]
    rest = n_quarantined - sum(number for _, number in listed)
    if rest:
        lines.append(f"{rest:>8,}  for {len(statistics.reasons) - MAX_REASONS} further reasons")
    if statistics.corpus in PUBLISHED:
        for sentence in (*DIFFERENCES[statistics.corpus], TRUNCATED):
            lines += textwrap.wrap(sentence, WIDTH, initial_indent="- ", subsequent_indent="  ")
    return "\n".join(lines)


def _table(statistics: Statistics) -> list[str]:
    rows = {**statistics.splits, "whole": statistics.whole}
    if statistics.corpus not in PUBLISHED:
        head = f"{statistics.corpus:<14}{'dialogues':>10}{'turns':>9}{'words':>9}{'labels':>8}"
        return [head, *(_row(name, count) for name, count in rows.items())]
    published, labels = PUBLISHED[statistics.corpus]
    lines = [
        f"{statistics.corpus:<14}{'counted':>10}{'':>9}{'':>9}{'':>8}{'paper':>13}",
        f"{'':<14}{'dialogues':>10}{'turns':>9}{'words':>9}{'labels':>8}"
        f"{'dialogues':>13}{'turns':>7}{'words':>7}{'labels':>8}",
    ]
    for name, count in rows.items():
        if name in published:
            dialogues, turns, words = published[name]
            lines.append(f"{_row(name, count)}{dialogues:>13,}{turns:>7}{words:>7}")
        else:
            lines.append(f"{_row(name, count)}{'':>27}{labels:>8}")
    return lines


def _row(name: str, count: Count) -> str:
    return f"{name:<14}{count.dialogues:>10,}{count.turns:>9.2f}{count.words:>9.2f}{count.labels:>8}"
