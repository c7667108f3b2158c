"""ConMix: replace some tokens of a context by those of another context (Poddar et al. 2022, section 3)."""

from __future__ import annotations

import torch
from torch import Tensor

from dial2vec.draws import require_share


def conmix(ids: Tensor, replaceable: Tensor, *, generator: torch.Generator, keep: float = 0.7) -> Tensor:
    """Mix each context with a random other context of the batch: some tokens become the other's at the same position.

    In plain words: you hear a dialogue while another one is spoken next to you, and still get its topic.

    A token stays if the other context has a special token or padding at its position, because either would end a turn.
    No token moves.

    :param ids: Token ids, int64 [b, n].
    :param replaceable: Mask, bool [b, n], False for special tokens, ends of turns and padding.
    :param generator: Random generator on any device; draws are copied to the device of the ids.
    :param keep: Probability λ_mix to keep a token, in [0, 1]; 0.7 in the paper.
    :return: New tensor [b, n]; a copy of the ids if b = 1.
    :raises Dial2vecError: if the probability is not in [0, 1].
    """
    require_share(keep)
    b, _ = ids.shape
    if b < 2:
        return ids.clone()
    draw_on = generator.device
    # 1 to b - 1 rows further on: never the row itself, and all other rows are equally likely.
    steps = torch.randint(1, b, (b,), generator=generator, device=draw_on).to(ids.device)
    kept = torch.rand(ids.shape, generator=generator, device=draw_on).to(ids.device) < keep
    others = (torch.arange(b, device=ids.device) + steps) % b
    taken = ~kept & replaceable & replaceable[others]
    return torch.where(taken, ids[others], ids)
