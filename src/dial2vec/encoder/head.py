"""The head: a centred linear map on the pooled vector, folded into the saved model."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.functional import normalize

from dial2vec.encoder.folder import damaged
from dial2vec.errors import ModelError


class Head(nn.Module):
    """Maps pooled vectors x to `unit(unit(unit(x) - mean) W)`, unit(v) being v / |v|.

    The mean is common to all dialogues of the corpus; W is fitted by `maps.fit_map`.

    :param mean: [d] float32.
    :param weight: [d, d] float32.
    """

    mean: Tensor
    weight: Tensor

    def __init__(self, mean: Tensor, weight: Tensor) -> None:
        super().__init__()
        # Buffers, not parameters: they move with the model, but no optimiser changes them.
        self.register_buffer("mean", mean.float())
        self.register_buffer("weight", weight.float())

    @classmethod
    def load(cls, path: Path, dimension: int) -> Head:
        """Read a file that `save` wrote.

        :param dimension: length d of the encoder's vectors.
        :raises ModelError: if the file is missing, damaged or of another d.
        """
        with damaged(f"{path} is not a whole head"):
            tensors = load_file(path)
            mean, weight = tensors["mean"], tensors["weight"]
        if mean.shape != (dimension,) or weight.shape != (dimension, dimension):
            raise ModelError(
                f"{path} holds a mean of shape {list(mean.shape)} and a weight of shape {list(weight.shape)}, but the "
                f"encoder's vectors have length {dimension}. Save the encoder again, with the head fitted on it."
            )
        return cls(mean, weight)

    def save(self, path: Path) -> None:
        """Write mean and weight to one safetensors file."""
        save_file({name: tensor.cpu().contiguous() for name, tensor in self.state_dict().items()}, path)

    def forward(self, vectors: Tensor) -> Tensor:
        """Return unit vectors [..., d] float32 for pooled vectors [..., d]; always computed in fp32."""
        with torch.autocast(vectors.device.type, enabled=False):
            centred = normalize(normalize(vectors.float(), dim=-1) - self.mean, dim=-1)
            return normalize(centred @ self.weight, dim=-1)

    def of_parts(self, parts: Tensor, weights: Tensor) -> Tensor:
        """Map the parts of a pooled vector x, [n, d] float32: the results sum to the mapped x.

        :param parts: float32 [n, d]; their sum x is not zero.
        :param weights: share of the mean that each part bears, float32 [n], with sum 1.
        """
        centred = parts / parts.sum(0).norm() - weights[:, None] * self.mean
        mapped = (centred / centred.sum(0).norm()) @ self.weight
        return mapped / mapped.sum(0).norm()
