"""Memory that is free inside the process goes back to the system, so that a worker under load stays at one size."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable


def _trimmer() -> Callable[[int], int] | None:
    """Return glibc's `malloc_trim`; None without glibc."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


class FreeMemory:
    """Returns free memory to the system, at most once in some seconds.

    Each batch has another number of rows and tokens. torch keeps a small record for each new shape, and records lie
    between the large arrays of a batch: glibc reuses such memory badly, and frees by itself only what lies at the end.

    :param seconds: Time between two returns.
    """

    def __init__(self, seconds: float = 5.0) -> None:
        self.seconds = seconds
        self._trim = _trimmer()
        self._next = 0.0

    def give_back(self) -> bool:
        """Return free memory to the system if it is time; return whether this was done."""
        now = time.monotonic()
        if self._trim is None or now < self._next:
            return False
        self._trim(0)
        self._next = now + self.seconds
        return True
