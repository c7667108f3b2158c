"""Great Expectations suites that stand between a corpus and everything that is paid for."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from dial2vec.config import Validate
from dial2vec.dialogue import Dialogue, SetAside
from dial2vec.errors import ValidationError

N_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one expectation found.

    :param suite: "reading", "dialogues" or "turns".
    :param expectation: what was expected, in words.
    :param success: whether it holds.
    :param observed: what was found, in words.
    :param examples: up to three places where it does not hold.
    """

    suite: str
    expectation: str
    success: bool
    observed: str
    examples: list[str]


def check(dialogues: Sequence[Dialogue], set_aside: Sequence[SetAside], *, limits: Validate) -> list[Outcome]:
    """Run all suites on what was read, and return one outcome per expectation.

    Nothing is changed; call `require` to stop at a failure.
    """
    import great_expectations as gx

    # It announces a folder for pages that are never made, and sets its own level while it is imported.
    logging.getLogger("great_expectations.data_context.types.base").setLevel(logging.WARNING)
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False, "metric_calculations": False}
    source = context.data_sources.add_pandas("dialogues")
    frames = {
        "reading": _reading_frame(dialogues, set_aside),
        "dialogues": _dialogue_frame(dialogues),
        "turns": _turn_frame(dialogues),
    }
    outcomes = []
    for name, expectations in _suites(limits).items():
        suite = gx.ExpectationSuite(name=name)
        for words, expectation in expectations:
            expectation.meta = {"words": words}
            suite.add_expectation(expectation)
        batch = source.add_dataframe_asset(name).add_batch_definition_whole_dataframe("all")
        result = batch.get_batch({"dataframe": frames[name]}).validate(
            suite, result_format={"result_format": "SUMMARY", "partial_unexpected_count": 20}
        )
        outcomes += [_outcome(name, item, frames[name], set_aside) for item in result.results]
    return outcomes


def require(outcomes: Sequence[Outcome], *, corpus: str) -> None:
    """Raise when an expectation failed.

    :raises ValidationError: naming every failed expectation, what was found, and examples.
    """
    failed = [outcome for outcome in outcomes if not outcome.success]
    if failed:
        lines = [
            f"  [{outcome.suite}] expected {outcome.expectation}; found {outcome.observed}"
            + "".join(f"\n      for example {example}" for example in outcome.examples)
            for outcome in failed
        ]
        raise ValidationError(
            f"{corpus}: {len(failed)} of {len(outcomes)} expectations failed, so the pipeline stops here.\n"
            + "\n".join(lines)
            + f"\nMend the data in data/{corpus}, or change the limits in block `validate` of params.yaml."
        )


def to_records(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Return the outcomes as plain records for JSON."""
    return [asdict(outcome) for outcome in outcomes]


Suite = list[tuple[str, Any]]


def _suites(limits: Validate) -> dict[str, Suite]:
    """Expectations in words, with their Great Expectations form; the first of each suite guards the rest."""
    return {"reading": _of_reading(limits), "dialogues": _of_dialogues(limits), "turns": _of_turns(limits)}


def _of_reading(limits: Validate) -> Suite:
    import great_expectations.expectations as gxe

    return [
        (
            f"at most {limits.max_set_aside_share:.1%} of the records set aside",
            gxe.ExpectColumnMaxToBeBetween(column="set_aside_share", max_value=limits.max_set_aside_share),
        ),
        (
            f"at most {limits.max_one_speaker_share:.1%} of the dialogues with one speaker only",
            gxe.ExpectColumnMaxToBeBetween(column="one_speaker_share", max_value=limits.max_one_speaker_share),
        ),
    ]


def _of_dialogues(limits: Validate) -> Suite:
    import great_expectations.expectations as gxe

    return [
        (
            "the columns dialogue_id, n_turns, n_speakers, split",
            gxe.ExpectTableColumnsToMatchSet(column_set=["dialogue_id", "n_turns", "n_speakers", "split"]),
        ),
        (
            f"at least {limits.min_dialogues} dialogues",
            gxe.ExpectTableRowCountToBeBetween(min_value=limits.min_dialogues),
        ),
        ("an id for every dialogue", gxe.ExpectColumnValuesToMatchRegex(column="dialogue_id", regex=r"\S")),
        ("every dialogue id once", gxe.ExpectColumnValuesToBeUnique(column="dialogue_id")),
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


def _of_turns(limits: Validate) -> Suite:
    import great_expectations.expectations as gxe

    return [
        (
            "the columns dialogue_id, turn, speaker, text, words",
            gxe.ExpectTableColumnsToMatchSet(column_set=["dialogue_id", "turn", "speaker", "text", "words"]),
        ),
        ("text in every turn", gxe.ExpectColumnValuesToMatchRegex(column="text", regex=r"\S")),
        ("a speaker for every turn", gxe.ExpectColumnValuesToMatchRegex(column="speaker", regex=r"\S")),
        (
            f"at most {limits.max_turn_words} words per turn",
            gxe.ExpectColumnValuesToBeBetween(column="words", max_value=limits.max_turn_words),
        ),
        (
            "every turn number once per dialogue",
            gxe.ExpectCompoundColumnsToBeUnique(column_list=["dialogue_id", "turn"]),
        ),
    ]


def _reading_frame(dialogues: Sequence[Dialogue], set_aside: Sequence[SetAside]) -> pd.DataFrame:
    read = len(dialogues) + len(set_aside)
    one_speaker = sum(dialogue.n_speakers < 2 for dialogue in dialogues)
    return pd.DataFrame(
        {
            "set_aside_share": [len(set_aside) / max(read, 1)],
            "one_speaker_share": [one_speaker / max(len(dialogues), 1)],
        }
    )


def _dialogue_frame(dialogues: Sequence[Dialogue]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "dialogue_id": [dialogue.dialogue_id for dialogue in dialogues],
            "n_turns": [len(dialogue.turns) for dialogue in dialogues],
            "n_speakers": [dialogue.n_speakers for dialogue in dialogues],
            "split": [dialogue.split or "none" for dialogue in dialogues],
        }
    )


def _turn_frame(dialogues: Sequence[Dialogue]) -> pd.DataFrame:
    turns = [(d.dialogue_id, i, turn) for d in dialogues for i, turn in enumerate(d.turns, start=1)]
    return pd.DataFrame(
        {
            "dialogue_id": [dialogue_id for dialogue_id, _, _ in turns],
            "turn": [number for _, number, _ in turns],
            "speaker": [turn.speaker for _, _, turn in turns],
            "text": [turn.text for _, _, turn in turns],
            "words": [len(turn.text.split()) for _, _, turn in turns],
        }
    )


def _outcome(suite: str, item: Any, frame: pd.DataFrame, set_aside: Sequence[SetAside]) -> Outcome:
    result = item.result or {}
    words = item.expectation_config.meta["words"]
    if item.exception_info and item.exception_info.get("raised_exception"):
        return Outcome(suite, words, False, "a column that could not be checked", [])
    places = [int(place) for place in result.get("partial_unexpected_index_list") or []][:N_EXAMPLES]
    examples = [_describe(frame.iloc[place]) for place in places]
    if "set aside" in words and not item.success:
        examples = [str(record) for record in set_aside[:N_EXAMPLES]]
    if "unexpected_count" in result:
        observed = f"{result['unexpected_count']} of {result['element_count']} otherwise"
    else:
        observed = _observed(result.get("observed_value"))
    return Outcome(suite, words, bool(item.success), observed, examples)


def _observed(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.1%}" if math.isfinite(value) else str(value)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _describe(row: pd.Series[Any]) -> str:
    return json.dumps({key: str(value)[:60] for key, value in row.items()}, ensure_ascii=False)
