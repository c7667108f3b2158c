"""DialogueCSE: an utterance's vector, guided by its context (Liu et al. 2021, section 3)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

Aggregation = Literal["mean", "attention"]


class ContextAttention(nn.Module):
    """The weight of a context turn among its neighbours: two layers with ReLU, d -> d -> 1 (section 3.2).

    :param dimension: d of the encoder's token vectors.
    """

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(dimension, dimension)
        self.out = nn.Linear(dimension, 1)

    def forward(self, refined: Tensor) -> Tensor:
        """Map [..., d] to one logit each, [...]."""
        logits: Tensor = self.out(functional.relu(self.hidden(refined)))
        return logits.squeeze(-1)


def refined_by_context(
    contexts: Tensor, context_mask: Tensor, responses: Tensor, response_mask: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the pooled responses [b, s, d], and each as every context turn sees it, pooled, [b, s, c, d].

    `M = U R^T / sqrt(d)`, refined `M R`, mean over the tokens of U. The mean comes first, since both products are
    linear: `mean(U) R^T R / sqrt(d)`, without a matrix of tokens against tokens. In fp32, whatever the autocast.

    :param contexts: token vectors U of the context turns [b, c, k, d].
    :param context_mask: 1 for a token, 0 for padding [b, c, k]; a context turn without tokens gives zeros.
    :param responses: token vectors R [b, s, n, d].
    :param response_mask: [b, s, n].
    """
    with torch.autocast(responses.device.type, enabled=False):
        precision = torch.promote_types(responses.dtype, torch.float32)
        present = response_mask.to(precision)[..., None]
        tokens = responses.to(precision) * present
        own = tokens.sum(2) / present.sum(2).clamp(min=1)
        spoken = context_mask.to(precision)[..., None]
        context = (contexts.to(precision) * spoken).sum(2) / spoken.sum(2).clamp(min=1)
        matched = torch.einsum("bcd,bsnd->bscn", context, tokens) / tokens.shape[-1] ** 0.5
        return own, torch.einsum("bscn,bsnd->bscd", matched, tokens)


def dialoguecse_loss(
    contexts: Tensor,
    context_mask: Tensor,
    responses: Tensor,
    response_mask: Tensor,
    *,
    temperature: float = 0.1,
    attention: ContextAttention | None = None,
) -> Tensor:
    """Let an utterance resemble what its context makes of it, more than strangers resemble what it makes of them.

    In plain words: each turn around a response picks out of the response what has to do with that turn. Of the true
    response this is much like the response as a whole; of a response from elsewhere it is not.

    Requirements: dialogues of four turns and more; every utterance is encoded alone; negatives from other dialogues.
    Inputs: a response, its context turns on both sides, and other responses.
    Relations: trains vectors of *utterances* by what surrounds them, where `dse_loss` takes the next utterance only.

    :param contexts: token vectors of the context turns [b, c, k, d].
    :param context_mask: 1 for a token, 0 for padding [b, c, k]; a missing turn has no token, and one at least has.
    :param responses: token vectors [b, s, n, d], the true response first.
    :param response_mask: [b, s, n].
    :param temperature: τ > 0; the paper's 0.1.
    :param attention: weighs the context turns by a softmax of its logits; None takes their mean, which the paper
        found the better.
    :return: scalar, `-log softmax over the responses of cos(R, R̃) / τ` of the true one, mean over the batch, in fp32 or
        the vectors' own precision where that is higher.

    Example::

        loss = dialoguecse_loss(contexts, context_mask, responses, response_mask)
        loss.backward()
    """
    own, refined = refined_by_context(contexts, context_mask, responses, response_mask)
    there = context_mask.any(2)[:, None, :]
    with torch.autocast(responses.device.type, enabled=False):
        if attention is None:
            weights = there / there.sum(2, keepdim=True).clamp(min=1)
        else:
            weights = attention(refined).masked_fill(~there, float("-inf")).softmax(2)
        guided = (weights.to(refined.dtype)[..., None] * refined).sum(2)
        logits = functional.cosine_similarity(own, guided, dim=2, eps=1e-8) / temperature
        return -functional.log_softmax(logits, dim=1)[:, 0].mean()
