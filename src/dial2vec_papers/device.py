"""The device of a command, and of the processes that it starts."""

from __future__ import annotations

import os

from dial2vec.errors import Dial2vecError


def take_device(device: str | None) -> None:
    """Let this process, and those that it starts, see no other GPU than that of `device`.

    Call it before anything computes on a GPU.

    :param device: "cpu", "cuda" or "cuda:1", counted from 0; None takes a GPU if there is one.
    :raises Dial2vecError: if there is no such device.
    """
    if device is None:
        return
    kind, _, number = device.partition(":")
    if kind == "cpu" or number:
        os.environ["CUDA_VISIBLE_DEVICES"] = number
    import torch

    if kind not in ("cpu", "cuda") or (kind == "cuda" and not torch.cuda.is_available()):
        raise Dial2vecError(
            f"found no device {device!r}; expected cpu, or cuda or cuda:1 of a GPU that PyTorch sees. Name another "
            "--device, or leave it out."
        )
