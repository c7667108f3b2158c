from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dial2vec.collection.explorer.texts import Texts, phrases_of

from .conftest import dialogues_of


@given(words=st.text(alphabet="wWaAn 012thksé<", min_size=1, max_size=6).filter(str.strip))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_search_finds_what_reading_every_turn_finds(collection, words):
    sought = " ".join(words.lower().split())
    expected = [
        row
        for row, one in enumerate(collection.dialogues())
        if any(sought in " ".join(turn.text.lower().split()) for turn in one.turns)
    ]
    assert Texts(collection).rows_with([words]).tolist() == expected


def test_words_are_found_over_a_line_break_but_not_over_two_turns(collection):
    texts = Texts(collection)
    assert texts.rows_with(['"TWO" three']).tolist() == [7]
    assert texts.rows_with(["w0 thanks"]).tolist() == []


def test_all_phrases_have_to_be_in_a_dialogue_and_any_of_them_marks_a_turn(collection):
    texts = Texts(collection)
    assert texts.rows_with(["W23", "thanks w0"]).tolist() == [5, 15, 25, 35]
    assert texts.turns_with(["w5", "Thanks  w0"], 5) == [0, 1, 2]
    assert texts.turns_with(["thanks w0"], 5) == [2]


@pytest.mark.parametrize(
    ("text", "phrases", "rest"),
    [
        ("a refund", [], "a refund"),
        ('"My  card"', ["my card"], ""),
        ("refund “My card” or „a loan“", ["my card", "a loan"], "refund or"),
        ('5" of snow', [], '5" of snow'),
        ('"" " " x', [], "x"),
    ],
)
def test_words_in_quotes_are_phrases(text, phrases, rest):
    assert phrases_of(text) == (phrases, rest)


def test_grown_collection_is_searched_to_its_end(grow, tmp_path):
    Texts(grow(tmp_path / "c", dialogues_of(range(4))))
    texts = Texts(grow(tmp_path / "c", dialogues_of(range(9))))
    assert texts.rows_with(["thanks"]).tolist() == list(range(9))


@pytest.mark.parametrize("left", [b"", b"half a file"])
def test_damaged_file_is_made_again(grow, tmp_path, left):
    collection = grow(tmp_path / "c", dialogues_of(range(4)))
    Texts(collection)
    (tmp_path / "c" / "map" / "texts.arrow").write_bytes(left)
    assert len(Texts(collection).rows_with(["thanks"])) == 4
