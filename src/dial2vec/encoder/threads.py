"""How many threads compute on a CPU in long work: as many as there are cores free for it.

A step that two threads share is done when the slower one is. If other processes hold a core, each step waits until the
system lets its thread run again, and two threads are slower than one (docs/benchmarks.md).
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

# Seconds between two looks.
INTERVAL = 1.0
# Part of a core that may be missing, as other processes always do a little.
TOLERANCE = 0.25
STATISTICS = Path("/proc/stat")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Moment:
    """Seconds until a moment: on the clock, of processors in this process, and of idle cores."""

    clock: float
    own: float
    idle: float

    @classmethod
    def now(cls) -> Moment | None:
        """Return this moment; None on systems that do not say what their cores do."""
        try:
            idle = idle_seconds(STATISTICS.read_text(encoding="ascii"), os.sched_getaffinity(0))
        except (OSError, AttributeError):
            return None
        return cls(time.monotonic(), time.process_time(), idle)

    def free_cores(self, since: Moment) -> float:
        """Return how many cores this process used or could have used since another moment."""
        return (self.own - since.own + self.idle - since.idle) / (self.clock - since.clock)


def idle_seconds(statistics: str, cores: set[int]) -> float:
    """Return the seconds in which cores did nothing, from the text of /proc/stat.

    :param cores: Numbers of the cores on which this process may run.
    """
    named = (line.split() for line in statistics.splitlines() if line.startswith("cpu"))
    # user, nice, system, idle, waiting for a disk, ...
    ticks = sum(int(fields[4]) + int(fields[5]) for fields in named if fields[0][3:] in map(str, cores))
    return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def fitting_threads(device: str) -> Iterator[Callable[[], None]]:
    """Compute with as many threads as cores are free, inside a `with`; the number before is the largest.

    :param device: Kind of device, "cpu" or "cuda"; only on a CPU threads matter.
    :return: A function to call between two steps of the work. It looks at the machine every second, so the first
        second is computed with all threads.
    """
    most, last = torch.get_num_threads(), Moment.now()
    if device != "cpu" or most == 1 or last is None:
        yield lambda: None
        return

    def adapt() -> None:
        nonlocal last
        now = Moment.now()
        if now is None or last is None or now.clock - last.clock < INTERVAL:
            return
        free, before = now.free_cores(last), torch.get_num_threads()
        chosen, last = min(max(int(free + TOLERANCE), 1), most), now
        if chosen != before:
            torch.set_num_threads(chosen)
            log.info("computing with %d of %d threads: %.1f cores are free for this", chosen, most, free)

    try:
        yield adapt
    finally:
        torch.set_num_threads(most)
