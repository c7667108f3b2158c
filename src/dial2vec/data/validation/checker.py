"""Checks of a streamed corpus; dialogues that fail an expectation go to quarantine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
import pandas as pd

from dial2vec.config import Validate
from dial2vec.data.validation.frames import dialogue_frame, turn_frame
from dial2vec.data.validation.profile import LanguageSample, Profile, profile_of
from dial2vec.data.validation.result import N_EXAMPLES, ValidationResult
from dial2vec.data.validation.suites import Suites, of_corpus, of_dialogues, of_turns
from dial2vec.dialogue import Dialogue, Origin, Quarantined

BLOCK = 10_000


class Checker:
    """Checks of a corpus: call `passing` first, then `results`.

    Memory holds one block of dialogues and about 60 bytes per checked dialogue.

    :param limits: Block `validate` of params.yaml.
    :param quarantine: List that receives failing dialogues, and records that the reader rejects.
    """

    def __init__(self, limits: Validate, *, quarantine: list[Quarantined]) -> None:
        self.limits, self.quarantine = limits, quarantine
        self.suites = Suites({"turns": of_turns(limits), "dialogues": of_dialogues(limits)})
        self.frames: list[pd.DataFrame] = []
        self.labels: Counter[str] = Counter()
        self.languages = LanguageSample()

    def passing(self, dialogues: Iterable[Dialogue], *, block: int = BLOCK) -> Iterator[Dialogue]:
        """Stream the dialogues that meet every expectation; quarantine the others with their first failure."""
        stream = iter(dialogues)
        while taken := list(islice(stream, block)):
            frame = dialogue_frame(taken)
            reasons = self._broken(taken, frame)
            good = [place for place in range(len(taken)) if place not in reasons]
            for place, reason in sorted(reasons.items()):
                origin = taken[place].origin or Origin("", 0)
                self.quarantine.append(Quarantined(origin, taken[place].dialogue_id, reason))
            frame = frame.iloc[good]
            self.frames.append(frame.drop(columns=["dialogue_id", "split"]))
            self.languages.add([taken[place] for place in good], frame)
            for place in good:
                self.labels.update(taken[place].labels)
                yield taken[place]

    def _broken(self, taken: list[Dialogue], frame: pd.DataFrame) -> dict[int, str]:
        """Return the place of each failing dialogue -> its first failure."""
        turns = turn_frame(taken)
        places, numbers = turns["place"].to_numpy(), turns["turn"].to_numpy()
        reasons: dict[int, str] = {}

        def turn(row: int) -> str:
            return f"turn {numbers[row]} of {taken[places[row]].dialogue_id!r}"

        for words, rows in self.suites.check("turns", turns, describe=turn).items():
            for row in rows:
                reasons.setdefault(int(places[row]), f"expected {words}, otherwise in turn {numbers[row]}")
        failed = self.suites.check("dialogues", frame, describe=lambda row: repr(taken[row].dialogue_id))
        for words, rows in failed.items():
            for row in rows:
                reasons.setdefault(int(row), f"expected {words}")
        return reasons

    def profile(self) -> Profile:
        """Return the profile of all dialogues that passed."""
        return profile_of(self._all(), labels=self.labels, languages=self.languages.shares())

    def results(self, profile: Profile, *, earlier: Profile | None) -> list[ValidationResult]:
        """Return one result per expectation, including those about the whole corpus.

        :param profile: Profile of the corpus, from `profile`.
        :param earlier: Profile of the previous version; None skips the two expectations about drift.
        """
        suites = Suites({"corpus": of_corpus(self.limits, drift=earlier is not None)})
        frame = self._corpus_frame()
        if earlier is not None:
            frame["length_drift"], frame["language_drift"] = profile.drift_since(earlier)
        suites.check("corpus", frame, describe=str)
        for result in suites.results.values():
            if "quarantined" in result.expectation and result.failed:
                result.examples = [str(record) for record in self.quarantine[:N_EXAMPLES]]
        return [*self.suites.results.values(), *suites.results.values()]

    def _all(self) -> pd.DataFrame:
        return pd.concat(self.frames or [dialogue_frame([])], ignore_index=True)

    def _corpus_frame(self) -> pd.DataFrame:
        """Return the single row that expectations about the whole corpus check."""
        frame, limits = self._all(), self.limits
        n = max(len(frame), 1)
        answers = frame["n_turns"].to_numpy() - 1
        share = np.nan_to_num(frame["alternation"].to_numpy())
        row = {
            "dialogues": len(frame),
            "repeated_ids": len(frame) - len(np.unique(frame["id_hash"])),
            "quarantined": len(self.quarantine) / max(len(frame) + len(self.quarantine), 1),
            "one_speaker": (frame["n_speakers"] < 2).sum() / n,
            "near_empty": (frame["words"] < limits.near_empty_words).sum() / n,
            "over_long": (frame["words"] > limits.over_long_words).sum() / n,
            "duplicate": (len(frame) - len(np.unique(frame["text_hash"]))) / n,
            "labelled": frame["labelled"].sum() / n,
            "alternation": float((share * answers).sum() / max(answers.sum(), 1)),
        }
        return pd.DataFrame({name: [value] for name, value in row.items()})
