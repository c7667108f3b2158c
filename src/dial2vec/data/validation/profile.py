"""Profile of a corpus, and its drift since the previous version."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conversations.dialogue import Dialogue

LANGUAGE_SAMPLE = 1000
# Limited, because a corpus may have as many labels as dialogues, and the profile is committed.
N_LABELS = 100
# Shorter texts do not identify a language.
LANGUAGE_WORDS = 5
# Larger than all hashes but one.
NO_LIMIT = 2**64 - 1
# Minimum number of words of each bin: four bins per doubling, up to a million.
LENGTH_BINS = np.unique(np.concatenate([[0], np.ceil(2 ** (np.arange(81) / 4))])).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Profile:
    """Summary of one version of a corpus, small enough to be committed.

    :param fingerprint: Hash of all dialogues and labels, independent of their order.
    :param turns: Number of turns in all dialogues.
    :param one_speaker: Number of dialogues with one speaker only.
    :param labels: Label -> number of dialogues, for the 100 most frequent labels, most frequent first.
    :param n_labels: Number of different labels.
    :param lengths: Minimum words of a bin of `LENGTH_BINS` -> number of dialogues, without empty bins.
    :param words: Deciles of the words per dialogue, minimum to maximum, 11 numbers.
    :param languages: Language (ISO 639-1) -> share in a sample of dialogues, most frequent first.
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
        """Return a record for JSON."""
        return asdict(self)

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Profile:
        """Return the profile of a record from `to_record`.

        :raises ValueError: if the record is damaged or of another version.
        """
        kinds = {"labels": dict, "lengths": dict, "languages": dict, "words": list}
        if not isinstance(record, dict) or record.keys() != {field.name for field in fields(cls)}:
            raise ValueError("its keys are others")
        if not all(isinstance(record[key], kind) for key, kind in kinds.items()):
            raise ValueError("its values are of other kinds")
        return cls(**record)

    def drift_since(self, earlier: Profile) -> tuple[float, float, float]:
        """Return the drift of lengths, of languages and of the size, each in [0, 1].

        Drift of lengths is the largest difference of cumulative shares (Kolmogorov-Smirnov statistic over the bins).
        Drift of languages is half the sum of the differences of the shares (total variation). Drift of the size is the
        share of the dialogues by which there are fewer.
        """
        now, before = (np.cumsum(_shares(profile.lengths)) for profile in (self, earlier))
        names = {*self.languages, *earlier.languages}
        moved = sum(abs(self.languages.get(name, 0.0) - earlier.languages.get(name, 0.0)) for name in names)
        if not self.languages or not earlier.languages:
            moved = 0.0
        lost = max(0.0, 1 - self.dialogues / max(earlier.dialogues, 1))
        return float(np.abs(now - before).max(initial=0.0)), moved / 2, lost


def _shares(lengths: dict[str, int]) -> NDArray[np.float64]:
    counts = np.array([lengths.get(str(words), 0) for words in LENGTH_BINS], dtype=np.float64)
    return counts / max(counts.sum(), 1)


def profile_of(frame: pd.DataFrame, *, labels: Counter[str], languages: dict[str, float]) -> Profile:
    """Return the profile of a corpus.

    :param frame: Data frame of all dialogues, from `frames.dialogue_frame`.
    :param labels: Label -> number of dialogues.
    :param languages: Language -> share.
    """
    words = frame["words"].to_numpy()
    bins, counts = np.unique(np.searchsorted(LENGTH_BINS, words, side="right") - 1, return_counts=True)
    # A sum is independent of the order. It wraps around at 2^64 on purpose.
    mixed = int(frame["record_hash"].to_numpy().sum(dtype=np.uint64))
    # Equally frequent labels are sorted by name, so that the order of reading does not matter.
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
    """Languages of the dialogues with the smallest id hashes, a sample that hardly changes when dialogues arrive.

    :param below: Hash from which on a dialogue cannot be in the whole sample.
    """

    def __init__(self, below: int = NO_LIMIT) -> None:
        self.below = below
        self.hashes = np.zeros(0, dtype=np.uint64)
        self.languages: list[str] = []

    @property
    def limit(self) -> int:
        """Return the hash from which on a dialogue does not enter the sample."""
        return int(self.hashes[-1]) if len(self.hashes) == LANGUAGE_SAMPLE else self.below

    def add(self, dialogues: list[Dialogue], frame: pd.DataFrame) -> None:
        """Add a block of dialogues, and detect the languages of those that enter the sample.

        :param frame: Data frame of the block, from `frames.dialogue_frame`.
        """
        import py3langid

        id_hashes, long = frame["id_hash"].to_numpy(), frame["words"].to_numpy() >= LANGUAGE_WORDS
        small = np.flatnonzero(long & (id_hashes < np.uint64(self.limit)))
        small = small[np.argsort(id_hashes[small], kind="stable")][:LANGUAGE_SAMPLE]
        texts = [dialogues[place].text for place in small]
        self._merge(id_hashes[small], [str(py3langid.classify(text)[0]) for text in texts])

    def join(self, other: LanguageSample) -> None:
        """Add the sample of other dialogues."""
        self._merge(other.hashes, other.languages)

    def _merge(self, hashes: NDArray[np.uint64], languages: list[str]) -> None:
        merged = np.concatenate([self.hashes, hashes])
        order = np.argsort(merged, kind="stable")[:LANGUAGE_SAMPLE]
        both = self.languages + languages
        self.hashes, self.languages = merged[order], [both[place] for place in order]

    def shares(self) -> dict[str, float]:
        """Return the share of each language, most frequent first."""
        return {name: round(count / len(self.languages), 4) for name, count in Counter(self.languages).most_common()}
