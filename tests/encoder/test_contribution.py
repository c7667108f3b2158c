from __future__ import annotations

import numpy as np
import pytest
import torch

from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.contribution import explained_turns, shares_of, turn_shares
from dial2vec.encoder.head import Head
from tests.conftest import make_dialogue
from tests.students import tiny_student

POOLINGS = {"role": "text", "mean": "text", "turns": "turns", "cls": "text", "separators": "closed"}
LONG = make_dialogue("long", *[f"{'abc'[t % 3]}: " + f"w{t} w{2 * t} w7 " * (1 + t % 5) for t in range(20)])
SHORT = make_dialogue("short", "a: w1 w2 w3", "b: w4", "a: w5 w6")


def loaded(folder, *, pooling="role", headed=False):
    encoder = DialogueEncoder.from_pretrained(folder, pooling=pooling, input=POOLINGS[pooling])
    if headed:
        generator = torch.Generator().manual_seed(0)
        encoder.head = Head(torch.randn(16, generator=generator) / 16, torch.randn(16, 16, generator=generator))
    return encoder


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.mark.parametrize("headed", [False, True])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_shares_sum_to_one_and_contributions_to_the_cosine(tiny_folder, pooling, headed):
    encoder = loaded(tiny_folder, pooling=pooling, headed=headed)
    for dialogue in (LONG, SHORT):
        own = turn_shares(encoder, dialogue)
        assert (own.shape, own.dtype) == ((len(dialogue.turns),), np.float32)
        assert own.sum() == pytest.approx(1, abs=1e-4)
        query = 3 * encoder.encode(make_dialogue("q", "a: w9 w10", "b: w11"))
        towards = turn_shares(encoder, dialogue, towards=query)
        assert towards.sum() == pytest.approx(cosine(encoder.encode(dialogue), query), abs=1e-4)


def test_with_role_pooling_a_turn_has_the_share_that_its_tokens_have(tiny_folder):
    encoder = loaded(tiny_folder)
    vector, turns = encoder.encode(SHORT), encoder.encode(SHORT, output="turns")
    # The start token belongs to the first turn.
    of_its_speaker = np.array([4 / 6, 1, 2 / 6])
    expected = of_its_speaker * (turns @ vector) / (vector @ vector)
    np.testing.assert_allclose(turn_shares(encoder, SHORT), expected, atol=1e-5)


def test_a_turn_without_tokens_contributes_nothing(tiny_folder):
    shares = turn_shares(loaded(tiny_folder, headed=True), make_dialogue("d", "a: w1", "b: ", "a: w2"))
    assert shares[1] == 0


def test_batch_size_does_not_change_the_shares(tiny_folder):
    encoder = loaded(tiny_folder)
    np.testing.assert_allclose(turn_shares(encoder, LONG, batch_size=1), turn_shares(encoder, LONG), atol=1e-5)


@pytest.mark.parametrize("dialogue", [LONG, SHORT])
@pytest.mark.parametrize("kind", ["transformer", "student"])
def test_turns_of_either_encoder_are_explained_in_one_way(tiny_folder, kind, dialogue):
    encoder = loaded(tiny_folder, headed=True) if kind == "transformer" else tiny_student()
    explained = explained_turns(encoder, dialogue)
    np.testing.assert_allclose(explained.vectors, encoder.encode(dialogue, output="turns"), atol=1e-6)
    np.testing.assert_allclose(explained.shares, encoder.turn_shares(dialogue), atol=1e-6)
    assert explained.shares.sum() == pytest.approx(1, abs=1e-5)
    towards = encoder.encode(dialogue, output="turns")[1]
    [shares] = shares_of(encoder, [dialogue], towards=towards)
    np.testing.assert_allclose(shares, encoder.turn_shares(dialogue, towards=towards), atol=1e-6)
    assert shares.sum() == pytest.approx(cosine(encoder.encode(dialogue), towards), abs=1e-5)
    assert explained.windows == (1 if kind == "student" or dialogue is SHORT else 3)
