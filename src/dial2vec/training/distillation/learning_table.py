"""The student while it learns: rows and weights of its tokens, and a matrix; its loss."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from dial2vec.training.distillation.bags import Bags

# A token that makes up the share p of the corpus begins with the weight a / (a + p) (Arora et al. 2017, section 3).
RARE = 1e-3


class LearningTable(nn.Module):
    """Gives a dialogue the sum over its speakers of the weighted mean of their tokens' rows, times a matrix.

    :param rows: First rows [V, d] float32.
    :param weights: First weights, [V] above 0.
    :param matrix: First matrix [d, e] float32.
    """

    def __init__(self, rows: Tensor, weights: Tensor, matrix: Tensor) -> None:
        super().__init__()
        self.rows = nn.Parameter(rows.clone())
        self.log_weights = nn.Parameter(weights.float().log())
        self.matrix = nn.Parameter(matrix.clone())

    def forward(self, bags: Bags) -> Tensor:
        """Return the vectors of dialogues, [b, e] float32; zeros for one without tokens."""
        tokens, counts = torch.from_numpy(bags.tokens), torch.from_numpy(bags.counts)
        speakers = torch.from_numpy(np.repeat(np.arange(len(bags.speakers)), bags.speakers))
        weights = self.log_weights[tokens].exp() * counts
        sums = weights.new_zeros(len(bags.speakers)).index_add(0, speakers, weights)
        last = np.cumsum(bags.speakers)[np.cumsum(bags.dialogues) - 1]
        begins = torch.from_numpy(np.concatenate([[0], last[:-1]]))
        means = functional.embedding_bag(
            tokens, self.rows, begins, mode="sum", per_sample_weights=weights / sums[speakers]
        )
        return means @ self.matrix


def first_weights(bags: Bags, n: int) -> NDArray[np.float32]:
    """Return the first weight of each of n tokens, float32 [n]: near 1 if rare, near 0 if frequent."""
    counts = np.bincount(bags.tokens, bags.counts, minlength=n)
    return (RARE / (RARE + counts / max(1, counts.sum()))).astype(np.float32)


def imitation_loss(vectors: Tensor, targets: Tensor) -> Tensor:
    """Return the mean of 1 - cosine between vectors and targets [b, e], a scalar in [0, 2]."""
    return (1 - functional.cosine_similarity(vectors, targets, dim=1)).mean()
