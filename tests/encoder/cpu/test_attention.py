"""Training attention on a CPU: its values and gradients are those of the definition, its dropout drops what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.cpu import attention as cpu_attention
from dial2vec.encoder.cpu.attention import Dropout, _Attention, attention, keep_mask

HEADS, WIDTH = 2, 4


def rows(n: int, *, kind: torch.dtype = torch.float64, seed: int = 0) -> list[Tensor]:
    """Queries, keys and values of 3 rows of n tokens, [3, heads, n, width]."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(3, HEADS, n, WIDTH, generator=generator, dtype=kind) for _ in range(3)]


def plain(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | float = 0.0, kept: Tensor | float = 1.0) -> Tensor:
    """The definition, as in section 3.2.1 of Vaswani et al. 2017."""
    weights = torch.softmax(query @ key.transpose(2, 3) / WIDTH**0.5 + bias, dim=-1)
    return ((weights * kept) @ value).transpose(1, 2)


class Layer(nn.Module):
    is_causal = False


def test_values_without_dropout_are_those_of_the_definition() -> None:
    query, key, value = rows(7, kind=torch.bfloat16)

    found, weights = attention(Layer(), query, key, value, None)

    expected = plain(query.double(), key.double(), value.double())
    torch.testing.assert_close(found.double(), expected, atol=0.02, rtol=0.02)
    assert weights is None


@pytest.mark.parametrize("as_bool", [True, False])
def test_padding_is_not_seen(as_bool: bool) -> None:
    query, key, value = rows(6)
    seen = torch.ones(3, 1, 6, 6, dtype=torch.bool)
    seen[1, :, :, 4:] = False
    added = torch.zeros(seen.shape, dtype=torch.float64).masked_fill(~seen, -1e9)
    torch.manual_seed(1)

    found, _ = attention(Layer(), query, key, value, seen if as_bool else added, dropout=0.25)

    torch.manual_seed(1)
    kept = keep_mask((3 * HEADS, 6, 6), 0.25).view(3, HEADS, 6, 6) / 0.75
    torch.testing.assert_close(found, plain(query, key, value, added, kept))
    value[1, :, 4:] = 100.0
    torch.manual_seed(1)
    torch.testing.assert_close(attention(Layer(), query, key, value, seen, dropout=0.25)[0], found)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_gradients_are_those_of_finite_differences(dropout: float) -> None:
    given_rows = [tensor.flatten(0, 1).requires_grad_() for tensor in rows(5)]
    bias = torch.zeros(3, 1, 1, 5, dtype=torch.float64)
    bias[0, ..., 3:] = -30.0

    def attend(*inputs: Tensor) -> Tensor:
        torch.manual_seed(2)
        return _Attention.apply(*inputs, bias, HEADS, dropout)

    assert torch.autograd.gradcheck(attend, given_rows)


@given(share=st.floats(0.01, 0.99), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_dropout_drops_its_share(share: float, seed: int) -> None:
    torch.manual_seed(seed)
    n = 40_001

    kept = keep_mask((n,), share)

    assert set(kept.unique().tolist()) <= {0, 1}
    assert abs(kept.double().mean() - (1 - share)) < 5 * (share * (1 - share) / n) ** 0.5 + 1e-4


def test_dropout_hangs_on_the_seed_and_is_none_of_its_neighbours() -> None:
    torch.manual_seed(3)
    first, second = keep_mask((200, 300), 0.5), keep_mask((200, 300), 0.5)
    torch.manual_seed(3)

    assert torch.equal(keep_mask((200, 300), 0.5), first)
    # Neighbouring weights share a random int64, and must still be independent.
    for one, other in ((first[:, 1:], first[:, :-1]), (first[1:], first[:-1]), (first, second)):
        assert abs((one == other).double().mean() - 0.5) < 0.01


@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_dropout_keeps_the_mean(share: float) -> None:
    torch.manual_seed(4)
    dropped = Dropout(share)(torch.ones(500, 500))

    assert dropped.mean() == pytest.approx(0.0 if share == 1 else 1.0, abs=0.01)
    assert torch.equal(Dropout(share).eval()(torch.ones(3)), torch.ones(3))


def test_long_rows_and_what_is_more_than_attention_go_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_attention, "LONGEST", 5)
    monkeypatch.setattr(_Attention, "apply", staticmethod(lambda *_: pytest.fail("not for these rows")))
    query, key, value = rows(6, kind=torch.bfloat16)
    exact = plain(query.double(), key.double(), value.double())

    torch.testing.assert_close(attention(Layer(), query, key, value, None)[0].double(), exact, atol=0.02, rtol=0.02)
    monkeypatch.undo()
    position_bias = torch.zeros(1, HEADS, 6, 6, dtype=torch.bfloat16)
    biased, _ = attention(Layer(), query, key, value, None, position_bias=position_bias)
    torch.testing.assert_close(biased.double(), exact, atol=0.02, rtol=0.02)
    # A module that does not say whether it is causal is, for torch.
    causal, _ = attention(nn.Module(), query, key, value, None)
    torch.testing.assert_close(causal[:, -1].double(), exact[:, -1], atol=0.02, rtol=0.02)
    assert not torch.allclose(causal[:, 0].double(), exact[:, 0], atol=0.02)


def test_a_training_step_has_the_gradients_of_eager_attention(tiny_folder: str) -> None:
    steps = []
    for how in ("eager", "ours"):
        encoder = DialogueEncoder.from_pretrained(tiny_folder)
        if how == "eager":
            encoder.backbone.set_attn_implementation("eager")
        torch.manual_seed(5)
        for weights in encoder.backbone.encoder.parameters():
            # As they are trained: random ones see nearly nothing of other tokens.
            weights.data.normal_(std=0.3)
        encoder.train()
        for module in encoder.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0
        batch = encoder.tokens.pad(encoder.tokens.utterances_alone(["w1 w2 w3 w4 w5", "w6 w7"]))
        with encoder.autocast("fp32") if how == "eager" else torch.autocast("cpu", torch.bfloat16):
            encoder.hidden_states(batch)[:, 0, :5].sum().backward()
        steps.append(encoder.backbone.encoder.layer[0].attention.self.query.weight.grad)
    assert torch.nn.functional.cosine_similarity(steps[0].flatten(), steps[1].flatten(), dim=0) > 0.99


def test_a_saved_encoder_does_not_name_this_attention(tiny_folder: str, tmp_path: Path) -> None:
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    assert encoder.backbone.config._attn_implementation == cpu_attention.NAME

    encoder.save_pretrained(tmp_path / "saved")

    config = json.loads((tmp_path / "saved" / "config.json").read_text())
    assert cpu_attention.NAME not in json.dumps(config)
