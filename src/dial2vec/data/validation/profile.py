"""What a corpus looks like as a whole, and how far that has moved since its last version."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dial2vec.dialogue import Dialogue

LANGUAGE_SAMPLE = 1000
# Labels can be as many as dialogues, and the profile is to be committed.
N_LABELS = 100
# Too little text names a language by chance.
LANGUAGE_WORDS = 5
# From which number of words on each bin reaches: four bins between a length and its double, up to a million.
LENGTH_BINS = np.unique(np.concatenate([[0], np.ceil(2 ** (np.arange(81) / 4))])).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Profile:
    """The shape of one version of a corpus; small enough to be committed.

    :param fingerprint: equal for two versions with the same dialogues, labels too, in whatever order.
    :param dialogues: how many.
    :param turns: how many, of all of them.
    :param one_speaker: dialogues with one speaker only.
    :param labels: dialogues per label, most frequent first, of the 100 most frequent ones.
    :param n_labels: number of different labels.
    :param lengths: dialogues by words: least words of a bin of `LENGTH_BINS` -> how many, empty bins left out.
    :param words: deciles of the words per dialogue, from least to most, 11 figures.
    :param languages: share of each language (ISO 639-1) in a sample of dialogues, most frequent first.
    """

    fingerprint: str
    dialogues: int
    turns: int
    one_speaker: int
    labels: dict[str, int]
    n_labels: int
    lengths: dict[str, int]
    words: list[int]
    languages: dict[str, float]

    def to_record(self) -> dict[str, Any]:
        """Return a plain record for JSON."""
        return asdict(self)

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Profile:
        """Return what `to_record` was made of.

        :raises ValueError: when the record is of another version, or damaged.
        """
        kinds = {"labels": dict, "lengths": dict, "languages": dict, "words": list}
        if not isinstance(record, dict) or record.keys() != {field.name for field in fields(cls)}:
            raise ValueError("its keys are others")
        if not all(isinstance(record[key], kind) for key, kind in kinds.items()):
            raise ValueError("its values are of other kinds")
        return cls(**record)

    def drift_since(self, earlier: Profile) -> tuple[float, float]:
        """Return how far lengths and languages have moved, each between 0 (not at all) and 1.

        Of lengths it is the greatest difference between the two cumulated shares (Kolmogorov and Smirnov's statistic
        over the bins), of languages half the sum of the differences of their shares (total variation).
        """
        now, before = (np.cumsum(_shares(one.lengths)) for one in (self, earlier))
        names = {*self.languages, *earlier.languages}
        moved = sum(abs(self.languages.get(name, 0.0) - earlier.languages.get(name, 0.0)) for name in names)
        if not self.languages or not earlier.languages:
            moved = 0.0
        return float(np.abs(now - before).max(initial=0.0)), moved / 2


def _shares(lengths: dict[str, int]) -> NDArray[np.float64]:
    counts = np.array([lengths.get(str(least), 0) for least in LENGTH_BINS], dtype=np.float64)
    return counts / max(counts.sum(), 1)


def profile_of(frame: pd.DataFrame, *, labels: Counter[str], languages: dict[str, float]) -> Profile:
    """Return the profile of a corpus.

    :param frame: `frames.dialogue_frame` of all dialogues.
    :param labels: dialogues per label.
    :param languages: share of each language.
    """
    words = frame["words"].to_numpy()
    bins, counts = np.unique(np.searchsorted(LENGTH_BINS, words, side="right") - 1, return_counts=True)
    # A sum does not know the order of what was added; it wraps around at 2^64 on purpose.
    mixed = int(frame["record_hash"].to_numpy().sum(dtype=np.uint64))
    # Of equally frequent labels, not the one that was read first.
    ranked = sorted(labels.items(), key=lambda item: (-item[1], item[0]))
    deciles = np.quantile(words, np.arange(11) / 10) if len(words) else np.zeros(11)
    return Profile(
        fingerprint=f"{len(frame)}-{mixed:016x}",
        dialogues=len(frame),
        turns=int(frame["n_turns"].sum()),
        one_speaker=int((frame["n_speakers"] < 2).sum()),
        labels=dict(ranked[:N_LABELS]),
        n_labels=len(labels),
        lengths={str(LENGTH_BINS[place]): int(count) for place, count in zip(bins, counts, strict=True)},
        words=[int(words) for words in deciles],
        languages=languages,
    )


class LanguageSample:
    """Languages of the dialogues with the smallest hashes of their ids: nearly the same ones when others arrive."""

    def __init__(self) -> None:
        self.hashes = np.zeros(0, dtype=np.uint64)
        self.languages: list[str] = []

    def add(self, dialogues: list[Dialogue], frame: pd.DataFrame) -> None:
        """Look at a block of dialogues, and name the language of those that belong to the sample so far.

        :param frame: `frames.dialogue_frame` of them.
        """
        import py3langid

        id_hashes, long = frame["id_hash"].to_numpy(), frame["words"].to_numpy() >= LANGUAGE_WORDS
        full = len(self.hashes) == LANGUAGE_SAMPLE
        small = np.flatnonzero(long & (id_hashes < self.hashes[-1]) if full else long)
        small = small[np.argsort(id_hashes[small], kind="stable")][:LANGUAGE_SAMPLE]
        texts = [" ".join(turn.text for turn in dialogues[place].turns) for place in small]
        named = [str(py3langid.classify(text)[0]) for text in texts]
        merged = np.concatenate([self.hashes, id_hashes[small]])
        order = np.argsort(merged, kind="stable")[:LANGUAGE_SAMPLE]
        both = self.languages + named
        self.hashes, self.languages = merged[order], [both[place] for place in order]

    def shares(self) -> dict[str, float]:
        """Return the share of each language, most frequent first."""
        return {name: round(count / len(self.languages), 4) for name, count in Counter(self.languages).most_common()}
