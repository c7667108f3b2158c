"""Training by several processes, one per GPU: each reads a share of every batch, and the loss is that of the whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from accelerate import PartialState
from torch import Tensor, distributed
from torch.utils.data import Dataset

if TYPE_CHECKING:
    from dial2vec.training.data import TrainingSet

T = TypeVar("T")
# How long the others wait for the first process, which encodes the training dialogues meanwhile.
PATIENCE = timedelta(days=1)


def meet() -> None:
    """Wait for all processes; the first time this brings them together."""
    if n_processes() > 1:
        PartialState(cpu=not torch.cuda.is_available(), timeout=PATIENCE).wait_for_everyone()


def n_processes() -> int:
    """Return how many processes `torchrun` started; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def rank() -> int:
    """Return the number of this process, 0 for the one that writes."""
    return int(os.environ.get("RANK", "0"))


def by_the_first(work: Callable[[], T]) -> T:
    """Return what the first process got by `work`, in every process; only the first does it."""
    if n_processes() == 1:
        return work()
    found: list[Any] = [work() if rank() == 0 else None]
    distributed.broadcast_object_list(found)
    return found[0]


@contextmanager
def the_first_first() -> Iterator[None]:
    """Let the first process go through a `with` alone; the others follow and find what it kept."""
    if rank() > 0:
        meet()
    yield
    if rank() == 0:
        meet()


class ProcessBatches(Dataset[dict[str, Tensor]]):
    """The batches of a training run, of which each process reads every n-th item.

    A batch that is too short for all leaves some processes without an item; they take its first one, which then
    counts for nothing with them. `share` in a batch is what its loss is to be multiplied by, so that the mean over the
    processes is the mean over the whole batch.

    :param batch_size: items of a whole batch, of all processes together.
    """

    def __init__(self, data: TrainingSet, *, batch_size: int, n_processes: int, rank: int) -> None:
        self.data, self.batch_size, self.n_processes, self.rank = data, batch_size, n_processes, rank

    def __len__(self) -> int:
        return -(-len(self.data) // self.batch_size)

    def __getitem__(self, step: int) -> dict[str, Tensor]:
        items = range(step * self.batch_size, min((step + 1) * self.batch_size, len(self.data)))
        own = items[self.rank :: self.n_processes]
        share = torch.tensor(len(own) * self.n_processes / len(items))
        return self.data.collate([self.data[item] for item in own or items[:1]]) | {"share": share}


def gathered(own: Tensor) -> Tensor:
    """Return rows [b, ...] of all processes, [n b, ...]: an item's negatives are the whole batch, as with one process.

    Gradients go back to the process that a row is from. Every process has as many rows (`training.data.whole_batches`).
    """
    if n_processes() == 1:
        return own
    rows: Tensor = _Gathered.apply(own)
    return rows


class _Gathered(torch.autograd.Function):
    """Each process computes the same loss from all rows, so a row has a gradient in each, and their sum is its own.

    That sum is n times the gradient of the loss, and the mean over processes that follows divides by n.
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
