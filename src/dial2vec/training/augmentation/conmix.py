"""ConMix: a context with some tokens of another context in their places (Poddar et al. 2022, section 3)."""

from __future__ import annotations

import torch
from torch import Tensor

from dial2vec.draws import require_share


def conmix(ids: Tensor, replaceable: Tensor, *, generator: torch.Generator, keep: float = 0.7) -> Tensor:
    """Mix each context with another one of the batch: a token is kept, or that at its position there is taken.

    In plain words: a dialogue is heard while another one is spoken beside it. What it is about must still be clear.

    Where the other context has no token that may be replaced (it is shorter, or its own special token stands there),
    the own token is kept: a special token or padding inside a turn would end it. No token moves.

    :param ids: token ids int64 [b, n].
    :param replaceable: bool [b, n], false for special tokens, ends of turns and padding.
    :param generator: on any device; draws are made there and brought to the ids. On the ids' own device nothing is
        copied.
    :param keep: λ_mix, the probability to keep a token, 0 to 1; the paper's 0.7.
    :return: a new tensor [b, n]; a copy of ids for b = 1, where there is no other context.
    :raises Dial2vecError: for a probability outside of 0 to 1.
    """
    require_share(keep)
    b, _ = ids.shape
    if b < 2:
        return ids.clone()
    draw_on = generator.device
    # From 1 to b - 1 rows further on, so never the row itself, and each other row is as likely.
    steps = torch.randint(1, b, (b,), generator=generator, device=draw_on).to(ids.device)
    kept = torch.rand(ids.shape, generator=generator, device=draw_on).to(ids.device) < keep
    others = (torch.arange(b, device=ids.device) + steps) % b
    taken = ~kept & replaceable & replaceable[others]
    return torch.where(taken, ids[others], ids)
