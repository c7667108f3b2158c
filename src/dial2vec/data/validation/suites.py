"""Expectations, in words and for Great Expectations, and their checks on a data frame."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dial2vec.config import Validate
from dial2vec.data.validation.result import N_EXAMPLES, Suite, ValidationResult
from dial2vec.errors import ValidationError

Expectations = list[tuple[str, Any]]
# The result of an expectation, and the rows that fail it.
Check = tuple[ValidationResult, NDArray[np.int64]]
# Start of the expectation that guards the others of its suite; the page shows it only if it fails.
GUARD = "a whole table of"
TURN_COLUMNS = ["place", "turn", "speaker", "words"]
DIALOGUE_COLUMNS = [
    *("dialogue_id", "n_turns", "n_speakers", "words", "split", "alternation", "labelled"),
    *("id_hash", "text_hash", "record_hash"),
]


def of_turns(limits: Validate) -> Expectations:
    """Return expectations about single turns; the first one guards the rest."""
    import great_expectations.expectations as gxe

    roles = list(limits.roles)
    known = gxe.ExpectColumnValuesToBeInSet(column="speaker", value_set=roles)
    return [
        (
            f"{GUARD} turns",
            gxe.ExpectTableColumnsToMatchSet(column_set=TURN_COLUMNS),
        ),
        ("text in every turn", gxe.ExpectColumnValuesToBeBetween(column="words", min_value=1)),
        ("a speaker for every turn", gxe.ExpectColumnValuesToMatchRegex(column="speaker", regex=r"\S")),
        (
            f"at most {limits.max_turn_words} words per turn",
            gxe.ExpectColumnValuesToBeBetween(column="words", max_value=limits.max_turn_words),
        ),
        *([(f"every speaker to be {' or '.join(roles)}", known)] if roles else []),
    ]


def of_dialogues(limits: Validate) -> Expectations:
    """Return expectations about single dialogues; the first one guards the rest."""
    import great_expectations.expectations as gxe

    return [
        (f"{GUARD} dialogues", gxe.ExpectTableColumnsToMatchSet(column_set=DIALOGUE_COLUMNS)),
        ("an id for every dialogue", gxe.ExpectColumnValuesToMatchRegex(column="dialogue_id", regex=r"\S")),
        ("at least one turn per dialogue", gxe.ExpectColumnValuesToBeBetween(column="n_turns", min_value=1)),
        (
            f"at most {limits.max_speakers} speakers per dialogue",
            gxe.ExpectColumnValuesToBeBetween(column="n_speakers", max_value=limits.max_speakers),
        ),
        (
            "split to be train, dev, test or none",
            gxe.ExpectColumnValuesToBeInSet(column="split", value_set=["train", "dev", "test", "none"]),
        ),
    ]


def of_corpus(limits: Validate, *, drift: bool) -> Expectations:
    """Return expectations about the whole corpus.

    :param drift: True if there is an earlier version to compare with.
    """
    import great_expectations.expectations as gxe

    def at_most(column: str, limit: float, words: str) -> tuple[str, Any]:
        return words, gxe.ExpectColumnMaxToBeBetween(column=column, max_value=limit)

    def at_least(column: str, limit: float, words: str) -> tuple[str, Any]:
        return words, gxe.ExpectColumnMinToBeBetween(column=column, min_value=limit)

    maxima = {
        "quarantined": (limits.max_quarantined_share, "the records quarantined"),
        "one_speaker": (limits.max_one_speaker_share, "the dialogues with one speaker only"),
        "near_empty": (limits.max_near_empty_share, f"the dialogues with fewer than {limits.near_empty_words} words"),
        "over_long": (limits.max_over_long_share, f"the dialogues with more than {limits.over_long_words} words"),
        "duplicate": (limits.max_duplicate_share, "the dialogues with the text of an earlier one"),
    }
    minima = {
        "labelled": (limits.min_labelled_share, "the dialogues with a label"),
        "alternation": (limits.min_alternation, "the turns to answer another speaker"),
    }
    expectations = [
        at_least("dialogues", limits.min_dialogues, f"at least {limits.min_dialogues} dialogues"),
        at_most("repeated_ids", 0, "every dialogue id once"),
        *(at_most(name, limit, f"at most {limit:.1%} of {words}") for name, (limit, words) in maxima.items()),
        *(at_least(name, limit, f"at least {limit:.1%} of {words}") for name, (limit, words) in minima.items()),
    ]
    if drift:
        expectations += [
            at_most(
                "length_drift",
                limits.max_length_drift,
                f"lengths as before (at most {limits.max_length_drift:.1%} of the dialogues longer or shorter)",
            ),
            at_most(
                "language_drift",
                limits.max_language_drift,
                f"languages as before (at most {limits.max_language_drift:.1%} of the dialogues in others)",
            ),
            at_most(
                "size_drift",
                limits.max_size_drift,
                f"as many dialogues as before (at most {limits.max_size_drift:.1%} fewer)",
            ),
        ]
    return expectations


class Suites:
    """Checks of data frames by Great Expectations.

    :param expectations: Expectations of each suite, in words and for Great Expectations.
    """

    def __init__(self, expectations: dict[Suite, Expectations]) -> None:
        import great_expectations as gx

        # Silences messages about a folder for pages that are never made; the import resets the level, so set it after.
        logging.getLogger("great_expectations.data_context.types.base").setLevel(logging.WARNING)
        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = {"globally": False, "metric_calculations": False}
        source = context.data_sources.add_pandas("dialogues")
        self.suites: dict[Suite, Any] = {}
        self.batches: dict[Suite, Any] = {}
        for name, pairs in expectations.items():
            self.suites[name] = gx.ExpectationSuite(name=name)
            for words, expectation in pairs:
                expectation.meta = {"words": words}
                self.suites[name].add_expectation(expectation)
            self.batches[name] = source.add_dataframe_asset(name).add_batch_definition_whole_dataframe("all")

    def unchecked(self) -> list[ValidationResult]:
        """Return the result of each expectation before anything is checked."""
        return [
            ValidationResult(name, expectation.meta["words"])
            for name, suite in self.suites.items()
            for expectation in suite.expectations
        ]

    def check(self, name: Suite, frame: pd.DataFrame, *, describe: Callable[[int], str]) -> list[Check]:
        """Check a data frame, and return the result of each expectation with the failing rows.

        :param describe: Function from a row to its description.
        :raises ValidationError: if an expectation cannot be checked, because unchecked data must not pass.
        """
        batch = self.batches[name].get_batch({"dataframe": frame})
        checked = batch.validate(self.suites[name], result_format={"result_format": "COMPLETE"})
        checks = []
        for item in checked.results:
            words, details = item.expectation_config.meta["words"], item.result or {}
            if _raised(item.exception_info or {}) or (words.startswith(GUARD) and not item.success):
                raise ValidationError(
                    f"'{words}' could not be checked, which is a fault of dial2vec or its libraries, not of the data. "
                    "Install the versions of requirements.lock (`make install`), and report the error if it stays."
                )
            rows = np.array(details.get("unexpected_index_list") or [], dtype=np.int64)
            failed = len(rows) if "unexpected_count" in details else int(not item.success)
            examples = [describe(int(row)) for row in rows[:N_EXAMPLES]]
            observed = _in_words(details.get("observed_value"))
            checks.append((ValidationResult(name, words, observed, failed, examples), rows))
        return checks


def _raised(info: dict[str, Any]) -> bool:
    """Return whether an expectation could not be checked; Great Expectations reports it at one of two levels."""
    inner = [value for value in info.values() if isinstance(value, dict)]
    return any(bool(level.get("raised_exception")) for level in [info, *inner])


def _in_words(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.1%}"
    if isinstance(value, (int, np.integer)):
        return f"{value:,}"
    return "" if isinstance(value, list) or value is None else str(value)
