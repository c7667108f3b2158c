"""Modules that are trained with the encoder and discarded afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

T = TypeVar("T")


class TwoLayers(nn.Module):
    """Two linear layers with ReLU between them, d -> d -> width.

    :param dimension: Length d of the encoder's vectors.
    :param width: Length of the result.
    """

    def __init__(self, dimension: int, width: int, *, bias: bool = True) -> None:
        super().__init__()
        self.hidden = nn.Linear(dimension, dimension, bias=bias)
        self.out = nn.Linear(dimension, width, bias=bias)

    def forward(self, vectors: Tensor) -> Tensor:
        """Map [..., d] to [..., width]."""
        mapped: Tensor = self.out(functional.relu(self.hidden(vectors)))
        return mapped


def seeded(make: Callable[[], T], *, seed: int) -> T:
    """Return what `make` returns; its random weights depend only on `seed`, and torch's generator stays as it was."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return make()
