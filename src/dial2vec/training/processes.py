"""Training by several processes, one per GPU: each reads a share of every batch, the loss is the whole batch's."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch
from accelerate import PartialState
from torch import Tensor, distributed

T = TypeVar("T")
# The other processes wait so long for the first one, which encodes the training dialogues meanwhile.
PATIENCE = timedelta(days=1)


def barrier() -> None:
    """Wait for all processes; the first call connects them."""
    if n_processes() > 1:
        PartialState(cpu=not torch.cuda.is_available(), timeout=PATIENCE).wait_for_everyone()


def n_processes() -> int:
    """Return the number of processes that `torchrun` started; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def rank() -> int:
    """Return the number of this process; process 0 writes the files."""
    return int(os.environ.get("RANK", "0"))


def on_main_process(work: Callable[[], T]) -> T:
    """Let only the first process do `work`, and return its result in every process."""
    if n_processes() == 1:
        return work()
    result: list[Any] = [work() if rank() == 0 else None]
    distributed.broadcast_object_list(result)
    return result[0]


@contextmanager
def main_process_first() -> Iterator[None]:
    """Let the first process run a `with` block alone; the others follow, and read what it stored."""
    if rank() > 0:
        barrier()
    yield
    if rank() == 0:
        barrier()


def gathered(own: Tensor) -> Tensor:
    """Return the rows [b, ...] of all n processes, [n b, ...]; negatives come from the whole batch, as with 1 process.

    The gradient of a row returns to its process. Every process has equally many rows (`training.data.whole_batches`).
    """
    if n_processes() == 1:
        return own
    rows: Tensor = _Gathered.apply(own)
    return rows


class _Gathered(torch.autograd.Function):
    """Gather rows, and add up their gradients over the processes.

    Each of n processes computes the same loss from all rows, so the sum is n times the gradient of the loss. The mean
    over processes that follows divides by n.
    """

    @staticmethod
    def forward(ctx: Any, own: Tensor) -> Tensor:
        rows = [torch.empty_like(own) for _ in range(n_processes())]
        distributed.all_gather(rows, own.contiguous())
        return torch.cat(rows)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        gradient = gradient.contiguous()
        distributed.all_reduce(gradient)
        return gradient.chunk(n_processes())[rank()]
