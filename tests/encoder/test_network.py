"""A hierarchy on top of an encoder: what it changes, what it leaves alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dial2vec.config import EncoderSettings
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.papers.hierarchical import HIERARCHIES
from dial2vec.encoder.tokens import Batch
from dial2vec.errors import ModelError
from tests.conftest import make_dialogue

DIALOGUES = [
    make_dialogue("x", "a: w1 w2 w3", "b: w4", "a: w5 w6"),
    make_dialogue("y", "b: w7"),
    make_dialogue("z", "a: w1 w2", "b: w4 w4 w4 w4", "c: w9"),
]
TEXTS = ["w1 w2 w3", "w4"]
names = pytest.mark.parametrize("name", list(HIERARCHIES))
inputs = pytest.mark.parametrize("input", ["text", "closed", "turns"])


def moved(encoder, seed=0):
    """The same encoder with a hierarchy in which no weight is zero, as after training."""
    generator = torch.Generator().manual_seed(seed)
    for weight in encoder.network.hierarchy.parameters():
        weight.data = 0.3 * torch.randn(weight.shape, generator=generator)
    return encoder


@names
@pytest.mark.parametrize(
    ("input", "pooling"),
    [("text", "role"), ("closed", "role"), ("closed", "separators"), ("turns", "role"), ("turns", "separators")],
)
def test_an_untrained_hierarchy_leaves_every_vector_as_it_was(tiny_folder, name, input, pooling):
    plain = DialogueEncoder.from_pretrained(tiny_folder, input=input, pooling=pooling)
    start = DialogueEncoder.start(EncoderSettings(name=tiny_folder, input=input, pooling=pooling, hierarchy=name))
    assert isinstance(start.network.hierarchy, HIERARCHIES[name])
    assert plain.network.hierarchy is None
    np.testing.assert_array_equal(start.encode(DIALOGUES), plain.encode(DIALOGUES))
    np.testing.assert_array_equal(start.encode_sides(DIALOGUES), plain.encode_sides(DIALOGUES))
    np.testing.assert_array_equal(
        start.encode(DIALOGUES[2], output="speakers"), plain.encode(DIALOGUES[2], output="speakers")
    )


@names
@inputs
def test_it_reads_dialogues_and_leaves_utterances_alone(tiny_folder, name, input):
    plain = DialogueEncoder.from_pretrained(tiny_folder, input=input)
    encoder = moved(DialogueEncoder.from_pretrained(tiny_folder, input=input, hierarchy=name))
    assert (np.abs(encoder.encode(DIALOGUES) - plain.encode(DIALOGUES)).max(axis=1) > 0.1).all()
    np.testing.assert_array_equal(encoder.encode_utterances(TEXTS), plain.encode_utterances(TEXTS))


@names
@inputs
def test_token_vectors_are_those_of_the_encoder_read_by_the_hierarchy(tiny_folder, name, input):
    plain = DialogueEncoder.from_pretrained(tiny_folder, input=input)
    encoder = moved(DialogueEncoder.from_pretrained(tiny_folder, input=input, hierarchy=name))
    batch = encoder.tokens.pad(encoder.tokens.dialogues(DIALOGUES))
    with torch.no_grad():
        expected = encoder.network.hierarchy(plain.hidden_states(batch), batch.turns, batch.attention)
        torch.testing.assert_close(encoder.hidden_states(batch), expected, rtol=0, atol=0)


@names
@inputs
def test_a_dialogue_has_the_same_vector_alone_and_in_a_padded_batch(tiny_folder, name, input):
    encoder = moved(DialogueEncoder.from_pretrained(tiny_folder, input=input, hierarchy=name))
    together = encoder.encode(DIALOGUES)
    for vector, dialogue in zip(together, DIALOGUES, strict=True):
        np.testing.assert_allclose(vector, encoder.encode(dialogue), atol=1e-5)


@names
def test_with_turns_read_alone_the_hierarchy_is_all_that_joins_them(tiny_folder, name):
    encoder = moved(DialogueEncoder.from_pretrained(tiny_folder, input="turns", hierarchy=name))
    other = make_dialogue("x", "a: w1 w2 w3", "b: w4", "a: w8 w8")
    first = slice(0, 5)

    def first_turn(dialogue):
        batch = encoder.tokens.pad(encoder.tokens.dialogues([dialogue]))
        with torch.no_grad():
            return encoder.hidden_states(batch)[0, first]

    assert not torch.allclose(first_turn(DIALOGUES[0]), first_turn(other), atol=1e-3)
    encoder.network.hierarchy = None
    torch.testing.assert_close(first_turn(DIALOGUES[0]), first_turn(other))


@names
def test_freezing_every_layer_leaves_the_hierarchy_to_train(tiny_folder, name):
    encoder = DialogueEncoder.from_pretrained(tiny_folder, hierarchy=name)
    encoder.network.freeze_bottom(1.0)
    encoder.train()
    assert encoder.network.hierarchy.training
    trainable = {weights for weights, value in encoder.named_parameters() if value.requires_grad}
    assert trainable == {f"network.hierarchy.{weights}" for weights, _ in encoder.network.hierarchy.named_parameters()}


def test_it_goes_where_the_encoder_goes(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder, hierarchy="hssa")
    assert {weights.device for weights in encoder.to("meta").network.hierarchy.parameters()} == {torch.device("meta")}


def test_a_wrong_name_is_refused(tiny_folder):
    with pytest.raises(ModelError, match=r"hierarchy is 'bidn'\. Did you mean 'biden'\? Valid: none, hssa, biden"):
        DialogueEncoder.from_pretrained(tiny_folder, hierarchy="bidn")


@pytest.mark.parametrize("most", [1, 9, 20])
@pytest.mark.parametrize("options", [{}, {"turn_embeddings": True, "role_embeddings": True}])
@inputs
def test_rows_that_are_read_in_parts_have_the_states_and_gradients_of_one_batch(
    tiny_folder, monkeypatch, input, options, most
):
    encoder = DialogueEncoder.from_pretrained(tiny_folder, input=input, **options)
    batch = encoder.tokens.pad(encoder.tokens.dialogues(DIALOGUES))
    there = batch.attention > 0
    states, gradients = [], []
    for tokens in (10**6, most):
        monkeypatch.setattr("dial2vec.encoder.network.CPU_TOKENS", tokens)
        encoder.zero_grad()
        found = encoder.hidden_states(batch)
        assert found.shape[:2] == batch.ids.shape
        (found[there] ** 3).sum().backward()
        states.append(found[there].detach())
        gradients.append([weight.grad.clone() for weight in encoder.parameters() if weight.grad is not None])
    torch.testing.assert_close(states[0], states[1], atol=1e-5, rtol=1e-5)
    assert len(gradients[0]) == len(gradients[1]) > 0
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-3)


def test_padding_costs_nothing(tiny_folder, monkeypatch):
    encoder, read = DialogueEncoder.from_pretrained(tiny_folder), []
    batch = encoder.tokens.pad(encoder.tokens.dialogues(DIALOGUES))
    encoder.backbone.register_forward_pre_hook(
        lambda _, given, named: read.append(tuple(named["input_ids"].shape)), with_kwargs=True
    )
    empty = {"ids": 0, "attention": 0, "turns": 0, "roles": -1}
    wide = Batch(*(torch.nn.functional.pad(getattr(batch, part), (0, 50), value=empty[part]) for part in empty))
    torch.testing.assert_close(encoder.forward(wide), encoder.forward(batch))
    assert read[0] == read[1] == tuple(batch.ids.shape)


@pytest.mark.parametrize(("wanted", "moves"), [(True, True), (False, False)])
def test_attention_leaves_out_weights_only_where_it_is_told_to(tiny_folder, wanted, moves):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    encoder.network.attention_dropout = wanted
    for module in encoder.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.5 if module in attention_parts(encoder) else 0.0
    batch = encoder.tokens.pad(encoder.tokens.dialogues(DIALOGUES))
    encoder.train()
    torch.manual_seed(0)
    first, second = encoder(batch), encoder(batch)
    assert (not torch.allclose(first, second)) == moves
    encoder.eval()
    assert torch.equal(encoder(batch), encoder(batch))


@pytest.mark.parametrize("attention_dropout", [True, False])
def test_what_attention_feeds_keeps_its_dropout(tiny_folder, attention_dropout):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    encoder.network.attention_dropout = attention_dropout
    for module in attention_parts(encoder):
        module.p = 0.0
    for module in encoder.modules():
        if isinstance(module, torch.nn.Dropout) and module not in attention_parts(encoder):
            module.p = 0.5
    batch = encoder.tokens.pad(encoder.tokens.dialogues(DIALOGUES))
    encoder.train()
    assert not torch.allclose(encoder(batch), encoder(batch))


def attention_parts(encoder):
    return [layer.attention.self.dropout for layer in encoder.backbone.encoder.layer]
