"""Rows against all rows, some at a time and on every processor: what n x n work needs to stay small."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

S = TypeVar("S")
T = TypeVar("T")
# Numbers of a block: as float64 they are 32 MiB, so that some arrays of that size for each thread are no matter.
ENTRIES = 2**22


def over_blocks(work: Callable[[NDArray[np.int64]], T], n: int, *, block: int | None = None) -> Iterator[T]:
    """Yield what `work` makes of each block of rows, in their order, as many at a time as there are processors.

    Figures do not depend on how many there are: what is computed of a block depends on that block alone.

    :param work: takes the rows of a block, int64 [b]; called in threads, it gains where it spends its time in numpy.
    :param n: number of rows, each of which is to stand against all n.
    :param block: rows at a time; None is as many as make some 4 million pairs.
    """
    size = block or max(1, ENTRIES // max(n, 1))
    return in_threads(work, [np.arange(first, min(first + size, n)) for first in range(0, n, size)])


def in_threads(work: Callable[[S], T], items: Sequence[S]) -> Iterator[T]:
    """Yield what `work` makes of each item, in their order, as many at a time as there are processors.

    :param work: uses one OpenMP thread: several add their partial sums in whatever order they finish, and figures
        would not repeat.
    """
    threads = min(len(items), n_threads())
    if threads < 2:
        with threadpool_limits(limits=1, user_api="openmp"):
            yield from map(work, items)
        return
    # One BLAS thread for each of ours, or they would wait for each other. OpenMP's limit is each thread's own.
    with (
        threadpool_limits(limits=1, user_api="blas"),
        ThreadPoolExecutor(threads, initializer=lambda: threadpool_limits(limits=1, user_api="openmp")) as pool,
    ):
        yield from pool.map(work, items)


def n_threads() -> int:
    """Return how many threads to compute with: what OMP_NUM_THREADS says, as for other libraries, or all processors."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    return int(said) if said.isdigit() and int(said) else len(os.sched_getaffinity(0))
