"""Token vectors to one vector per dialogue or per speaker (Liu et al. 2022, section 3.2 and table 5)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from dial2vec.encoder.papers.hierarchical import reading_order
from dial2vec.errors import Dial2vecError

Pooling = Literal["role", "mean", "turns", "cls", "separators"]


def role_masks(roles: Tensor) -> Tensor:
    """Return the 0/1 mask of each role: `roles` int64 [b, n] (-1 is padding) -> float32 [b, r, n]."""
    n_roles = int(roles.max().clamp(min=0)) + 1
    return (roles[:, None, :] == torch.arange(n_roles, device=roles.device)[None, :, None]).float()


def role_means(hidden: Tensor, roles: Tensor) -> Tensor:
    """Return the mean token vector of each role, [b, r, d] float32; a role without tokens gives zeros.

    Always in fp32.

    :param hidden: token vectors [b, n, d].
    :param roles: role of each token [b, n], -1 for padding.
    """
    masks = role_masks(roles)
    with torch.autocast(hidden.device.type, enabled=False):
        return torch.bmm(masks, hidden.float()) / masks.sum(2, keepdim=True).clamp(min=1)


def separator_means(hidden: Tensor, separators: Tensor, roles: Tensor) -> Tensor:
    """Return the mean vector of the separators of each dialogue, [b, d] float32.

    The augmentation paper's BERT: `[CLS] u1 [SEP] u2 [SEP] ... ut [SEP]`, which is input "closed", and the mean of the
    [SEP] vectors. A dialogue without a separator (a single turn of input "separators") gets the mean of all its tokens,
    a dialogue without tokens zeros. If an encoder has two separators between turns, like RoBERTa, both count. Always in
    fp32.

    :param hidden: token vectors [b, n, d].
    :param separators: mask of the separators, bool [b, n]; padding in the mask is left out.
    :param roles: role of each token [b, n], -1 for padding.
    """
    tokens = roles >= 0
    separators = separators & tokens
    chosen = torch.where(separators.any(1, keepdim=True), separators, tokens)[..., None]
    return hidden.float().masked_fill(~chosen, 0).sum(1) / chosen.sum(1).clamp(min=1)


def pool(
    hidden: Tensor, roles: Tensor, turns: Tensor, *, how: Pooling = "role", separators: Tensor | None = None
) -> Tensor:
    """Return one vector per dialogue, [b, d] float32.

    :param turns: number of each token's turn [b, n]; any numbers, but a turn's tokens follow one another.
    :param how: "role" sums the means of the roles (the paper's default; a role without tokens is left out),
        "mean" is the mean over all tokens, "turns" the mean of the turns' means, so that long turns count no more than
        short ones, "cls" the first token, "separators" the mean over the separators.
    :param separators: mask of the separators, bool [b, n]; only for that pooling.
    """
    if how == "cls":
        return hidden[:, 0].float()
    if how == "separators":
        if separators is None:
            raise Dial2vecError("pooling is separators, but found no mask; expected bool [b, n]. Give `separators`.")
        return separator_means(hidden, separators, roles)
    if how == "role":
        return role_means(hidden, roles).sum(1)
    mask = (roles >= 0).float()
    if how == "turns":
        # The tokens of a turn share its weight.
        order = reading_order(turns, mask).clamp(min=0)
        mask = mask / torch.zeros_like(mask).scatter_add(1, order, mask).gather(1, order).clamp(min=1)
    with torch.autocast(hidden.device.type, enabled=False):
        return torch.einsum("bn,bnd->bd", mask, hidden.float()) / mask.sum(1, keepdim=True).clamp(min=1)
