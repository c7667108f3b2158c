"""How many threads compute on a CPU in long work, measured: beside other work, threads wait for each other.

A product that two threads share is done when the slower one is. If other processes hold a core, each step waits until
the system lets its thread run again, and two threads are slower than one (docs/benchmarks.md).
"""

from __future__ import annotations

import logging
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch.nn import functional

# Fewer dialogues are read before a measurement has paid.
LONG = 200
# Seconds for which a measurement holds.
VALID = 60.0
RUNS = 3
# Tokens, width and inner width of the work that is measured: a part that an encoder of 384 numbers reads at a time.
TOKENS, WIDTH, INNER, LAYERS = 768, 384, 1536, 3

log = logging.getLogger(__name__)


class _Known:
    """The last measurement: when it was, of how many threads, and the number chosen."""

    moment, most, chosen = float("-inf"), 0, 0


@contextmanager
def fitting_threads(n: int, device: str) -> Iterator[Callable[[], None]]:
    """Compute with as many threads as are fastest at the time, inside a `with`; the number before is its limit.

    :param n: Number of items of the work; below `LONG` nothing is measured.
    :param device: Kind of device, "cpu" or "cuda"; only on a CPU threads matter.
    :return: A function to call between two steps of the work; it measures again when the last time was `VALID` ago.
    """
    most = torch.get_num_threads()
    if device != "cpu" or most == 1 or n < LONG:
        yield lambda: None
        return

    def adapt() -> None:
        torch.set_num_threads(_chosen(most))

    try:
        adapt()
        yield adapt
    finally:
        torch.set_num_threads(most)


def _chosen(most: int) -> int:
    now = time.monotonic()
    if _Known.most != most or now - _Known.moment > VALID:
        taken = measure(counts(most))
        best = min(taken, key=taken.__getitem__)
        if best < most and best != (_Known.chosen if _Known.most == most else most):
            log.warning(
                "computing with %d of %d threads: other work keeps the processors busy, and all of them would take "
                "%.1f times as long",
                *(best, most, taken[most] / taken[best]),
            )
        _Known.moment, _Known.most, _Known.chosen = time.monotonic(), most, best
    return _Known.chosen


def counts(most: int) -> list[int]:
    """Return the numbers of threads to measure: all, then half as many, down to 1."""
    found = [most]
    while found[-1] > 1:
        found.append(found[-1] // 2)
    return found


def measure(numbers: Sequence[int]) -> dict[int, float]:
    """Return the seconds of the same small work by each number of threads, the median of a few runs in turn."""
    generator = torch.Generator().manual_seed(0)
    tokens, inner, outer = (
        torch.randn(shape, generator=generator) / 20 for shape in ((TOKENS, WIDTH), (INNER, WIDTH), (WIDTH, INNER))
    )
    taken: dict[int, list[float]] = {number: [] for number in numbers}
    with torch.inference_mode(), torch.autocast("cpu", enabled=False):
        for _ in range(RUNS):
            for number in numbers:
                torch.set_num_threads(number)
                _work(tokens[:8], inner, outer)
                began = time.perf_counter()
                _work(tokens, inner, outer)
                taken[number].append(time.perf_counter() - began)
    return {number: statistics.median(seconds) for number, seconds in taken.items()}


def _work(tokens: torch.Tensor, inner: torch.Tensor, outer: torch.Tensor) -> None:
    """Compute what threads share in a layer: two products, and steps between them that wait for all threads."""
    for _ in range(LAYERS):
        wide = functional.gelu(functional.linear(tokens, inner))
        tokens = functional.layer_norm(functional.linear(wide, outer) + tokens, (WIDTH,))
