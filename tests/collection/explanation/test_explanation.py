from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dial2vec.collection.explanation.explanation import explain, match
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.contribution import turn_shares
from tests.conftest import make_dialogue

LONG = make_dialogue("long", *[f"{'ab'[t % 2]}: w{t % 40} w{3 * t % 40} w7" for t in range(60)])


@pytest.fixture(scope="module")
def encoder(tiny_folder):
    return DialogueEncoder.from_pretrained(tiny_folder)


def test_an_explanation_of_a_long_dialogue_has_every_turn(encoder):
    found = explain(encoder, LONG)
    np.testing.assert_allclose(found.shares, turn_shares(encoder, LONG), atol=1e-6)
    assert found.windows > 1
    turns = encoder.encode(LONG, output="turns")
    units = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    np.testing.assert_allclose(found.matching.cosines, units[::2] @ units[1::2].T, atol=1e-5)
    assert not found.matching.blocked


@settings(max_examples=25, deadline=None)
@given(roles=st.lists(st.integers(0, 2), min_size=1, max_size=20), most=st.integers(1, 5))
def test_a_block_holds_the_mean_cosine_of_its_pairs_and_every_turn_is_in_one(roles, most):
    turns = np.random.default_rng(0).normal(size=(len(roles), 4)).astype(np.float32)
    turns[0] = 0
    found = match(turns, np.array(roles), most=most)
    if found is None:
        assert 0 not in roles or max(roles) == 0
        return
    assert np.concatenate(found.rows).tolist() == [place for place, role in enumerate(roles) if role == 0]
    assert np.concatenate(found.columns).tolist() == [place for place, role in enumerate(roles) if role > 0]
    assert max(found.cosines.shape) <= most
    lengths = np.linalg.norm(turns, axis=1)
    for row, rows in enumerate(found.rows):
        for column, columns in enumerate(found.columns):
            pairs = [
                turns[a] @ turns[b] / (lengths[a] * lengths[b]) if lengths[a] and lengths[b] else 0
                for a in rows
                for b in columns
            ]
            assert found.cosines[row, column] == pytest.approx(np.mean(pairs), abs=1e-5)


def test_a_monologue_has_shares_and_no_matching(encoder):
    found = explain(encoder, make_dialogue("d", "a: w1 w2", "a: w3"))
    assert found.matching is None
    assert found.shares.sum() == pytest.approx(1, abs=1e-5)
