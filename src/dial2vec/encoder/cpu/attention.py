"""Attention and dropout for training on a CPU: few random numbers, and products in bf16 where the CPU has them.

torch draws a random number of its own for every weight that dropout keeps or drops, which took a third of a training
step, and its fast attention knows no dropout on a CPU (docs/benchmarks.md).
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

NAME = "dial2vec_cpu"
# Tokens of a row; the scores of longer ones would fill the memory, which torch's own attention avoids.
LONGEST = 1024
# A random int64 is cut into numbers with this many values, each of which decides about one weight.
VALUES = 2**16


def keep_mask(shape: torch.Size | tuple[int, ...], share: float) -> Tensor:
    """Return 1 for what dropout keeps and 0 for what it drops, int16 of this shape, from torch's generator.

    :param share: Share that is dropped, in [0, 1), in steps of 1 / 65,536.
    """
    n = math.prod(shape)
    numbers = torch.empty(-(-n // 4), dtype=torch.int64).random_(-(2**63), None)
    return numbers.view(torch.int16)[:n].view(shape).ge_(round(share * VALUES) - VALUES // 2)


class Dropout(nn.Dropout):
    """torch's dropout, with a quarter of its random numbers on a CPU."""

    def forward(self, values: Tensor) -> Tensor:
        """Return the values with a share of them dropped, in training only."""
        if not self.training or self.p in (0, 1) or values.device.type != "cpu":
            return super().forward(values)
        return (values * keep_mask(values.shape, self.p)).mul_(1 / (1 - self.p))


class _Attention(torch.autograd.Function):
    """Attention with dropout of its weights (Vaswani et al. 2017, section 3.2.1) for rows [b * heads, n, width]."""

    @staticmethod
    def forward(
        ctx: Any, queries: Tensor, keys: Tensor, values: Tensor, bias: Tensor | None, heads: int, dropout: float
    ) -> Tensor:
        scores = torch.bmm(queries, keys.transpose(1, 2))
        if bias is not None:
            scores.unflatten(0, (-1, heads)).add_(bias)
        weights = torch.softmax(scores, -1)
        kept = keep_mask(weights.shape, dropout) if dropout else None
        ctx.save_for_backward(queries, keys, values, weights, kept)
        ctx.scale = 1 / (1 - dropout)
        return torch.bmm(weights if kept is None else weights * kept, values).mul_(ctx.scale)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        queries, keys, values, weights, kept = ctx.saved_tensors
        gradient = gradient * ctx.scale
        to_values = torch.bmm((weights if kept is None else weights * kept).transpose(1, 2), gradient)
        to_weights = torch.bmm(gradient, values.transpose(1, 2))
        if kept is not None:
            to_weights.mul_(kept)
        to_scores = torch._softmax_backward_data(to_weights, weights, -1, weights.dtype)
        to_queries, to_keys = torch.bmm(to_scores, keys), torch.bmm(to_scores.transpose(1, 2), queries)
        return to_queries, to_keys, to_values, None, None, None


def attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **more: Any,
) -> tuple[Tensor, None]:
    """Attend as an encoder of transformers asks for it; whatever is not ours goes to torch's own attention.

    Ours are rows of up to `LONGEST` tokens on a CPU, in bf16 or with dropout: there it is faster than torch's.

    :param query: [b, heads, n, width]; so are `key` and `value`.
    :param attention_mask: bool, true where attention looks, or what is added to its scores; [b, 1 or heads, n, n].
    :return: [b, n, heads, width], and None in place of the weights.
    """
    faster = query.device.type == "cpu" and (dropout > 0 or query.dtype == torch.bfloat16)
    # Such as a bias of positions, or causal attention, which torch's assumes of a module that does not say.
    asks_more = getattr(module, "is_causal", True) or any(isinstance(given, Tensor) for given in more.values())
    if not faster or asks_more or dropout == 1 or query.shape != key.shape or query.shape[2] > LONGEST:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        given = (module, query, key, value, attention_mask)
        return sdpa_attention_forward(*given, dropout=dropout, scaling=scaling, **more)
    heads, scale = query.shape[1], query.shape[3] ** -0.5 if scaling is None else scaling
    rows = [tensor.flatten(0, 1) for tensor in (query * scale, key, value)]
    with torch.autocast("cpu", enabled=False):
        attended = _Attention.apply(*rows, _bias(attention_mask, query.dtype), heads, dropout)
    return attended.unflatten(0, (-1, heads)).transpose(1, 2).contiguous(), None


def _bias(mask: Tensor | None, kind: torch.dtype) -> Tensor | None:
    """Return what is added to the scores: 0 where attention looks, and the lowest number elsewhere."""
    if mask is None or mask.dtype != torch.bool:
        return None if mask is None else mask.to(kind)
    return torch.zeros(mask.shape, dtype=kind).masked_fill_(~mask, torch.finfo(kind).min)


def use_cpu_attention(backbone: Any) -> None:
    """Let an encoder attend by `attention`, if it would by torch's, and draw dropout as `Dropout` does."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    if getattr(backbone.config, "_attn_implementation", None) == "sdpa":
        AttentionInterface.register(NAME, attention)
        AttentionMaskInterface.register(NAME, sdpa_mask)
        backbone.set_attn_implementation(NAME)
    for module in backbone.modules():
        if type(module) is nn.Dropout:
            module.__class__ = Dropout
