"""How much memory a process could still take."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

MACHINE = Path("/proc/meminfo")
# Limit and use of a container's memory in bytes (version 2 of Linux's control groups); "max" without a limit.
LIMIT, USED, DETAILS = (Path("/sys/fs/cgroup") / name for name in ("memory.max", "memory.current", "memory.stat"))


def free_bytes() -> int | None:
    """Return the memory that this process could still take; None on systems that do not say.

    With the pages of files, which the system takes back when it needs them.
    """
    free: int | None = None
    with suppress(OSError, ValueError, AttributeError):
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError, KeyError):
        free = _numbers(MACHINE, ":")["MemAvailable"] * 1024
    with suppress(OSError, ValueError, KeyError):
        left = int(LIMIT.read_text()) - int(USED.read_text()) + _numbers(DETAILS, " ")["inactive_file"]
        free = left if free is None else min(free, left)
    return free


def _numbers(path: Path, separator: str) -> dict[str, int]:
    """Return the number of each line by its name."""
    pairs = (line.partition(separator) for line in path.read_text(encoding="ascii").splitlines())
    return {name: int(value.split()[0]) for name, _, value in pairs}
