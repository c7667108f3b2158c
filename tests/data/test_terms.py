from __future__ import annotations

import math

import numpy as np
import pytest

from conversations.dialogue import Dialogue, Turn
from dial2vec.data.terms import Term, Terms, characteristic_terms, log_odds, names_of


def said(*texts: str, speakers: tuple[str, str] = ("a", "b")) -> Dialogue:
    return Dialogue("d", tuple(Turn(speakers[at % 2], text) for at, text in enumerate(texts)))


def topics(n: int = 40):
    """Two topics in an invented language; all dialogues begin and end with the same words."""
    dialogues, groups = [], []
    for number in range(n):
        about = [("blorp zan", "fira"), ("quilt marn", "dovo")][number % 2]
        other = "" if number % 4 else ["fira", "dovo"][(number // 2) % 2]
        dialogues.append(said("hup hup", f"mi {about[0]} ka {about[1]}", f"sof {other}", "yala yala hup"))
        groups.append(number % 2)
    return dialogues, groups


def test_a_cluster_is_named_by_what_others_do_not_say_and_not_by_what_all_say():
    dialogues, groups = topics()
    first, second = ([term.text for term in found] for found in characteristic_terms(dialogues, groups, 2))
    assert "blorp zan" in first
    assert "fira" in " ".join(first)
    assert "quilt marn" in second
    for common in ("hup", "yala", "mi", "sof"):
        assert common not in first + second


def test_a_long_meeting_does_not_name_its_cluster():
    dialogues, groups = topics()
    dialogues[0] = said(*["budget numbers"] * 500)
    found = characteristic_terms(dialogues, groups, 2)
    assert "budget" not in " ".join(term.text for term in found[0])


def texts_of(*texts: str, speakers: tuple[str, str] = ("a", "b")) -> set[str]:
    """Return the terms of a dialogue that was held twice."""
    return set(Terms.read([said(*texts, speakers=speakers)] * 2).texts)


def test_names_of_speakers_and_single_letters_and_numbers_are_no_terms():
    found = texts_of("hello bob smith", "17 b2 near gate 8th", speakers=("Bob Smith", "Eve"))
    assert found == {"hello", "near", "gate", "near gate"}


def test_pronouns_of_the_third_person_are_no_terms_alone_or_in_pairs():
    assert texts_of("She’s singing her song", "they're proud of his") == {"singing", "song", "proud"}


def test_scripts_without_blanks_are_named_by_pairs_of_characters_and_katakana_by_words():
    assert texts_of("订机票") == {"订机", "机票"}
    assert texts_of("ホテルの部屋") == {"ホテル", "ホテルの", "の部", "部屋"}


def test_pairs_of_characters_that_go_together_are_one_term():
    dialogues = [said(text) for text in ("请订机票", "要订机票", "有面条吗", "吃面条了") * 5]
    first, second = characteristic_terms(dialogues, [0, 0, 1, 1] * 5, 2)
    assert [first[0].text, second[0].text] == ["订机票", "面条"]


def test_a_term_counts_once_per_dialogue_and_needs_two_dialogues():
    terms = Terms.read([said("rain rain", "rain today"), said("rain")])
    assert terms.texts == ["rain"]
    assert terms.inside.toarray().tolist() == [[1], [1]]


def test_terms_that_say_the_same_are_named_once():
    dialogues = [said("my credit card and cards", "credit card") for _ in range(10)] + [
        said("the sun") for _ in range(10)
    ]
    found = characteristic_terms(dialogues, [0] * 10 + [1] * 10, 2)[0]
    words = [set(term.text.removesuffix("s").split()) for term in found]
    assert not any(one <= other for at, one in enumerate(words) for other in words[:at])


def test_log_odds_are_those_of_the_formula():
    inside, outside, n_in, n_out = 6, 2, 10, 30
    prior, strength = 0.8, 4.0
    first = math.log((inside + prior) / (n_in + strength - inside - prior))
    second = math.log((outside + prior) / (n_out + strength - outside - prior))
    expected = (first - second) / math.sqrt(1 / (inside + prior) + 1 / (outside + prior))
    assert log_odds(np.array([inside]), np.array([outside]), n_in, n_out)[0] == pytest.approx(expected)


def test_names_are_unique_and_say_more_where_they_would_not_be():
    def terms(*texts: str) -> list[Term]:
        return [Term(text, 1.0, 0.5) for text in texts]

    names = names_of(
        [terms("a", "b", "c", "d"), terms("a", "b", "c", "e"), terms(), terms("a", "b", "c")], [0, 1, 7, 3]
    )
    assert names == ["a, b, c", "a, b, c, e", "No words in common", "a, b, c (3)"]
