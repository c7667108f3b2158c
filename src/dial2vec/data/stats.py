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
from dial2vec.extension import papers

# Number of listed reasons; further reasons are only counted.
MAX_REASONS = 10
# Line width of sentences in a terminal.
WIDTH = 100


@dataclass(frozen=True, slots=True)
class Count:
    """Counts of some dialogues.

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
    for remark in papers("counts").get(statistics.corpus, {}).get("remarks", ()):
        lines += textwrap.wrap(remark, WIDTH, initial_indent="- ", subsequent_indent="  ")
    return "\n".join(lines)


def _table(statistics: Statistics) -> list[str]:
    rows = {**statistics.splits, "whole": statistics.whole}
    published = papers("counts").get(statistics.corpus)
    if published is None:
        head = f"{statistics.corpus:<14}{'dialogues':>10}{'turns':>9}{'words':>9}{'labels':>8}"
        return [head, *(_row(name, count) for name, count in rows.items())]
    lines = [
        f"{statistics.corpus:<14}{'counted':>10}{'':>9}{'':>9}{'':>8}{'paper':>13}",
        f"{'':<14}{'dialogues':>10}{'turns':>9}{'words':>9}{'labels':>8}"
        f"{'dialogues':>13}{'turns':>7}{'words':>7}{'labels':>8}",
    ]
    for name, count in rows.items():
        if name in published["splits"]:
            dialogues, turns, words = published["splits"][name]
            lines.append(f"{_row(name, count)}{dialogues:>13,}{turns:>7}{words:>7}")
        else:
            lines.append(f"{_row(name, count)}{'':>27}{published['labels']:>8}")
    return lines


def _row(name: str, count: Count) -> str:
    return f"{name:<14}{count.dialogues:>10,}{count.turns:>9.2f}{count.words:>9.2f}{count.labels:>8}"
