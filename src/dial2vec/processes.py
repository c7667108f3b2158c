"""Child processes: they end with their parent, and look for garbage rarely."""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
import signal
import sys
from collections.abc import Callable

from dial2vec.telemetry import switch_off

PR_SET_PDEATHSIG = 1


def ending_with(parent: int) -> Callable[[], None]:
    """Return a function for `preexec_fn` that ends the calling process if its parent is killed.

    Otherwise a killed `dvc repro` leaves its stage running, and the next one collides with it. Works only on Linux.

    :param parent: pid of the parent; if the caller's parent is another process by then, the caller ends at once.
    """
    # Loaded here: the function may run between fork and exec, where a lock held by another thread is never freed.
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def end_with_parent() -> None:
        if libc is not None:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != parent:
                os._exit(1)

    return end_with_parent


def collect_rarely() -> None:
    """Look for garbage rarely, and not at all when this process ends.

    Libraries bring a million objects, hardly any of them garbage: looking through these took half of the time in which
    a command starts and ends.
    """
    gc.set_threshold(10_000)
    atexit.register(gc.freeze)


def begin_worker(parent: int) -> None:
    """Begin a process of a pool, before its first work imports libraries; it ends with its parent.

    :param parent: pid of the process that made the pool.
    """
    switch_off()
    ending_with(parent)()
    collect_rarely()
