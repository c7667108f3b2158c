from __future__ import annotations

import re

from conversations.dialogue import Origin, Quarantined
from dial2vec.config import Validate
from dial2vec.data.validation import Checker
from dial2vec.data.validation.block import check_block
from dial2vec.data.validation.result import by_reason, kind
from dial2vec.data.validation.validation_page import render_validation
from tests.conftest import make_dialogue


def page(dialogues, *, quarantine=(), earlier=False):
    quarantine = list(quarantine)
    checker = Checker(Validate(), quarantine=quarantine)
    found = check_block(dialogues, Validate())
    quarantine += found.failures(dialogues)
    checker.add(found)
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
    assert "20 conversations with 40 turns can be used; 0 records are in quarantine. The run may go on." in html
    assert not re.search(r"(src|href)=|https?:|@import|url\(", html)
    assert "4 to 7" in html
    assert "greet" in html
    assert ">en<" in html


def test_page_says_why_records_are_in_quarantine_and_escapes_them():
    record = Quarantined(Origin("data/<b>.jsonl", 3), "x", "not valid JSON (Expecting value at column 1)")
    html = page(good(), quarantine=[record, record])
    assert "<b>Not valid JSON</b>: 2 records" in html
    assert html.count("data/&lt;b&gt;.jsonl:3: dialogue") == 2
    assert ".<b>" not in html


def test_page_says_what_stops_the_run():
    html = page(good(3), quarantine=[Quarantined(Origin("f", 1), "", "every turn is blank")])
    assert re.search(r'headline">\d+ expectations? do(es)? not hold, so the run stops here. 3 conversations', html)
    assert "1 record is in quarantine" in html
    # What stops the run comes first, then the quarantine, and what holds is folded.
    order = [html.index(text) for text in ("stops the run", "Every turn is blank", "expectations hold</summary>")]
    assert order == sorted(order)


def test_page_without_failures_says_so():
    html = page(good())
    assert '<p class="better">Nothing.</p>' in html
    assert "stops the run</span>" not in html


def test_page_shows_an_expectation_that_only_dialogues_fail_that_failed_before():
    long = make_dialogue(
        "d", *[f"{speaker}: {'word ' * (2001 if speaker == 0 else 1)}" for speaker in range(1001)], labels=("greet",)
    )
    html = page([*good(), long])
    assert "<b>Expected at most 2000 words per turn</b>: 1 record" in html
    assert re.search(r"<b>Expected at most \d+ speakers per dialogue</b>: 1 dialogue", html)


def test_a_chart_of_many_labels_is_folded():
    dialogues = [make_dialogue(f"d{i}", "a: hello there", f"b: hi, {i}", labels=(f"label {i}",)) for i in range(30)]
    assert "<summary>14 more</summary>" in page(dialogues)


def test_page_shows_the_version_before_where_there_is_one():
    assert "Before" in page(good(), earlier=True)
    assert "Before" not in page(good())


def test_reasons_that_differ_in_a_number_or_an_id_are_one_kind():
    records = [
        Quarantined(Origin("f", 1), "", "the id 'a' came before"),
        Quarantined(Origin("f", 2), "", "turn 3: 'text' must be a string, found a number (7)"),
        Quarantined(Origin("f", 3), "", "the id 'b' came before"),
    ]
    assert [(name, count, [one.origin.line for one in first]) for name, count, first in by_reason(records)] == [
        ("the id came before", 2, [1, 3]),
        ("turn …: 'text' must be a string", 1, [2]),
    ]
    assert kind("every turn is blank") == "every turn is blank"
