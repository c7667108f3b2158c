"""Token vectors to one vector per dialogue or per speaker (Liu et al. 2022, section 3.3 and table 5)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

Pooling = Literal["role", "mean", "turns", "cls"]


def role_masks(roles: Tensor) -> Tensor:
    """Return the 0/1 mask of each role: `roles` int64 [b, n] (-1 is padding) -> float32 [b, r, n]."""
    n_roles = int(roles.max().clamp(min=0)) + 1
    return (roles[:, None, :] == torch.arange(n_roles, device=roles.device)[None, :, None]).float()


def role_means(hidden: Tensor, roles: Tensor) -> Tensor:
    """Return the mean token vector of each role, [b, r, d] float32; a role without tokens gives zeros.

    In fp32, whatever the autocast.

    :param hidden: token vectors [b, n, d].
    :param roles: role of each token [b, n], -1 for padding.
    """
    masks = role_masks(roles)
    with torch.autocast(hidden.device.type, enabled=False):
        return torch.bmm(masks, hidden.float()) / masks.sum(2, keepdim=True).clamp(min=1)


def pool(hidden: Tensor, roles: Tensor, turns: Tensor, *, how: Pooling = "role") -> Tensor:
    """Return one vector per dialogue, [b, d] float32.

    :param turns: number of each token's turn [b, n], of any kind.
    :param how: "role" sums the means of the roles (the paper's default; a role without tokens is left out),
        "mean" is the mean over all tokens, "turns" that of the turns' means, so that long turns count no more,
        "cls" is the first token.
    """
    if how == "cls":
        return hidden[:, 0].float()
    if how == "role":
        return role_means(hidden, roles).sum(1)
    mask = (roles >= 0).float()
    if how == "turns":
        # A token weighs as much as it has share in its turn.
        sizes = ((turns[:, :, None] == turns[:, None, :]).float() * mask[:, None, :]).sum(2).clamp(min=1)
        mask = mask / sizes
    with torch.autocast(hidden.device.type, enabled=False):
        return torch.einsum("bn,bnd->bd", mask, hidden.float()) / mask.sum(1, keepdim=True).clamp(min=1)
