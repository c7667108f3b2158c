"""Sums of the checks over the blocks of a corpus, its profile, and the expectations about the whole."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd

from conversations.dialogue import Quarantined
from dial2vec.config import Validate
from dial2vec.data.validation.block import Block, suites_of
from dial2vec.data.validation.frames import dialogue_frame
from dial2vec.data.validation.profile import LanguageSample, Profile, profile_of
from dial2vec.data.validation.result import N_EXAMPLES, ValidationResult
from dial2vec.data.validation.suites import Suites, of_corpus


class Checker:
    """Sums of the checks of a corpus: call `add` for each of its blocks, then `profile` and `results`.

    Memory holds about 60 bytes per checked dialogue.

    :param limits: Block `validate` of params.yaml.
    :param quarantine: Records of the corpus that are not used, of which the results count the share.
    """

    def __init__(self, limits: Validate, *, quarantine: list[Quarantined]) -> None:
        self.limits, self.quarantine = limits, quarantine
        self.found = {result.expectation: result for result in suites_of(limits).unchecked()}
        self.frames: list[pd.DataFrame] = []
        self.labels: Counter[str] = Counter()
        self.languages = LanguageSample()

    def add(self, block: Block) -> None:
        """Count what was found in a block."""
        for result in block.results:
            total = self.found[result.expectation]
            total.found, total.failed = result.found, total.failed + result.failed
            total.examples = (total.examples + result.examples)[:N_EXAMPLES]
        self.frames.append(block.frame)
        self.labels.update(block.labels)
        self.languages.join(block.languages)

    def profile(self) -> Profile:
        """Return the profile of all dialogues that passed."""
        return profile_of(self._all(), labels=self.labels, languages=self.languages.shares())

    def results(self, profile: Profile, *, earlier: Profile | None) -> list[ValidationResult]:
        """Return one result per expectation, including those about the whole corpus.

        :param earlier: Profile of the previous version; None skips the expectations about drift.
        """
        suites = Suites({"corpus": of_corpus(self.limits, drift=earlier is not None)})
        frame = self._corpus_frame()
        if earlier is not None:
            frame["length_drift"], frame["language_drift"], frame["size_drift"] = profile.drift_since(earlier)
        results = [result for result, _ in suites.check("corpus", frame, describe=str)]
        for result in results:
            if "quarantined" in result.expectation and result.failed:
                result.examples = [str(record) for record in self.quarantine[:N_EXAMPLES]]
        return [*self.found.values(), *results]

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
