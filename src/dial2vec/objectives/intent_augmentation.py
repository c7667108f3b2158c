"""Dialogues against intent-preserving and intent-corrupting variants of themselves (methods of section 5)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def intent_augmentation_loss(
    dialogues: Tensor, preserved: Tensor, corrupted: Tensor, *, temperature: float = 0.05
) -> Tensor:
    """Bring a dialogue near to a variant that means the same, and away from the batch and from variants that do not.

    In plain words: what was said may be reordered, shortened or lengthened without changing what it is about; replace
    the words that carry the intent, and it is another dialogue that only looks the same.

    Requirements: variants made by `dial2vec augment`.
    Inputs: vectors of dialogues, of one preserving variant each, and of any number of corrupted ones.
    Relations: trains *dialogue* vectors, as `dial2vec_loss` does, with negatives that keep the style of the dialogue.

    `-log(e^{cos(x_i, y_i)/τ} / (Σ_j e^{cos(x_i, y_j)/τ} + Σ_h e^{cos(x_i, z_h)/τ}))`, mean over i.

    :param dialogues: x [b, d].
    :param preserved: y [b, d].
    :param corrupted: z [h, d]; none is an ordinary in-batch softmax.
    :param temperature: τ > 0.
    :return: scalar, in fp32 or the vectors' own precision where that is higher.

    Example::

        loss = intent_augmentation_loss(encoder(dialogues), encoder(preserved), encoder(corrupted))
        loss.backward()
    """
    with torch.autocast(dialogues.device.type, enabled=False):
        precision = torch.promote_types(dialogues.dtype, torch.float32)
        anchors = functional.normalize(dialogues.to(precision), dim=1)
        others = functional.normalize(torch.cat([preserved, corrupted]).to(precision), dim=1)
        logits = anchors @ others.T / temperature
        return functional.cross_entropy(logits, torch.arange(len(anchors), device=anchors.device))
