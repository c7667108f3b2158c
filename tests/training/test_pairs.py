from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import make_dialogue
from dial2vec.training.pairs import (
    consecutive_pairs,
    contexts_with_answers,
    first_turns,
    foreign_utterances,
    responses_in_context,
    responses_with_neighbour,
)

LONG = "one two three four"
# Utterances 0 to 4, of which 2 is too short; then 5 and 6.
DIALOGUES = [
    make_dialogue("x", f"a: {LONG}", f"b: {LONG}", "a: too short", f"b: {LONG}", f"a: {LONG}"),
    make_dialogue("y", f"a: {LONG}", f"b: {LONG}"),
]


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ("1-1", [[0, -1, -1, 1], [1, -1, -1, 3], [3, -1, -1, 4], [5, -1, -1, 6]]),
        ("2-1", [[0, 1, -1, 3], [1, 3, -1, 4]]),
        ("3-1", [[0, 1, 3, 4]]),
        ("dropout", [[number, -1, -1, number] for number in (0, 1, 3, 4, 5, 6)]),
    ],
)
def test_what_is_said_next_is_the_positive_and_short_utterances_are_passed_over(variant, expected):
    assert consecutive_pairs(DIALOGUES, variant=variant).tolist() == expected


def test_123_has_the_pairs_of_all_three():
    together = {tuple(row) for row in consecutive_pairs(DIALOGUES, variant="123-1").tolist()}
    apart = [consecutive_pairs(DIALOGUES, variant=variant).tolist() for variant in ("1-1", "2-1", "3-1")]
    assert together == {tuple(row) for rows in apart for row in rows}


def test_no_pair_at_all_is_an_empty_table():
    assert consecutive_pairs([make_dialogue("x", "a: hi")], variant="1-1").shape == (0, 4)
    assert responses_in_context([make_dialogue("x", "a: hi")]).shape == (0, 4)
    assert contexts_with_answers([make_dialogue("x", "a: hi")]).shape == (0, 2)


def test_the_context_is_the_nearest_turns_on_both_sides():
    rows = responses_in_context(DIALOGUES, context_turns=3, min_turns=4)
    assert rows.tolist() == [[0, -1, 1, -1], [1, 0, 2, -1], [2, 1, 3, 0], [3, 2, 4, 1], [4, 3, -1, 2]]
    assert responses_in_context(DIALOGUES, context_turns=1, min_turns=2)[-2:].tolist() == [[5, -1], [6, 5]]


def test_the_neighbour_is_the_turn_before_and_behind_the_first_where_there_is_none():
    found = responses_with_neighbour(DIALOGUES, min_turns=2)
    assert found.tolist() == [[0, 1], [1, 0], [2, 1], [3, 2], [4, 3], [5, 6], [6, 5]]
    assert responses_with_neighbour([make_dialogue("x", "a: hi")]).shape == (0, 2)


def test_answers_are_the_turns_of_the_answering_role_after_the_first():
    assert contexts_with_answers(DIALOGUES).tolist() == [[0, 1], [0, 2], [0, 3], [0, 4], [1, 1]]
    assert contexts_with_answers(DIALOGUES, answering=0).tolist() == [[0, 2], [0, 4]]
    assert contexts_with_answers(DIALOGUES, answering=1).tolist() == [[0, 1], [0, 3], [1, 1]]


@given(st.lists(st.integers(1, 5), min_size=2, max_size=6), st.integers(0, 99))
def test_foreign_utterances_are_of_any_other_dialogue_and_never_of_the_own(lengths, seed):
    first = np.concatenate([[0], np.cumsum(lengths)])
    owners = np.arange(len(lengths))
    drawn = foreign_utterances(first, owners, count=200, seed=[seed])
    for owner, row in zip(owners, drawn, strict=True):
        others = set(range(first[-1])) - set(range(first[owner], first[owner + 1]))
        assert set(row.tolist()) <= others
        # 200 draws of at most 24: one that never comes has a probability of 25 (1 - 1/24)^200 = 0.5 %.
        assert len(set(row.tolist())) >= 0.7 * len(others)
    assert (foreign_utterances(first, owners[:1], count=200, seed=[seed])[0] == drawn[0]).all()


def test_utterances_are_numbered_through_all_dialogues():
    assert first_turns(DIALOGUES).tolist() == [0, 5, 7]
