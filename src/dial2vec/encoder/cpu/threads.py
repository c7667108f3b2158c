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

from conversations.files import read_json, write_json

# Seconds between two looks; the first one comes earlier, because what it corrects was seen in one moment.
INTERVAL, FIRST_LOOK = 1.0, 0.25
# Part of a core that may be missing, as other processes always do a little.
TOLERANCE = 0.25
# The second file is read in microseconds; the first has a line for each core, so that many cores take milliseconds.
STATISTICS, LOAD = Path("/proc/stat"), Path("/proc/loadavg")
OWN_THREADS = Path("/proc/self/task")
# Seconds to look at the machine before work that keeps its number of threads.
LOOK = 0.5

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Moment:
    """What the machine did until a moment.

    :param clock: Seconds on the clock.
    :param own: Seconds of processors in this process.
    :param idle: Seconds in which its cores did nothing.
    """

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


def unclaimed_cores() -> int | None:
    """Return how many cores of the machine no other process wants at this moment; None if the system does not say.

    May be negative, if more threads want to compute than there are cores.
    """
    try:
        running = int(LOAD.read_text(encoding="ascii").split()[3].partition("/")[0])
    except (OSError, ValueError, IndexError):
        return None
    # Not this thread, nor others of this process: after a product they wait for the next one by computing.
    own = sum(map(_is_running, OWN_THREADS.glob("*/stat"))) if running > 1 else running
    return (os.cpu_count() or 1) - max(running - own, 0)


def _is_running(statistics: Path) -> bool:
    """Return whether a thread computes or wants a core, from its file in /proc."""
    try:
        # The name of a thread stands in brackets and may hold blanks.
        return statistics.read_text(errors="replace").rpartition(")")[2].split()[0] == "R"
    except (OSError, IndexError):
        return False


@contextmanager
def fitting_threads(device: str) -> Iterator[Callable[[], None]]:
    """Compute with as many threads as cores are free, inside a `with`; the number before is the largest.

    :param device: Kind of device, "cpu" or "cuda"; only on a CPU threads matter.
    :return: A function to call between two steps of the work, which looks at the machine every second. The first steps
        take as many threads as there are cores that nobody else wants when the work begins: one step of two threads
        beside other work can take longer than many steps of one.
    """
    most = torch.get_num_threads()
    unclaimed = unclaimed_cores() if device == "cpu" and most > 1 else None
    if unclaimed is None:
        yield lambda: None
        return
    last: Moment | None = None
    steps, interval = 0, FIRST_LOOK

    def adapt() -> None:
        nonlocal last, steps, interval
        steps += 1
        # Work of one step, such as a query, is done before there is anything to learn.
        now = Moment.now() if steps > 1 else None
        if now is None or last is None:
            last = now
            return
        if now.clock - last.clock < interval:
            return
        free, before = now.free_cores(last), torch.get_num_threads()
        chosen, last, interval = _fitting(free, most), now, INTERVAL
        if chosen != before:
            torch.set_num_threads(chosen)
            log.info("computing with %d of %d threads: %.1f cores are free for this", chosen, most, free)

    try:
        torch.set_num_threads(_fitting(unclaimed, most))
        yield adapt
    finally:
        torch.set_num_threads(most)


@contextmanager
def steady_threads(record: Path, device: str) -> Iterator[None]:
    """Compute with as many threads as cores are free at the start, inside a `with`, and with these to the end.

    Another number of threads rounds sums otherwise, so a training that is killed goes on with the number it began with.

    :param record: File that keeps the number.
    """
    most, began = torch.get_num_threads(), Moment.now()
    if device != "cpu" or most == 1 or began is None:
        yield
        return
    if not record.is_file():
        time.sleep(LOOK)
        now = Moment.now() or began
        write_json(record, _fitting(now.free_cores(began), most))
    chosen = min(read_json(record), most)
    if chosen < most:
        log.info("computing with %d of %d threads: other work keeps the other cores busy", chosen, most)
    try:
        torch.set_num_threads(chosen)
        yield
    finally:
        torch.set_num_threads(most)


def _fitting(free: float, most: int) -> int:
    return min(max(int(free + TOLERANCE), 1), most)
