"""The Siamese baselines of DialogueCSE: an utterance near what stands around it (Liu et al. 2021)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def siamese_loss(
    contexts: Tensor,
    context_mask: Tensor,
    responses: Tensor,
    response_mask: Tensor,
    *,
    temperature: float = 0.1,
) -> Tensor:
    """Let an utterance resemble the turns around it, more than strangers resemble them.

    In plain words: every utterance is the mean of its tokens, and a context the mean of its turns. The true response
    is to be nearer to the context than responses from elsewhere.

    Requirements: every utterance is encoded alone; negatives from other dialogues.
    Inputs: as of `dialoguecse_loss`. With one context turn it is the paper's SiameseBERT-S, with several
    SiameseBERT-M.
    Relations: `dialoguecse_loss` lets the context turns look at the tokens of the response, which the paper found the
    better; here they meet as finished vectors. `dse_loss` takes negatives from the batch instead of drawn ones.

    :param contexts: token vectors of the context turns [b, c, k, d].
    :param context_mask: 1 for a token, 0 for padding [b, c, k]; a missing turn has no token, and one at least has.
    :param responses: token vectors [b, s, n, d], the true response first.
    :param response_mask: [b, s, n].
    :param temperature: τ > 0; the paper's 0.1.
    :return: scalar, `-log softmax over the responses of cos(C, R) / τ` of the true one, mean over the batch, in fp32 or
        the vectors' own precision where that is higher.

    Example::

        loss = siamese_loss(contexts, context_mask, responses, response_mask)
        loss.backward()
    """
    with torch.autocast(responses.device.type, enabled=False):
        own = _means(responses, response_mask)
        there = context_mask.any(2).to(own.dtype)[..., None]
        # A missing turn is zeros in the sum, and not counted.
        context = _means(contexts, context_mask).sum(1) / there.sum(1).clamp(min=1)
        logits = functional.cosine_similarity(context[:, None], own, dim=2, eps=1e-8) / temperature
        return -functional.log_softmax(logits, dim=1)[:, 0].mean()


def _means(hidden: Tensor, mask: Tensor) -> Tensor:
    """Return the mean token of each utterance, [b, u, d] from [b, u, n, d]; zeros where there is none."""
    precision = torch.promote_types(hidden.dtype, torch.float32)
    present = mask.to(precision)[..., None]
    return (hidden.to(precision) * present).sum(2) / present.sum(2).clamp(min=1)
