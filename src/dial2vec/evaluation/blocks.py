"""n x n work in blocks of rows on all processors, so memory stays small."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

S = TypeVar("S")
T = TypeVar("T")
# Numbers per block: 64 MiB as float64; with fewer rows a product of matrices is slower.
ENTRIES = 2**23


def over_blocks(work: Callable[[NDArray[np.int64]], T], n: int, *, block: int | None = None) -> Iterator[T]:
    """Yield the results of `work` for each block of rows, in order, one thread per processor.

    Each result depends on its block only, so the number of processors does not change figures.

    :param work: function of the rows of a block, int64 [b]; threads help if it spends its time in numpy.
    :param n: number of rows, each compared with all n.
    :param block: rows at a time; None means some 8 million pairs.
    """
    size = block or max(1, ENTRIES // max(n, 1))
    return in_threads(work, [np.arange(first, min(first + size, n)) for first in range(0, n, size)])


def in_threads(work: Callable[[S], T], items: Sequence[S]) -> Iterator[T]:
    """Yield the results of `work` for each item, in order, one thread per processor.

    :param work: function of an item; it gets one OpenMP thread, because several add partial sums in any order and
        figures would not repeat.
    """
    threads, loaded = min(len(items), n_threads()), _loaded(len(sys.modules))
    if threads < 2:
        with loaded.limit(limits=1, user_api="openmp"):
            yield from map(work, items)
        return
    # One BLAS thread per thread here, or they would wait for each other. OpenMP's limit holds per thread.
    with (
        loaded.limit(limits=1, user_api="blas"),
        ThreadPoolExecutor(threads, initializer=lambda: loaded.limit(limits=1, user_api="openmp")) as pool,
    ):
        yield from pool.map(work, items)


@lru_cache(maxsize=1)
def _loaded(modules: int) -> ThreadpoolController:
    """Return the loaded libraries that have threads.

    To look for them takes as long as a small k-means, and only imported modules bring new ones.
    """
    return ThreadpoolController()


def n_threads() -> int:
    """Return the number of threads: OMP_NUM_THREADS, as other libraries do, or all processors."""
    setting = os.environ.get("OMP_NUM_THREADS", "")
    if setting.isdigit() and int(setting):
        return int(setting)
    # Only Linux says on how many processors this process may run.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
