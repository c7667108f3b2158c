from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.sparse import csr_array
from scipy.special import expit, logsumexp

from conversations.dialogue import Dialogue, Turn
from dial2vec.collection.lenses import model as module
from dial2vec.collection.lenses.model import (
    COLUMNS,
    Design,
    TurnReader,
    Turns,
    fit_weights,
    pooled,
    stacked,
    turn_scores,
)

RNG = np.random.default_rng(7)


def made(sizes, tokens=6):
    starts = np.cumsum([0, *sizes])
    counts = RNG.integers(0, 3, (starts[-1], tokens)).astype(np.float32)
    return Turns(csr_array(counts), RNG.integers(0, 2, starts[-1]).astype(np.int8), starts)


def slow_turn_scores(turns, table):
    """Read each turn with the two before it, one after the other."""
    counts, scores = turns.tokens.toarray(), []
    for first, last in zip(turns.starts, turns.starts[1:], strict=False):
        for turn in range(first, last):
            columns = [(before, turns.sides[turn] * 3 + before) for before in range(3) if turn - before >= first]
            scores.append(sum(counts[turn - before] @ table[:, :, column] for before, column in columns))
    return np.array(scores)


def test_a_turn_is_scored_with_the_two_before_it_and_never_with_another_dialogues():
    turns, table = made([1, 4, 2, 3]), RNG.normal(size=(6, 2, COLUMNS)).astype(np.float32)
    np.testing.assert_allclose(turn_scores(turns, table), slow_turn_scores(turns, table), rtol=1e-4, atol=1e-5)


def test_what_is_fitted_and_what_is_read_give_the_same_scores():
    turns, table = made([3, 1, 2]), RNG.normal(size=(6, 1, COLUMNS)).astype(np.float32)
    design = Design.of(turns)
    np.testing.assert_allclose(
        design.rows @ table.reshape(-1)[design.columns], turn_scores(turns, table)[:, 0], rtol=1e-4, atol=1e-5
    )
    some = design.some(np.array([2, 0]))
    np.testing.assert_array_equal(some.rows.toarray(), design.rows.toarray()[[4, 5, 0, 1, 2]])
    assert some.starts.tolist() == [0, 2, 5]


def test_a_dialogues_score_is_the_log_mean_exp_of_its_turns():
    spoken = np.array([[1.0, 2], [3, 4], [5, 6]])
    expected = [logsumexp(spoken[:2], axis=0) - np.log(2), spoken[2]]
    np.testing.assert_allclose(pooled(spoken, np.array([0, 2, 3])), expected)


def test_fit_ends_where_the_loss_of_a_slow_reading_is_lowest(monkeypatch):
    turns = made([2, 3, 1, 4, 2, 2])
    design, is_so = Design.of(turns), np.array([1.0, 0, 1, 0, 1, 0])

    def loss(parameters):
        rows = design.rows.toarray() @ parameters[:-1]
        pairs = zip(design.starts, design.starts[1:], strict=False)
        scores = np.array([logsumexp(rows[a:b]) - np.log(b - a) for a, b in pairs]) + parameters[-1]
        chances = expit(scores)
        told = is_so * np.log(chances) + (1 - is_so) * np.log(1 - chances)
        return -told.mean() + 0.05 / 2 * parameters[:-1] @ parameters[:-1]

    monkeypatch.setattr(module, "PENALTY", 0.05)
    found = fit_weights(design, is_so)
    np.testing.assert_allclose(fit_weights(design, is_so, found), found, atol=1e-3)
    for _ in range(20):
        assert loss(found) <= loss(found + RNG.normal(0, 0.05, len(found)))
    numeric = check_grad(loss, lambda _: np.zeros(len(found)), found)
    assert numeric == pytest.approx(0, abs=5e-3)


def test_turns_are_counted_by_side_and_have_length_1_when_weighted():
    reader = TurnReader()
    dialogues = [
        Dialogue("a", (Turn("system", "hello hello"), Turn("user", "table"))),
        Dialogue("b", (Turn("ann", "table"), Turn("bob", "🦊"), Turn("ann", "hello"))),
    ]
    turns = reader.read(dialogues)
    # A customer is on side 0, wherever she speaks; without one, the first speaker is.
    assert turns.sides.tolist() == [1, 0, 0, 1, 0]
    assert turns.starts.tolist() == [0, 2, 5]
    assert turns.tokens.sum(1)[:2].tolist() == [2, 1]
    weighted = turns.weighted(np.ones(turns.tokens.shape[1], dtype=np.float32))
    lengths = np.sqrt((weighted.tokens.toarray() ** 2).sum(1))
    assert set(np.round(lengths, 5)) <= {0, 1}


def test_a_sentence_is_a_dialogue_of_one_turn_for_each_side():
    said = TurnReader().sentences(["it failed", "all set"])
    assert (said.sides.tolist(), said.starts.tolist()) == ([0, 0, 1, 1], [0, 1, 2, 3, 4])
    assert (said.tokens[[0]] != said.tokens[[2]]).nnz == 0


def test_parts_are_joined_one_after_the_other():
    one, two = made([2, 1]), made([3])
    both = stacked([one, two])
    assert both.starts.tolist() == [0, 2, 3, 6]
    np.testing.assert_array_equal(both.tokens.toarray(), np.vstack([one.tokens.toarray(), two.tokens.toarray()]))
