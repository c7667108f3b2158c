from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dial2vec.contribution import turn_contributions
from dial2vec.dialogue import Dialogue, Turn
from dial2vec.encoder import DialogueEncoder
from dial2vec.head import Head

words = st.lists(st.integers(0, 39), min_size=1, max_size=6)
turns = st.lists(st.tuples(st.sampled_from("abc"), words), min_size=1, max_size=6)
QUIET = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def load(folder: str, pooling: str, head: bool) -> DialogueEncoder:
    encoder = DialogueEncoder.from_pretrained(folder, pooling=pooling, device="cpu")
    if head:
        generator = torch.Generator().manual_seed(1)
        encoder.head = Head(torch.randn(16, generator=generator) / 8, torch.randn(16, 16, generator=generator))
    return encoder


@pytest.mark.parametrize("head", [False, True])
@pytest.mark.parametrize("pooling", ["role", "mean", "turns"])
@given(said=turns, seed=st.integers(0, 99))
@QUIET
def test_contributions_sum_to_the_cosine(tiny_folder, pooling, head, said, seed):
    encoder = load(tiny_folder, pooling, head)
    one = Dialogue("d", tuple(Turn(speaker, " ".join(f"w{w}" for w in text)) for speaker, text in said))
    other = np.random.default_rng(seed).normal(size=16).astype(np.float32)
    vector = encoder.encode(one)
    cosine = vector @ other / np.linalg.norm(vector) / np.linalg.norm(other)
    found = turn_contributions(encoder, one, towards=other)
    assert found.shape == (len(said),)
    assert found.sum() == pytest.approx(cosine, abs=1e-5)
    assert turn_contributions(encoder, one).sum() == pytest.approx(1, abs=1e-5)


def test_a_turn_counts_for_what_only_it_is_about(tiny_folder, dialogue, monkeypatch):
    """Each word is a direction of its own, the start token none: [0 0] + [5 6] + [9] in a mean of six tokens."""
    encoder = load(tiny_folder, "mean", head=False)
    monkeypatch.setattr(
        type(encoder), "hidden_states", lambda _, batch: torch.eye(48)[batch.ids] * (batch.ids > 4)[..., None]
    )
    one = dialogue("d", "a: w0 w0", "b: w5 w6", "a: w9")
    found = turn_contributions(encoder, one, towards=np.eye(48, dtype=np.float32)[10])
    np.testing.assert_allclose(found, [0, 1 / 7**0.5, 0], atol=1e-6)


def test_turns_that_are_not_read_contribute_nothing(tiny_folder, dialogue):
    encoder = DialogueEncoder.from_pretrained(tiny_folder, max_length=8, device="cpu")
    long = dialogue("d", "a: w1 w2 w3", "b: w4 w5 w6", "a: w7 w8 w9", "b: w1")
    found = turn_contributions(encoder, long)
    assert (found[3], found.sum()) == (0, pytest.approx(1, abs=1e-5))
    last = DialogueEncoder.from_pretrained(tiny_folder, last_turns=2, device="cpu")
    assert (turn_contributions(last, long)[:2] == 0).all()


def test_with_the_first_token_alone_turns_are_compared_by_their_means(tiny_folder, dialogue):
    encoder = load(tiny_folder, "cls", head=False)
    assert turn_contributions(encoder, dialogue("d", "a: w1", "b: w2")).shape == (2,)
