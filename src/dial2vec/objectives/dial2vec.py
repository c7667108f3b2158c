"""The self-guided contrastive objective of dial2vec (Liu et al. 2022, section 3.3, equations 5 to 7)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from dial2vec.matching import self_and_cross


def dial2vec_loss(
    hidden: Tensor,
    turns: Tensor,
    roles: Tensor,
    *,
    n_samples: int,
    temperature: float = 0.2,
    window: int | None = 10,
    mean: Literal["dialogues", "columns"] = "dialogues",
) -> Tensor:
    """Let each speaker's side of a dialogue guide the other's.

    In plain words: of N versions of a dialogue, one is real and in the others one side was replaced by unrelated
    utterances. Each role's vector must resemble what the other side "sees" of it most in the real version.

    Requirements: samples made by `dial2vec.training.negatives`; an encoder that sees the whole dialogue at once.
    Relations: trains *dialogue* vectors. For vectors of single utterances an utterance objective fits better.

    :param hidden: token vectors [b * n_samples, n, d]; sample 0 of each dialogue is the positive.
    :param turns: turn index of each token [b * n_samples, n].
    :param roles: role of each token [b * n_samples, n], -1 for padding.
    :param n_samples: N, 1 positive and N - 1 negatives per dialogue.
    :param temperature: τ > 0; the paper names 0.2.
    :param window: largest distance in turns at which tokens are matched; the paper names 10; None is no limit.
    :param mean: "dialogues" (the paper), or "columns": over the N samples too, as the published code does. That
        divides the loss by N, a scale which Adam takes back and `max_gradient_norm` does not.
    :return: scalar, `mean over dialogues of Σ_r -log softmax_j(cos(ê_j^r, ẽ_j^r) / τ)[positive]`, in fp32, or in the
        precision of `hidden` where that is higher. A role that the real dialogue lacks adds no term, and a negative
        that lost a role (cut at the length limit) is left out of that role's sum.

    Example::

        loss = dial2vec_loss(hidden, turns, roles, n_samples=10)
        loss.backward()
    """
    own, cross, present = self_and_cross(hidden, turns, roles, window=window)
    logits = functional.cosine_similarity(own, cross, dim=2, eps=1e-8) / temperature
    logits = logits.masked_fill(~present, float("-inf")).unflatten(0, (-1, n_samples))
    counted = present.unflatten(0, (-1, n_samples))[:, 0]
    # Rows of -inf would give NaN gradients even where they are masked afterwards.
    logits = torch.where(counted[:, None, :], logits, torch.zeros_like(logits))
    terms = -functional.log_softmax(logits, dim=1)[:, 0]
    loss = torch.where(counted, terms, torch.zeros_like(terms)).sum(1).mean()
    return loss / n_samples if mean == "columns" else loss
