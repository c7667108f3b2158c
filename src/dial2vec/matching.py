"""Self- and cross-representations of each role, in linear time (Liu et al. 2022, section 3.3, equations 1 to 4)."""

from __future__ import annotations

import torch
from torch import Tensor

from dial2vec.encoder.pooling import role_masks


def self_and_cross(
    hidden: Tensor, turns: Tensor, roles: Tensor, *, window: int | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Pool each role's own token vectors, and the same vectors as the other roles' tokens see them.

    The definition: with `C = Ê^a (Ê^b)^T`, entries of turns further apart than the window set to 0, the
    cross-representation of role a is the sum over b's places of `C^T Ê^a`. Its sum over places j of b is
    `Σ_i h_i (h_i · s_{T(i)})` with `s_t` the sum of b's vectors in turns t - w ... t + w: one dot product per token
    and one running sum over turns, O(n d), and no n x n matrix. With more than two roles each stands against
    all others together; with two this is the paper's problem, once per role.

    Computed in fp32, whatever the autocast; float64 stays what it is.

    :param hidden: token vectors [b, n, d].
    :param turns: turn number of each token [b, n], at least 0; only differences matter.
    :param roles: role of each token [b, n], -1 for padding.
    :param window: largest distance in turns at which two tokens meet; None is no limit.
    :return: self sums [b, r, d], cross sums [b, r, d], and a bool mask [b, r] of the roles for which both sides
        have tokens. Sums, not means: they go into a cosine, which has no scale.
    """
    with torch.autocast(hidden.device.type, enabled=False):
        hidden = hidden.to(torch.promote_types(hidden.dtype, torch.float32))
        masks = role_masks(roles).to(hidden.dtype)
        own_sum = torch.bmm(masks, hidden)
        everyone = masks.sum(1)
        cross = []
        for role in range(masks.shape[1]):
            mine = masks[:, role, :, None] * hidden
            others = (everyone - masks[:, role])[:, :, None]
            # Sums over nothing differ from zero by their rounding, which a cosine would take for a direction.
            met = _window_sums(others, turns, window) > 0.5
            seen = _window_sums(others * hidden, turns, window) * met
            cross.append(((hidden * seen).sum(2, keepdim=True) * mine).sum(1))
        present = masks.sum(2) > 0
        return own_sum, torch.stack(cross, dim=1), present & (present.sum(1, keepdim=True) > 1)


def _window_sums(vectors: Tensor, turns: Tensor, window: int | None) -> Tensor:
    """For each token, the sum of `vectors` [b, n, d] over all tokens at most `window` turns away: [b, n, d]."""
    n_turns = int(turns.max()) + 1
    if window is None or window >= n_turns - 1:
        return vectors.sum(1, keepdim=True).expand_as(vectors)
    batch, _, width = vectors.shape
    per_turn = vectors.new_zeros(batch, n_turns, width).index_put(
        (torch.arange(batch, device=turns.device)[:, None].expand_as(turns), turns), vectors, accumulate=True
    )
    running = torch.nn.functional.pad(per_turn.cumsum(1), (0, 0, 1, 0))
    index = torch.arange(n_turns, device=turns.device)
    in_window = running[:, (index + window + 1).clamp(max=n_turns)] - running[:, (index - window).clamp(min=0)]
    return in_window.gather(1, turns[:, :, None].expand(-1, -1, width))
