from __future__ import annotations

import pytest

from conftest import make_dialogue
from dial2vec.config import Validate
from dial2vec.dialogue import Dialogue, SetAside, Turn
from dial2vec.errors import ValidationError
from dial2vec.validation import check, require, to_records

LIMITS = Validate(min_dialogues=3, max_turn_words=10)


def good(n=20):
    return [make_dialogue(f"d{i}", "a: hello there", "b: hi") for i in range(n)]


def failures(dialogues, set_aside=(), limits=LIMITS):
    return [outcome for outcome in check(dialogues, set_aside, limits=limits) if not outcome.success]


def test_good_dialogues_pass_every_expectation():
    outcomes = check(good(), [], limits=LIMITS)
    assert len(outcomes) == 14
    assert all(outcome.success for outcome in outcomes)
    require(outcomes, corpus="calls")


@pytest.mark.parametrize(
    ("dialogues", "suite", "expectation"),
    [
        (good(2), "dialogues", "at least 3 dialogues"),
        ([], "dialogues", "at least 3 dialogues"),
        ([*good(), good()[0]], "dialogues", "every dialogue id once"),
        ([*good(), Dialogue(" ", (Turn("a", "x"), Turn("b", "y")))], "dialogues", "an id for every dialogue"),
        ([*good(), Dialogue("e", ())], "dialogues", "at least one turn per dialogue"),
        ([*good(), Dialogue("e", good()[0].turns, (), "valid")], "dialogues", "split to be train, dev, test or none"),
        (
            [*good(), make_dialogue("e", *(f"s{i}: hi" for i in range(30)))],
            "dialogues",
            "at most 20 speakers per dialogue",
        ),
        ([*good(), Dialogue("e", (Turn("a", " "), Turn("b", "y")))], "turns", "text in every turn"),
        ([*good(), Dialogue("e", (Turn("", "x"), Turn("b", "y")))], "turns", "a speaker for every turn"),
        ([*good(), make_dialogue("e", "a: " + "so " * 11, "b: y")], "turns", "at most 10 words per turn"),
        ([*good(), good()[0]], "turns", "every turn number once per dialogue"),
        (
            [*good(), *(make_dialogue(f"e{i}", "a: x") for i in range(3))],
            "reading",
            "at most 5.0% of the dialogues with one speaker only",
        ),
    ],
)
def test_every_expectation_can_fail(dialogues, suite, expectation):
    assert (suite, expectation) in [(outcome.suite, outcome.expectation) for outcome in failures(dialogues)]


def test_too_much_set_aside_fails_with_the_first_reasons():
    set_aside = [SetAside("calls.jsonl", i, "", "not valid JSON") for i in range(1, 5)]
    [failed] = failures(good(), set_aside)
    assert failed.expectation == "at most 5.0% of the records set aside"
    assert failed.observed == "16.7%"
    assert failed.examples[0] == "calls.jsonl:1: not valid JSON"


def test_the_error_names_expectation_count_and_examples():
    bad = [*good(), make_dialogue("wordy", "a: " + "so " * 11, "b: y")]
    with pytest.raises(ValidationError) as error:
        require(check(bad, [], limits=LIMITS), corpus="calls")
    message = str(error.value)
    assert message.startswith("calls: 1 of 14 expectations failed, so the pipeline stops here.")
    assert "[turns] expected at most 10 words per turn; found 1 of 42 otherwise" in message
    assert '"dialogue_id": "wordy"' in message
    assert "data/calls" in message


def test_outcomes_are_plain_records():
    record = to_records(check(good(), [], limits=LIMITS))[0]
    assert set(record) == {"suite", "expectation", "success", "observed", "examples"}
