"""Layers of a BERT-like encoder for reading in bf16 on a CPU: weights are cast and packed once, not at every call.

In training these are the frozen layers at the bottom. Under autocast each call casts each weight again and brings it
into the order of oneDNN's products; bias, GELU and sum are passes of their own. Here they are part of the product
(docs/benchmarks.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

# Types of configurations whose layers compute what `_Layer` does.
BERT_LIKE = ("bert", "roberta", "xlm-roberta", "mpnet")
# Scores of attention computed at a time, 2.5 MB; columns beside the values for the sum of the weights: one would do,
# and products with so many are faster.
SCORES, COLUMNS = 1_250_000, 16
# Sums of exponentials keep their digits between these; a head in the first layer of all-MiniLM-L6-v2 goes beyond.
LEAST, MOST = 1e-25, 1e33


@dataclass(frozen=True, slots=True)
class _Linear:
    """A product whose bf16 weights lie as oneDNN reads them; its bias is bf16, too."""

    weight: Tensor
    bias: Tensor

    @classmethod
    def of(cls, *modules: nn.Linear, scales: tuple[float, ...] = ()) -> Self:
        """Pack the product of modules side by side, each with its scale."""
        factors = scales or (1.0,) * len(modules)
        pairs = list(zip(modules, factors, strict=True))
        weight = torch.cat([module.weight.detach() * factor for module, factor in pairs]).bfloat16()
        bias = torch.cat([module.bias.detach() * factor for module, factor in pairs]).bfloat16()
        return cls(torch.ops.mkldnn._reorder_linear_weight(weight), bias)

    def __call__(self, values: Tensor, *, activation: str = "none") -> Tensor:
        return torch.ops.mkldnn._linear_pointwise(values, self.weight, self.bias, activation, [], "none")

    def plus(self, values: Tensor, other: Tensor) -> Tensor:
        """Return the product plus another tensor."""
        return torch.ops.mkldnn._linear_pointwise.binary(values, other, self.weight, self.bias, "add")


@dataclass(frozen=True, slots=True)
class _Layer:
    """One layer: attention and feed-forward network, each with its sum and norm after it (Vaswani et al. 2017)."""

    heads: int
    projections: _Linear
    output: _Linear
    first_norm: nn.LayerNorm
    inner: _Linear
    outer: _Linear
    second_norm: nn.LayerNorm

    def __call__(self, hidden: Tensor, bias: Tensor | None, mask: Tensor, rows: int) -> Tensor:
        """Return the next token vectors, bf16 [rows * n, d].

        :param bias: Added to the scores of attention, bf16 [1, heads, n, n]; None is nothing.
        :param mask: 1 at tokens, 0 at padding, bf16 [rows, 1, n, 1].
        """
        n, width = len(hidden) // rows, hidden.shape[1] // self.heads
        parts = self.projections(hidden).view(rows, n, 3, self.heads, width).permute(2, 0, 3, 1, 4)
        seen = attention_output(parts[0], parts[1], parts[2], bias, mask).flatten(2).flatten(0, 1)
        hidden = _normed(self.output.plus(seen, hidden), self.first_norm)
        return _normed(self.outer.plus(self.inner(hidden, activation="gelu"), hidden), self.second_norm)


def attention_output(queries: Tensor, keys: Tensor, values: Tensor, bias: Tensor | None, mask: Tensor) -> Tensor:
    """Return what each token sees, bf16 [rows, n, heads, width].

    Softmax in fewer passes over the scores: no maximum is taken off them, and the product with the values, which are 0
    at padding, also adds up the weights that divide it. Rows are taken a few at a time, so that their scores stay in
    the processor's cache. A head whose sums leave the range in which they keep their digits is computed as usual.

    :param queries: Divided by the square root of the width, bf16 [rows, heads, n, width]; keys and values likewise.
    :param bias: Added to the scores, bf16 [1, heads, n, n]; None is nothing.
    :param mask: 1 at tokens, 0 at padding, bf16 [rows, 1, n, 1].
    """
    rows, heads, n, width = queries.shape
    seen = torch.empty(rows, n, heads, width, dtype=values.dtype)
    weighed = torch.empty(rows, heads, n, width + COLUMNS, dtype=values.dtype)
    torch.mul(values, mask, out=weighed[..., :width])
    weighed[..., width:] = mask
    at_once = max(1, SCORES // (heads * n * n))
    for first in range(0, rows, at_once):
        part = slice(first, first + at_once)
        scores = queries[part] @ keys[part].transpose(2, 3)
        if bias is not None:
            scores += bias
        sums = scores.exp_() @ weighed[part]
        weights = sums[..., width : width + 1]
        torch.div(sums[..., :width], weights, out=seen[part].transpose(1, 2))
        for head in _out_of_range(weights):
            scores = queries[part, head] @ keys[part, head].transpose(1, 2)
            if bias is not None:
                scores += bias[:, head]
            scores.masked_fill_(mask[part, 0].transpose(1, 2) == 0, float("-inf"))
            seen[part, :, head] = scores.softmax(-1) @ values[part, head]
    return seen


def _out_of_range(weights: Tensor) -> list[int]:
    """Return the heads whose sums of weights [rows, heads, n, 1] are not all between `LEAST` and `MOST`."""
    least, most = torch.aminmax(weights)
    if least > LEAST and most < MOST:
        return []
    inside = (weights.amin((0, 2, 3)) > LEAST) & (weights.amax((0, 2, 3)) < MOST)
    return torch.nonzero(~inside).flatten().tolist()


def _normed(values: Tensor, norm: nn.LayerNorm) -> Tensor:
    return functional.layer_norm(values, norm.normalized_shape, norm.weight.bfloat16(), norm.bias.bfloat16(), norm.eps)


class PackedLayers:
    """The layers of an encoder from the bottom, packed. They do not follow later changes of weights: see `is_current`.

    :param backbone: Encoder for which `can_pack` is true.
    :param count: Number of layers.
    """

    def __init__(self, backbone: Any, count: int) -> None:
        modules = backbone.encoder.layer[:count]
        self.count, self._marks = count, _marks(modules)
        self._layers = [_layer(module) for module in modules]

    def is_current(self, backbone: Any, count: int) -> bool:
        """Return whether these are so many layers of the encoder, with the weights that it has now."""
        return count == self.count and self._marks == _marks(backbone.encoder.layer[:count])

    @torch.no_grad()
    def __call__(self, embedded: Tensor, attention: Tensor, bias: Tensor | None) -> Tensor:
        """Return the token vectors of the last packed layer, bf16 [b, n, d], without a way back for gradients.

        :param embedded: Output of the encoder's embeddings [b, n, d].
        :param attention: 1 at tokens, 0 at padding, [b, n].
        :param bias: Further sum to the scores of attention, such as one of relative positions [1, heads, n, n].
        """
        rows, n, _ = embedded.shape
        mask = attention[:, None, :, None].to(torch.bfloat16)
        hidden = embedded.to(torch.bfloat16).flatten(0, 1)
        for layer in self._layers:
            hidden = layer(hidden, bias, mask, rows)
        return hidden.unflatten(0, (rows, n))


def can_pack(backbone: Any) -> bool:
    """Return whether the layers are those of BERT, RoBERTa, XLM-R or MPNet with GELU, and oneDNN has bf16 here.

    It has not on a CPU without AVX-512, where a caller's own autocast reads as before.
    """
    config = backbone.config
    return (
        getattr(config, "model_type", None) in BERT_LIKE
        and config.hidden_act == "gelu"
        and not getattr(config, "is_decoder", False)
        and torch.backends.mkldnn.is_available()
        and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    )


def frozen_layers(backbone: Any) -> int:
    """Return how many layers from the bottom, with everything below them, neither learn nor drop anything.

    :param backbone: Encoder for which `can_pack` is true.
    """
    if hasattr(backbone.encoder, "compute_position_bias"):
        # A weight of the relative positions learns through every layer.
        return 0
    fixed = takewhile(_is_fixed, (backbone.embeddings, *backbone.encoder.layer))
    return max(0, sum(1 for _ in fixed) - 1)


@contextmanager
def packed_bottom(backbone: Any, packed: PackedLayers, attention: Tensor) -> Iterator[None]:
    """Let packed layers stand in for those of an encoder that they were made of, inside a `with`.

    :param attention: 1 at tokens, 0 at padding, [b, n], of what the encoder reads there.
    """
    layers = backbone.encoder.layer
    backbone.encoder.layer = nn.ModuleList([_Bottom(packed, attention), *layers[packed.count :]])
    try:
        yield
    finally:
        backbone.encoder.layer = layers


def _is_fixed(module: nn.Module) -> bool:
    return not module.training and not any(weight.requires_grad for weight in module.parameters())


class _Bottom(nn.Module):
    """Packed layers as a layer of an encoder of transformers."""

    def __init__(self, packed: PackedLayers, attention: Tensor) -> None:
        super().__init__()
        self._packed, self._attention = packed, attention

    def forward(self, hidden: Tensor, *unused: Any, **more: Any) -> Tensor:
        return self._packed(hidden, self._attention, None).float()


def position_bias(backbone: Any, embedded: Tensor) -> Tensor | None:
    """Return what relative positions add to the scores of attention, bf16 [1, heads, n, n]; None without them."""
    compute = getattr(backbone.encoder, "compute_position_bias", None)
    return None if compute is None else compute(embedded[:1]).to(torch.bfloat16)


def _marks(modules: nn.ModuleList) -> list[tuple[int, int, float]]:
    """Return what changes with the weights: where each lies, how often it was written, and its first number.

    The count of writes is not enough: a fused step of an optimiser, and writes to `.data`, leave it as it is.
    """
    weights = list(modules.parameters())
    first = torch.stack([each.detach().view(-1)[0].float() for each in weights]).tolist()
    return [(each.data_ptr(), each._version, number) for each, number in zip(weights, first, strict=True)]


def _layer(module: Any) -> _Layer:
    attention = module.attention
    if hasattr(attention, "attn"):
        own, output, norm = attention.attn, attention.attn.o, attention.LayerNorm
        projections = (own.q, own.k, own.v)
    else:
        own, output, norm = attention.self, attention.output.dense, attention.output.LayerNorm
        projections = (own.query, own.key, own.value)
    return _Layer(
        heads=own.num_attention_heads,
        projections=_Linear.of(*projections, scales=(own.attention_head_size**-0.5, 1.0, 1.0)),
        output=_Linear.of(output),
        first_norm=norm,
        inner=_Linear.of(module.intermediate.dense),
        outer=_Linear.of(module.output.dense),
        second_norm=module.output.LayerNorm,
    )
