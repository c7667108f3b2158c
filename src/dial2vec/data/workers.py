"""Work on the parts of a large corpus, in this process or in several, with the results in order."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from dial2vec.errors import Dial2vecError
from dial2vec.processes import end_with

S = TypeVar("S")
T = TypeVar("T")
# Microseconds of CPU per period, "max" without a limit; only in containers on Linux.
CPU_SHARE = Path("/sys/fs/cgroup/cpu.max")
# Blocks that wait for a process, per process: enough that none is idle, and few enough that memory stays small.
WAITING = 2
# Each process has a processor to itself; threads of its libraries would compete with those of the others.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), "1")


def processors() -> int:
    """Return the number of processors that this process may use."""
    # `taskset` may allow fewer processors than the machine has, and a container only a share of their time.
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):
        quota, period = map(int, CPU_SHARE.read_text(encoding="ascii").split())
        allowed = min(allowed, quota // period)
    return max(1, allowed)


def processes_for(n_parts: int, *, fewest: int) -> int:
    """Return the number of processes for so many parts; 1 if starting more takes longer than they save.

    :param fewest: Parts for which one more process is worth its start.
    """
    return max(1, min(processors(), n_parts // fewest))


def works_alone(n_parts: int, *, fewest: int) -> bool:
    """Return whether `spread` works in this process alone, on one part after the other."""
    return processes_for(n_parts, fewest=fewest) == 1


def spread(work: Callable[[S], T], parts: Iterable[S], *, n_parts: int, fewest: int) -> Iterator[T]:
    """Yield the results of `work` for each part, in order; they are the same in any number of processes.

    :param work: Function of a module, which other processes can import.
    :param parts: Parts, read as far as processes need them.
    :param n_parts: Number of the parts, roughly, by which processes are counted.
    :param fewest: Parts for which one more process of this machine is worth its start.
    :raises Dial2vecError: if a process ends, such as for lack of memory.
    """
    return in_processes(work, parts, count=processes_for(n_parts, fewest=fewest))


def in_processes(work: Callable[[S], T], items: Iterable[S], *, count: int) -> Iterator[T]:
    """Yield the results of `work` for each item, in order.

    :param work: Function of a module, which other processes can import.
    :param items: Read as far as processes need them.
    :param count: Number of processes; 1 works in this one.
    :raises Dial2vecError: if a process ends, such as for lack of memory.
    """
    if count < 2:
        yield from map(work, items)
        return
    # Spawned: a forked process would inherit locks that threads of loaded libraries hold.
    with ProcessPoolExecutor(count, get_context("spawn"), initializer=_begin, initargs=(os.getpid(),)) as pool:
        waiting: deque[Future[T]] = deque()
        try:
            for item in items:
                with _main_left_out():
                    waiting.append(pool.submit(work, item))
                if len(waiting) > WAITING * count:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise Dial2vecError(
                f"one of the {count} processes was ended while it worked, perhaps for lack of memory; expected its "
                "results. Free memory, and start again."
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _main_left_out() -> Iterator[None]:
    """Keep processes that start meanwhile from importing the caller's main module.

    A script of a few lines that calls this package would run again in each of them.
    """
    main: dict[str, Any] = vars(sys.modules["__main__"])
    places: dict[str, Any] = {name: main[name] for name in ("__spec__", "__file__") if name in main}
    main |= dict.fromkeys(places)
    try:
        yield
    finally:
        main |= places


def _begin(parent: int) -> None:
    end_with(parent)
    # Ctrl-C is for the command, which ends its processes.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Before a library is loaded that reads them.
    os.environ.update(ONE_THREAD)
    # Dialogues hold no cycles; looking for these among their turns takes a fifth of the time of reading.
    gc.set_threshold(100_000)
