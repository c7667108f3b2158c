"""Which turns made the vector of a dialogue, or its likeness to another."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.hierarchical import reading_order
from dial2vec.pooling import role_masks
from dial2vec.tokens import Batch


def turn_contributions(
    encoder: DialogueEncoder, dialogue: Dialogue, *, towards: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    """Return what each turn adds to the cosine between a dialogue's vector and another, float32 [turns].

    A pooled vector is a sum over tokens, so a turn's part of it is the sum over its own; with a head, each turn bears
    the corpus's mean by its share in the tokens. The contributions sum to the cosine; a turn that is not read has 0,
    one that speaks against the likeness less. With the poolings "cls" and "separators", which are no sums over turns,
    it is the cosine of the mean of the tokens.

    :param towards: the other vector [d], of any length; None is the dialogue's own, so that they sum to 1.
    """
    with encoder._evaluating():
        batch = encoder.tokens.pad(encoder.tokens.dialogues([dialogue])).to(encoder.device)
        parts, shares = _parts(encoder, batch)
        vector = encoder.through_head(parts.sum(0))
        other = vector if towards is None else torch.as_tensor(np.array(towards), device=parts.device)
        found = _towards(encoder, parts, shares, other / other.norm().clamp(min=1e-12))
    places = range(len(dialogue.turns))[encoder.tokens.style.kept]
    contributions = np.zeros(len(dialogue.turns), dtype=np.float32)
    contributions[list(places)[: len(found)]] = found.cpu().numpy()
    return contributions


def _parts(encoder: DialogueEncoder, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return each turn's part of the pooled vector, [turns, d], and its share of the tokens' weights, [turns]."""
    hidden = encoder.hidden_states(batch)[0].float()
    order = reading_order(batch.turns, batch.attention)[0]
    weights = _weights(encoder, batch, order)
    n_turns = int(order.max()) + 1
    parts = hidden.new_zeros(n_turns, hidden.shape[1]).index_add(0, order, weights[:, None] * hidden)
    shares = weights.new_zeros(n_turns).index_add(0, order, weights)
    return parts, shares / shares.sum()


def _weights(encoder: DialogueEncoder, batch: Batch, order: Tensor) -> Tensor:
    """Return how much each token counts in the pooled vector, [n]."""
    there = torch.ones_like(order, dtype=torch.float32)
    if encoder.pooling == "role":
        masks = role_masks(batch.roles)[0]
        return (masks / masks.sum(1, keepdim=True).clamp(min=1)).sum(0)
    if encoder.pooling == "turns":
        sizes = torch.zeros_like(there).index_add(0, order, there)
        return 1 / (sizes[order] * (order.max() + 1))
    return there / len(there)


def _towards(encoder: DialogueEncoder, parts: Tensor, shares: Tensor, other: Tensor) -> Tensor:
    pooled = parts.sum(0)
    if encoder.head is None:
        return parts @ other / pooled.norm().clamp(min=1e-12)
    # `Head`, with its three lengths taken as they are: what is left is linear.
    mean, weight = encoder.head.mean, encoder.head.weight
    length = pooled.norm().clamp(min=1e-12)
    centred = pooled / length - mean
    mapped = (centred / centred.norm().clamp(min=1e-12)) @ weight
    scale = centred.norm().clamp(min=1e-12) * mapped.norm().clamp(min=1e-12)
    return (parts / length - shares[:, None] * mean) @ weight @ other / scale
