from __future__ import annotations

import pytest

from dial2vec.collection.describing import naming
from dial2vec.collection.describing.naming import Naming, Question, excerpt, question_text, read_naming

CARDS = Naming("Lost cards", "A card is lost.")
OBJECT = '{"name": "Lost cards", "summary": "A card is lost."}'


@pytest.mark.parametrize(
    "text",
    [
        OBJECT,
        f"```json\n{OBJECT}\n```",
        f"Here it is: {OBJECT} I hope {{this}} helps.",
        f'<think>{{"name": "no", "summary": "no"}}</think>{OBJECT}',
        f'{{"name": "draft", "summary": "draft"}} Better: {OBJECT}',
        '{"name": "Lost\\n cards", "summary": "A card\tis lost.", "more": [1]}',
        '{ broken {"name": "Lost cards", "summary": "A card is lost."}',
    ],
)
def test_name_and_summary_are_found_in_whatever_surrounds_them(text):
    assert read_naming(text) == CARDS


@pytest.mark.parametrize(
    "text", ["", "no", "{}", "[1]", '{"name": 3, "summary": "x"}', '{"name": " ", "summary": "x"}']
)
def test_an_answer_without_both_is_none(text):
    assert read_naming(text) is None


def test_long_answers_and_control_characters_are_cut():
    found = read_naming('{"name": "' + "n" * 500 + '", "summary": "a\\u001b[31mb"}')
    assert len(found.name) == naming.NAME
    assert found.summary == "a [31mb"


def test_an_excerpt_prefers_turns_with_terms_and_keeps_their_order(dialogue, monkeypatch):
    monkeypatch.setattr(naming, "DIALOGUE", 34)
    found = excerpt(dialogue("d", "a: hello", "b: hello", "a: my card", "b: lost card?"), ["lost", "card"])
    assert found == "a: hello\n...\na: my card\nb: lost card?"


def test_a_question_says_what_is_inside_and_what_is_not(dialogue):
    text = question_text(
        ["card"],
        [dialogue("d1", "a: my card")],
        others=["flight"],
        outside=[dialogue("d2", "b: a flight")],
        parts=["x"],
    )
    assert text.index("card") < text.index("- x") < text.index("In the group:\na: my card")
    assert text.index("In the group:") < text.index("Not in the group:\nb: a flight")
    assert "d1" not in text


def test_tokens_are_estimated_by_characters(monkeypatch):
    monkeypatch.setattr(naming, "RULES", "")
    assert Question("cluster", 0, "", (), 1, 1, "a" * 40 + "ü明").tokens == 1 + 10 + 2
