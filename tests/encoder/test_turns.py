"""Input "turns": every turn is encoded alone, and the dialogue is put together from what comes out."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from conversations.dialogue import Dialogue, Turn
from dial2vec.encoder import DialogueEncoder
from tests.conftest import make_dialogue

DIALOGUES = [
    make_dialogue("x", "a: w1 w2 w3", "b: w4", "a: w5 w6"),
    make_dialogue("y", "b: w7"),
    make_dialogue("z", "a: w1 w2", "b: w4 w4 w4 w4"),
]


@pytest.fixture
def encoder(tiny_folder):
    return DialogueEncoder.from_pretrained(tiny_folder, input="turns", pooling="turns")


def test_every_turn_has_the_encoder_s_own_tokens_around_it(encoder):
    [sequence, *_] = encoder.tokens.dialogues(DIALOGUES)
    words = encoder.tokens.tokenizer.convert_ids_to_tokens(sequence.ids)
    assert words == ["[CLS]", "w1", "w2", "w3", "[SEP]", "[CLS]", "w4", "[SEP]", "[CLS]", "w5", "w6", "[SEP]"]
    assert sequence.turns.tolist() == [0] * 5 + [1] * 3 + [2] * 4
    assert sequence.roles.tolist() == [0] * 5 + [1] * 3 + [0] * 4


def test_a_dialogue_is_the_mean_of_its_utterances_encoded_alone(encoder):
    found = encoder.encode(DIALOGUES)
    for dialogue, vector in zip(DIALOGUES, found, strict=True):
        said = encoder.encode_utterances([turn.text for turn in dialogue.turns])
        np.testing.assert_allclose(vector, said.mean(axis=0), rtol=1e-4, atol=1e-6)


def test_token_vectors_are_those_of_the_turn_alone_wherever_it_stands(encoder):
    batch = encoder.tokens.pad(encoder.tokens.dialogues(DIALOGUES))
    hidden = encoder.hidden_states(batch)
    for row, dialogue in enumerate(DIALOGUES):
        for number, turn in enumerate(dialogue.turns):
            alone = Dialogue("alone", (Turn("a", turn.text),))
            expected = encoder.hidden_states(encoder.tokens.pad(encoder.tokens.dialogues([alone])))[0]
            here = (batch.turns[row] == number) & (batch.roles[row] >= 0)
            torch.testing.assert_close(hidden[row][here], expected, rtol=1e-4, atol=1e-5)
    assert not hidden[batch.attention == 0].any()


def test_nothing_flows_from_one_turn_to_another(encoder):
    embedded = encoder.backbone.get_input_embeddings()
    batch = encoder.tokens.pad(encoder.tokens.dialogues(DIALOGUES[:1]))
    hidden = encoder.hidden_states(batch)
    # Not the sum over all dimensions, which a layer norm makes the same for any input.
    hidden[0, batch.turns[0] == 1, 0].sum().backward()
    moved = embedded.weight.grad.abs().sum(1).nonzero().flatten().tolist()
    assert set(moved) == set(batch.ids[0, batch.turns[0] == 1].tolist())


def test_a_dialogue_may_be_longer_than_the_encoder_s_limit_but_a_turn_is_cut(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder, input="turns", max_length=8)
    many = Dialogue("many", tuple(Turn("ab"[place % 2], "w1 w2 w3") for place in range(30)))
    long = Dialogue("long", (Turn("a", " ".join(["w1"] * 9)), Turn("b", "w2")))
    sequences = encoder.tokens.dialogues([many, long])
    assert [(len(sequence.ids), sequence.cut) for sequence in sequences] == [(150, 0), (8 + 3, 3)]
    assert encoder.count_long([many, long]) == 1


def test_utterances_are_encoded_alike_whatever_the_dialogues_input_is(encoder, tiny_folder):
    texts = ["w1 w2 w3", "w4", "w5 w5"]
    plain = DialogueEncoder.from_pretrained(tiny_folder)
    np.testing.assert_allclose(plain.encode_utterances(texts), encoder.encode_utterances(texts), atol=1e-6)
    np.testing.assert_allclose(
        plain.encode_utterances(texts[::-1], batch_size=1)[::-1], plain.encode_utterances(texts), atol=1e-5
    )
    assert plain.encode_utterances([]).shape == (0, 16)


def test_it_is_saved_with_its_reading(encoder, tmp_path):
    encoder.save_pretrained(tmp_path / "saved")
    again = DialogueEncoder.from_pretrained(tmp_path / "saved")
    assert (again.tokens.input, again.pooling) == ("turns", "turns")
    np.testing.assert_array_equal(again.encode(DIALOGUES), encoder.encode(DIALOGUES))
