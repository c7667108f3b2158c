"""A small Glow for vectors: scaling, permutation and additive coupling, several times (Kingma & Dhariwal 2018)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

DEPTH, HIDDEN = 8, 64
LEAST_SD = 1e-6


class Step(nn.Module):
    """One step: every dimension is scaled and moved, all are permuted, and one half moves the other.

    The half that moves is unchanged, so the step can be undone whatever the network between the halves is. That
    network begins with zeros, and a permutation is drawn once.

    :param dimension: length d of the vectors, at least 2.
    """

    order: Tensor

    def __init__(self, dimension: int) -> None:
        super().__init__()
        first = dimension // 2
        self.log_scale, self.shift = nn.Parameter(torch.zeros(dimension)), nn.Parameter(torch.zeros(dimension))
        self.register_buffer("order", torch.randperm(dimension))
        last = nn.Linear(HIDDEN, dimension - first)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.move = nn.Sequential(nn.Linear(first, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), last)

    def forward(self, vectors: Tensor) -> Tensor:
        """Map [n, d] to [n, d]; the logarithm of its determinant is the sum of `log_scale`."""
        scaled = ((vectors - self.shift) * self.log_scale.exp())[:, self.order]
        first, second = scaled.tensor_split([scaled.shape[1] // 2], dim=1)
        return torch.cat([first, second + self.move(first)], dim=1)


class Glow(nn.Module):
    """An invertible map of vectors [n, d] and its likelihood.

    :param dimension: length d of the vectors, at least 2.
    """

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.steps = nn.ModuleList(Step(dimension) for _ in range(DEPTH))

    def each(self) -> list[Step]:
        """Return the steps in their order."""
        return [step for step in self.steps if isinstance(step, Step)]

    def forward(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """Return the mapped vectors [n, d], and the logarithm of the determinant of the map's derivative, a scalar."""
        log_determinant = vectors.new_zeros(())
        for step in self.each():
            vectors = step(vectors)
            log_determinant = log_determinant + step.log_scale.sum()
        return vectors, log_determinant

    def loss(self, vectors: Tensor) -> Tensor:
        """Return the mean negative log-likelihood per dimension under a standard normal distribution, a scalar."""
        mapped, log_determinant = self(vectors)
        n_dimensions = vectors.shape[1]
        squares = mapped.square().sum(1).mean() / 2
        loss: Tensor = (squares - log_determinant) / n_dimensions + math.log(2 * math.pi) / 2
        return loss

    def scale_to(self, vectors: Tensor) -> None:
        """Set shift and scale of the first step so that every dimension of the vectors has mean 0 and variance 1."""
        first = self.each()[0]
        with torch.no_grad():
            first.shift.copy_(vectors.mean(0))
            first.log_scale.copy_(-vectors.std(0, correction=0).clamp(min=LEAST_SD).log())
