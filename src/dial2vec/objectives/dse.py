"""DSE: consecutive utterances as positives, with hard negatives weighted (Zhou et al. 2022, section 3)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTH = 128


class ContrastHead(nn.Module):
    """What stands on the encoder while it trains, and is thrown away afterwards (section 3.3): d -> d -> 128, no bias.

    :param dimension: d of the encoder's vectors.
    """

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(dimension, dimension, bias=False)
        self.out = nn.Linear(dimension, WIDTH, bias=False)

    def forward(self, vectors: Tensor) -> Tensor:
        """Map [..., d] to [..., 128]."""
        mapped: Tensor = self.out(functional.relu(self.hidden(vectors)))
        return mapped


def dse_loss(first: Tensor, second: Tensor, *, temperature: float = 0.05) -> Tensor:
    """Bring each utterance near to the one that follows it, and away from the batch, from near ones most of all.

    In plain words: what is said next is the best hint at what was meant. Among the other utterances of the batch those
    that look alike count for more than those that are far away in any case.

    Requirements: pairs of consecutive utterances of one dialogue (`dial2vec.training.pairs`); large batches.
    Inputs: pairs; no labels. The dropout variant takes the same utterances twice.
    Relations: trains vectors of *utterances*. `dial2vec_loss` and `neighbour_loss` train whole dialogues.

    With 2m views, `-log(e^{s(i,i+)/τ} / (e^{s(i,i+)/τ} + Σ_j α_ij e^{s(i,j)/τ}))`, mean over all views i. j runs over
    the 2m - 2 others and `α_ij = e^{s(i,j)/τ} / mean_k e^{s(i,k)/τ}` over the same. The paper prints α inside the
    exponent and the sum over all j != i; its authors' code weights the negatives, as here. The gradient goes through α.

    :param first: vectors behind the head [m, d], m at least 2.
    :param second: those of the utterances that follow, [m, d].
    :param temperature: τ > 0; the paper's 0.05.
    :return: scalar, in fp32 or the vectors' own precision where that is higher; 0 at least.

    Example::

        loss = dse_loss(head(encoder(first)), head(encoder(second)))
        loss.backward()
    """
    pairs = len(first)
    if pairs < 2 or first.shape != second.shape:
        raise ValueError(f"found pairs of shape {[*first.shape]} and {[*second.shape]}; expected two or more of each")
    with torch.autocast(first.device.type, enabled=False):
        views = torch.cat([first, second])
        views = functional.normalize(views.to(torch.promote_types(views.dtype, torch.float32)), dim=1)
        logits = views @ views.T / temperature
        places = torch.arange(2 * pairs, device=views.device)
        partner = places.roll(pairs)
        positive = logits[places, partner]
        itself = torch.eye(2 * pairs, dtype=torch.bool, device=views.device)
        others = logits.masked_fill(itself | itself[partner], float("-inf"))
        # Σ α e^l = Σ e^{2l} / mean e^l, in logarithms: at τ = 0.05 the exponentials reach e^40.
        weighted = torch.logsumexp(2 * others, 1) - torch.logsumexp(others, 1) + math.log(2 * pairs - 2)
        return (torch.logaddexp(positive, weighted) - positive).mean()
