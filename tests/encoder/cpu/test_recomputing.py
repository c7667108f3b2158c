"""A training step that would not fit into memory is computed again for its gradients, with the same result."""

from __future__ import annotations

import copy
import logging

import pytest
import torch
from transformers import BertConfig, BertModel

from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.cpu import recomputing
from dial2vec.encoder.cpu.recomputing import StepMemory, kept_bytes


@pytest.fixture
def encoder(tiny_folder: str) -> DialogueEncoder:
    encoder = DialogueEncoder.from_pretrained(tiny_folder, device="cpu")
    for module in encoder.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.1
    return encoder.train()


def step(
    encoder: DialogueEncoder, *, seed: int = 3, lower: bool = False
) -> tuple[torch.Tensor, list[torch.Tensor], int]:
    """Return the token vectors of a step, its gradients, and the number of bytes that it kept for them."""
    batch = encoder.tokens.pad(encoder.tokens.utterances_alone(["w1 w2 w3 w4", "w5", "w6 w7", "w8 w9 w10 w11 w12"] * 9))
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    encoder.zero_grad()
    torch.manual_seed(seed)
    hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
    with hooks, torch.autocast("cpu", torch.bfloat16, enabled=lower):
        states = encoder.hidden_states(batch)
    states = states * (batch.attention[..., None] > 0)
    (states**3).sum().backward()
    return states.detach(), [w.grad.clone() for w in encoder.parameters() if w.grad is not None], sum(kept.values())


@pytest.mark.parametrize("lower", [False, True])
def test_the_gradients_are_the_same_and_less_is_kept(
    encoder: DialogueEncoder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, lower: bool
) -> None:
    # In bf16, frozen layers are read packed (`dial2vec.encoder.cpu.packed`).
    encoder.network.freeze_bottom(0.5 if lower else 0)
    encoder.train()
    monkeypatch.setattr("dial2vec.encoder.network.CPU_TOKENS", 64)
    monkeypatch.setattr(recomputing, "free_bytes", lambda: 10**12)
    states, gradients, kept = step(encoder, lower=lower)
    assert not torch.equal(states, step(encoder, seed=4, lower=lower)[0])
    monkeypatch.setattr(recomputing, "free_bytes", lambda: 1)
    encoder.network._step_memory = StepMemory()
    with caplog.at_level(logging.INFO):
        again, same, kept_now = step(encoder, lower=lower)
        step(encoder, lower=lower)
    torch.testing.assert_close(again, states, rtol=0, atol=0)
    torch.testing.assert_close(same, gradients, rtol=0, atol=0)
    assert kept_now < kept / 4
    assert caplog.text.count("layers are computed again for the gradients, with the same result") == 1


def test_reading_never_asks_for_memory(encoder: DialogueEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recomputing, "free_bytes", None)
    assert encoder.encode_utterances(["w1 w2"]).shape == (1, encoder.dimension)


@pytest.mark.parametrize("frozen", [0, 2, 4])
def test_the_estimate_is_a_little_above_what_is_kept(frozen: int) -> None:
    size = {"vocab_size": 50, "hidden_size": 128, "intermediate_size": 512, "num_attention_heads": 4}
    backbone = BertModel(
        BertConfig(**size, num_hidden_layers=4, max_position_embeddings=64, attn_implementation="eager")
    )
    backbone.train().requires_grad_(False)
    for layer in backbone.encoder.layer[frozen:]:
        layer.requires_grad_(True)
    weights = {weight.untyped_storage().data_ptr() for weight in backbone.parameters()}
    kept: dict[int, tuple[int, torch.Tensor]] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.untyped_storage().data_ptr()] = (tensor.untyped_storage().nbytes(), tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        backbone(input_ids=torch.randint(5, 50, (8, 40)))
    counted = sum(size for place, (size, _) in kept.items() if place not in weights)
    estimate = kept_bytes(backbone, [40] * 8, lower=False)
    assert counted <= estimate <= 1.5 * counted if frozen < 4 else estimate == 0
    # A table below them makes frozen layers keep values.
    assert kept_bytes(backbone, [40] * 8, lower=False, whole=True) == kept_bytes(
        backbone.requires_grad_(True), [40] * 8, lower=False
    )


def test_processes_of_one_training_share_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    backbone = BertModel(BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=1))
    needs = kept_bytes(backbone, [100], lower=False)
    monkeypatch.setattr(recomputing, "free_bytes", lambda: 4 * needs)
    assert not StepMemory().is_too_small(backbone, [100], lower=False)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert StepMemory().is_too_small(backbone, [100], lower=False)


def test_a_copy_looks_at_the_memory_itself(encoder: DialogueEncoder) -> None:
    encoder.network._step_memory._looked = True
    assert not copy.deepcopy(encoder.network)._step_memory._looked


def test_without_a_known_amount_nothing_is_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recomputing, "free_bytes", lambda: None)
    backbone = BertModel(BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=1))
    assert not StepMemory().is_too_small(backbone, [10**6], lower=False)
