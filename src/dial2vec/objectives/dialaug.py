"""DialAug: response selection with augmented contexts (Poddar et al. 2022, section 3)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class ViewProjection(nn.Module):
    """The head behind which the three views are contrasted, thrown away after training: two layers with ReLU.

    :param dimension: d of the encoder's vectors, and of what comes out.
    """

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(dimension, dimension)
        self.out = nn.Linear(dimension, dimension)

    def forward(self, vectors: Tensor) -> Tensor:
        """Map [..., d] to [..., d]."""
        mapped: Tensor = self.out(functional.relu(self.hidden(vectors)))
        return mapped


def dialaug_loss(
    contexts: Tensor,
    augmented: Tensor,
    responses: Tensor,
    *,
    project: nn.Module,
    contrast: float = 0.5,
    temperature: float = 0.07,
) -> Tensor:
    """Let a context find its response in the batch, also when the context was damaged.

    In plain words: the context, a damaged copy of it and the response are three views of one exchange. Each must find
    the others among the views of all other exchanges.

    Requirements: contexts with their responses; an augmentation of `training.augmentation`, fresh at each step.
    Inputs: vectors of contexts, augmented contexts and responses, row by row of the same exchange.
    Relations: trains *contexts and responses* for selection by dot product; `dse_loss` trains single utterances.

    `L = L_CE + 0.5 L_CL`. `L_CE` is the cross-entropy of the true response among those of the batch, by dot product,
    mean over contexts and augmented contexts. `L_CL` is `nt_xent` of the three projected views.

    :param contexts: [b, d].
    :param augmented: [b, d].
    :param responses: [b, d].
    :param project: from [.., d] to the vectors that are contrasted.
    :param contrast: weight of `L_CL`, 0 at least; the paper's 0.5.
    :param temperature: of `L_CL`. The paper does not say it; 0.07 is the default of pytorch-metric-learning's loss.
    :return: scalar, in fp32 or the vectors' own precision where that is higher.

    Example::

        loss = dialaug_loss(encoder(contexts), encoder(augmented), encoder(responses), project=head)
        loss.backward()
    """
    with torch.autocast(contexts.device.type, enabled=False):
        precision = torch.promote_types(contexts.dtype, torch.float32)
        contexts, augmented, responses = (vectors.to(precision) for vectors in (contexts, augmented, responses))
        scores = torch.cat([contexts, augmented]) @ responses.T
        own = torch.arange(len(responses), device=responses.device).repeat(2)
        selection = functional.cross_entropy(scores, own)
        if not contrast:
            return selection
        views = torch.stack([project(vectors) for vectors in (contexts, augmented, responses)])
        return selection + contrast * nt_xent(views, temperature=temperature)


def nt_xent(views: Tensor, *, temperature: float) -> Tensor:
    """Normalised temperature-scaled cross-entropy over several views of each example (Chen et al. 2020, equation 1).

    For every ordered pair of views i, j of one example `-log(e^{s_ij/τ} / (e^{s_ij/τ} + Σ_k e^{s_ik/τ}))`, k over all
    views of all other examples; mean over pairs.

    :param views: [v, b, d], v at least 2.
    :param temperature: τ > 0.
    """
    n_views, n_examples, _ = views.shape
    flat = functional.normalize(views.flatten(0, 1), dim=1)
    logits = flat @ flat.T / temperature
    example = torch.arange(n_examples, device=views.device).repeat(n_views)
    same = example[:, None] == example
    negatives = logits.masked_fill(same, float("-inf")).logsumexp(1, keepdim=True)
    terms = torch.logaddexp(logits, negatives) - logits
    positive = same & ~torch.eye(len(flat), dtype=torch.bool, device=views.device)
    return terms[positive].mean()
