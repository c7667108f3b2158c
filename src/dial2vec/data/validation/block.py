"""Checks of one block of dialogues, in any process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from conversations.dialogue import Dialogue, Origin, Quarantined
from dial2vec.config import Validate
from dial2vec.data.validation.frames import dialogue_frame, turn_frame
from dial2vec.data.validation.profile import NO_LIMIT, LanguageSample
from dial2vec.data.validation.result import ValidationResult
from dial2vec.data.validation.suites import Check, Suites, of_dialogues, of_turns


@dataclass(frozen=True, slots=True)
class Block:
    """What the checks of a block of dialogues found.

    :param reasons: Place of each failing dialogue -> its first failure.
    :param results: Result of each expectation about turns and dialogues.
    :param frame: Row per passing dialogue, as `frames.dialogue_frame` without ids and splits.
    :param labels: Label -> number of passing dialogues.
    :param languages: Sample of the passing dialogues.
    """

    reasons: dict[int, str]
    results: list[ValidationResult]
    frame: pd.DataFrame
    labels: Counter[str]
    languages: LanguageSample

    def failures(self, dialogues: Sequence[Dialogue]) -> list[Quarantined]:
        """Return the failing dialogues of the block, in their order."""
        return [
            Quarantined(dialogues[place].origin or Origin("", 0), dialogues[place].dialogue_id, reason)
            for place, reason in sorted(self.reasons.items())
        ]


def check_block(dialogues: Sequence[Dialogue], limits: Validate, *, below: int = NO_LIMIT) -> Block:
    """Check dialogues by Great Expectations.

    :param limits: Block `validate` of params.yaml.
    :param below: Hash of an id from which on no language is needed, because the sample of earlier blocks is full.
    """
    frame = dialogue_frame(dialogues)
    checks = _checks(dialogues, frame, limits)
    reasons = _first_failures(checks, dialogues)
    good = [place for place in range(len(dialogues)) if place not in reasons]
    passing, frame = [dialogues[place] for place in good], frame.iloc[good]
    languages = LanguageSample(below)
    languages.add(passing, frame)
    return Block(
        reasons,
        [result for suite in checks for result, _ in suite],
        frame.drop(columns=["dialogue_id", "split"]),
        Counter(label for dialogue in passing for label in dialogue.labels),
        languages,
    )


def _checks(dialogues: Sequence[Dialogue], frame: pd.DataFrame, limits: Validate) -> tuple[list[Check], list[Check]]:
    """Return the checks of turns, with rows of `turn_frame`, and of dialogues."""
    suites, turns = suites_of(limits), turn_frame(dialogues)
    places, numbers = turns["place"].to_numpy(), turns["turn"].to_numpy()

    def turn(row: int) -> str:
        return f"turn {numbers[row]} of {dialogues[places[row]].dialogue_id!r}"

    of_turn = suites.check("turns", turns, describe=turn)
    return of_turn, suites.check("dialogues", frame, describe=lambda row: repr(dialogues[row].dialogue_id))


def _first_failures(checks: tuple[list[Check], list[Check]], dialogues: Sequence[Dialogue]) -> dict[int, str]:
    """Return the place of each failing dialogue -> its first failure; those of turns count first."""
    sizes = np.array([len(dialogue.turns) for dialogue in dialogues], dtype=np.int64)
    places, first = np.repeat(np.arange(len(sizes)), sizes), np.cumsum(sizes) - sizes
    reasons: dict[int, str] = {}
    for result, rows in checks[0]:
        for row in rows.tolist():
            place = int(places[row])
            number = row - first[place] + 1
            reasons.setdefault(place, f"expected {result.expectation}, otherwise in turn {number}")
    for result, rows in checks[1]:
        for row in rows.tolist():
            reasons.setdefault(row, f"expected {result.expectation}")
    return reasons


@lru_cache(maxsize=1)
def suites_of(limits: Validate) -> Suites:
    """Return the expectations about turns and dialogues, which take a second to make."""
    return Suites({"turns": of_turns(limits), "dialogues": of_dialogues(limits)})
