from __future__ import annotations

import re

from conftest import make_dialogue
from dial2vec.config import Validate
from dial2vec.data.validation import Checker
from dial2vec.data.validation.result import by_reason, kind
from dial2vec.data.validation.validation_page import render_validation
from dial2vec.dialogue import Origin, Quarantined


def page(dialogues, *, quarantine=(), earlier=False):
    quarantine = list(quarantine)
    checker = Checker(Validate(), quarantine=quarantine)
    list(checker.passing(dialogues))
    profile = checker.profile()
    before = profile if earlier else None
    results = checker.results(profile, earlier=before)
    return render_validation("calls", profile, results, quarantine, earlier=before)


def good(n=20):
    return [
        make_dialogue(f"d{i}", "a: hello there my friend", f"b: hi, number {i}", labels=("greet",)) for i in range(n)
    ]


def test_page_says_what_was_found_and_needs_no_network():
    html = page(good())
    assert "20 dialogues with 40 turns can be used; 0 records are in quarantine. The run may go on." in html
    assert not re.search(r"(src|href)=|https?:|@import|url\(", html)
    assert "4 to 7" in html
    assert "greet" in html
    assert ">en<" in html


def test_page_says_why_records_are_in_quarantine_and_escapes_them():
    record = Quarantined(Origin("data/<b>.jsonl", 3), "x", "not valid JSON (Expecting value at column 1)")
    html = page(good(), quarantine=[record, record])
    assert "2 records are not used" in html
    assert "data/&lt;b&gt;.jsonl:3" in html
    assert "<b>" not in html


def test_page_says_what_stops_the_run():
    html = page(good(3))
    assert "1 expectation does not hold, so the run stops here." in html
    assert "stops the run" in html


def test_page_shows_the_version_before_where_there_is_one():
    assert "Before" in page(good(), earlier=True)
    assert "Before" not in page(good())


def test_reasons_that_differ_in_a_number_or_an_id_are_one_kind():
    records = [
        Quarantined(Origin("f", 1), "", "the id 'a' came before"),
        Quarantined(Origin("f", 2), "", "turn 3: 'text' must be a string, found a number (7)"),
        Quarantined(Origin("f", 3), "", "the id 'b' came before"),
    ]
    assert [(name, count, first.origin.line) for name, count, first in by_reason(records)] == [
        ("the id came before", 2, 1),
        ("turn …: 'text' must be a string", 1, 2),
    ]
    assert kind("every turn is blank") == "every turn is blank"
