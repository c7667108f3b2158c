from __future__ import annotations

import pytest

from conversations.dialogue import Dialogue, Origin, Quarantined, Turn
from dial2vec.config import Validate
from dial2vec.data.validation import Checker, require
from dial2vec.data.validation.block import check_block
from dial2vec.data.validation.frames import turn_frame
from dial2vec.errors import ValidationError
from tests.conftest import make_dialogue

LIMITS = Validate(min_dialogues=3, max_turn_words=10, roles=("a", "b"), near_empty_words=2, over_long_words=30)


def good(n=20):
    return [make_dialogue(f"d{i}", "a: hello there", f"b: hi, number {i}") for i in range(n)]


def checked(dialogues, *, quarantine=(), limits=LIMITS, earlier=None, block=7):
    quarantine = list(quarantine)
    checker = Checker(limits, quarantine=quarantine)
    kept = []
    for first in range(0, len(dialogues), block):
        taken = dialogues[first : first + block]
        found = check_block(taken, limits, below=checker.languages.limit)
        quarantine += found.failures(taken)
        checker.add(found)
        kept += [dialogue for place, dialogue in enumerate(taken) if place not in found.reasons]
    profile = checker.profile()
    return kept, quarantine, checker.results(profile, earlier=earlier), profile


def stopping(results):
    return [result.expectation for result in results if result.stops]


def test_good_dialogues_pass_every_expectation_in_their_order():
    kept, quarantine, results, _ = checked(good())
    assert (kept, quarantine, stopping(results)) == (good(), [], [])
    assert not any(result.failed for result in results)
    require(results, corpus="calls")


@pytest.mark.parametrize(
    ("dialogue", "reason"),
    [
        (Dialogue(" ", (Turn("a", "x"), Turn("b", "y"))), "expected an id for every dialogue"),
        (Dialogue("e", ()), "expected at least one turn per dialogue"),
        (Dialogue("e", good()[0].turns, (), "valid"), "expected split to be train, dev, test or none"),
        (Dialogue("e", (Turn("a", "x"), Turn("b", " "))), "expected text in every turn, otherwise in turn 2"),
        (Dialogue("e", (Turn("", "x"), Turn("b", "y"))), "expected a speaker for every turn, otherwise in turn 1"),
        (make_dialogue("e", "a: " + "so " * 11, "b: y"), "expected at most 10 words per turn, otherwise in turn 1"),
        (make_dialogue("e", "a: x", "bot: y"), "expected every speaker to be a or b, otherwise in turn 2"),
    ],
)
@pytest.mark.parametrize("block", [7])
def test_dialogue_that_breaks_an_expectation_is_quarantined_alone(dialogue, reason, block):
    kept, quarantine, results, _ = checked([*good(9), dialogue, *good(20)[9:]], block=block)
    assert kept == good()
    assert [(record.dialogue_id, record.reason) for record in quarantine] == [(dialogue.dialogue_id, reason)]
    assert {result.failed for result in results if result.failed} == {1}
    assert stopping(results) == []


def test_too_many_speakers_are_quarantined():
    crowd = make_dialogue("e", *(f"s{i}: hi" for i in range(30)))
    kept, [record], _, _ = checked([*good(), crowd], limits=Validate(max_speakers=20))
    assert (len(kept), record.reason) == (20, "expected at most 20 speakers per dialogue")


def test_a_town_hall_is_no_mistake():
    hall = make_dialogue("hall", *(f"s{i}: hi" for i in range(150)))
    kept, quarantine, _, _ = checked([*good(), hall], limits=Validate())
    assert hall in kept
    assert quarantine == []


def test_quarantine_names_where_the_dialogue_was_read():
    origin = Origin("data/calls/a.jsonl", 7)
    _, [record], _, _ = checked([*good(), Dialogue("e", (Turn("a", " "), Turn("b", "y")), origin=origin)])
    assert record.origin == origin


ONE_SPEAKER = [make_dialogue(f"e{i}", f"a: number {i}") for i in range(3)]
TERSE = [make_dialogue(f"e{i}", f"a: {i}") for i in range(3)]
LONG = [make_dialogue(f"e{i}", *[f"a: {'so ' * 9}", f"b: {'so ' * 8} {i}"] * 2) for i in range(3)]
TWICE = [make_dialogue(f"e{i}", "a: Hello  there", "b: hi, NUMBER 1") for i in range(3)]
MONOLOGUES = [make_dialogue(f"e{i}", *[f"a: and {i}"] * 50, "b: so") for i in range(20)]


@pytest.mark.parametrize(
    ("dialogues", "limits", "expectation", "found"),
    [
        (good(2), {}, "at least 3 dialogues", "2"),
        ([], {}, "at least 3 dialogues", "0"),
        ([*good(), good()[0]], {}, "every dialogue id once", "1"),
        ([*good(), *ONE_SPEAKER], {}, "at most 5.0% of the dialogues with one speaker only", "13.0%"),
        ([*good(), *TERSE], {}, "at most 5.0% of the dialogues with fewer than 2 words", "13.0%"),
        ([*good(), *LONG], {}, "at most 5.0% of the dialogues with more than 30 words", "13.0%"),
        ([*good(), *TWICE], {}, "at most 10.0% of the dialogues with the text of an earlier one", "13.0%"),
        (good(), {"min_labelled_share": 0.5}, "at least 50.0% of the dialogues with a label", "0.0%"),
        (MONOLOGUES, {"over_long_words": 300}, "at least 30.0% of the turns to answer another speaker", "2.0%"),
    ],
)
def test_every_expectation_about_the_corpus_can_stop_the_run(dialogues, limits, expectation, found):
    settings = {"min_dialogues": 3, "near_empty_words": 2, "over_long_words": 30} | limits
    _, _, results, _ = checked(dialogues, limits=Validate(**settings))
    assert (expectation, found) in [(result.expectation, result.found) for result in results if result.stops]


def test_too_much_quarantine_stops_the_run_with_the_first_reasons():
    quarantine = [Quarantined(Origin("calls.jsonl", i), "", "not valid JSON") for i in range(1, 5)]
    _, _, results, _ = checked(good(), quarantine=quarantine)
    [failed] = [result for result in results if result.stops]
    assert (failed.expectation, failed.found) == ("at most 5.0% of the records quarantined", "16.7%")
    assert failed.examples[0] == "calls.jsonl:1: not valid JSON"


def test_expectation_that_cannot_be_checked_stops_the_run(monkeypatch):
    whole = turn_frame(good())
    for broken in (whole.rename(columns={"speaker": "who"}), whole.astype({"words": str})):
        monkeypatch.setattr("dial2vec.data.validation.block.turn_frame", lambda _, frame=broken: frame)
        with pytest.raises(ValidationError, match="could not be checked"):
            checked(good(), block=100)


def test_corpus_like_the_version_before_has_not_drifted():
    *_, profile = checked(good())
    *_, results, _ = checked(good(24), earlier=profile)
    assert stopping(results) == []
    assert sum("as before" in result.expectation for result in results) == 3


def test_data_that_lost_over_a_fifth_of_its_dialogues_stop_the_run():
    *_, before = checked(good(20))
    assert stopping(checked(good(16), earlier=before)[2]) == []
    _, _, results, _ = checked(good(15), earlier=before)
    [failed] = [result for result in results if result.stops]
    assert (failed.expectation, failed.found) == ("as many dialogues as before (at most 20.0% fewer)", "25.0%")
    with pytest.raises(ValidationError, match=r"Mend the data in data/calls.*If the change is intended, delete art"):
        require(results, corpus="calls")


def test_longer_dialogues_and_another_language_than_before_stop_the_run():
    *_, before = checked(
        [make_dialogue(f"d{i}", "a: hello there, my card is lost", f"b: oh no {i}") for i in range(20)]
    )
    german = [
        make_dialogue(
            f"d{i}", *["a: Guten Tag, ich habe ein Problem mit meiner Rechnung", f"b: Oh je, das tut mir leid {i}"] * 2
        )
        for i in range(20)
    ]
    _, _, results, _ = checked(german, earlier=before, limits=Validate())
    assert [expectation.partition(" as before")[0] for expectation in stopping(results)] == ["lengths", "languages"]
    with pytest.raises(ValidationError, match=r"If the change is intended, delete artifacts/calls/profile\.json"):
        require(results, corpus="calls")


def test_the_error_names_expectation_figure_and_page():
    _, _, results, _ = checked([*good(), *ONE_SPEAKER])
    with pytest.raises(ValidationError) as error:
        require(results, corpus="calls")
    message = str(error.value)
    assert message.startswith("calls is not as expected, so the pipeline stops here.")
    assert "expected at most 5.0% of the dialogues with one speaker only; found 13.0%" in message
    assert "See artifacts/calls/validation.html. Mend the data in data/calls" in message


@pytest.mark.parametrize("block", [1, 3, 100])
def test_profile_and_outcomes_do_not_depend_on_the_size_of_the_blocks(block):
    dialogues = [*good(), make_dialogue("e", "a: " + "so " * 11, "b: y"), *ONE_SPEAKER]
    whole, part = checked(dialogues, block=1000), checked(dialogues, block=block)
    assert part[0] == whole[0]
    assert part[1:] == whole[1:]
