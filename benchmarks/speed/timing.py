"""Shared by benchmarks that time: works that take turns, medians with their spread, and the machine."""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

Works = dict[str, Callable[[], object]]
Times = dict[str, list[float]]

PRODUCTS, SIZE = 10, 2048


@dataclass(frozen=True)
class Figure:
    """A figure of several runs: their median, the lowest and the highest."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float], *, digits: int = 2) -> Figure:
        """Summarise runs, rounded."""
        return cls(*(round(value, digits) for value in (statistics.median(values), min(values), max(values))))

    def __str__(self) -> str:
        return f"{self.median:g}" if self.low == self.high else f"{self.median:g} ({self.low:g} to {self.high:g})"


def machine(device: str = "cpu") -> str:
    """Return processor, number of threads, instructions that matter, the GPU if one computes, and torch's version."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").is_file() else []
    named = {line.split(":")[0].strip(): line.split(":", 1)[1] for line in reversed(lines) if ":" in line}
    wanted = ("avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_bf16")
    flags = [flag for flag in wanted if flag in named.get("flags", "").split()]
    name = named.get("model name", platform.processor()).strip()
    gpu = f"{torch.cuda.get_device_name()}, " if device == "cuda" else ""
    return f"{gpu}{name}, {torch.get_num_threads()} threads, {' '.join(flags)}, torch {torch.__version__}"


def times(works: Works, *, repeats: int, device: str = "cpu") -> Times:
    """Return the seconds of each run of each work; they take turns.

    Each counted run follows an uncounted one: the first run after another work requests memory from the system, which
    a running training already has.
    """
    taken: Times = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            for counts in (False, True):
                began = time.perf_counter()
                work()
                if device == "cuda":
                    torch.cuda.synchronize()
                if counts:
                    taken[name].append(time.perf_counter() - began)
    return taken


def seconds(works: Works, *, repeats: int) -> dict[str, float]:
    """Return the median time of each work."""
    return {name: statistics.median(taken) for name, taken in times(works, repeats=repeats).items()}


def ratio(slow: Sequence[float], fast: Sequence[float], *, times: float = 1.0) -> Figure:
    """Return the ratio of two times, turn by turn, so that changes of the machine's speed affect both alike."""
    return Figure.of([times * one / other for one, other in zip(slow, fast, strict=True)])


def rate(count: float, taken: Sequence[float]) -> Figure:
    """Return a number of units per second."""
    return Figure.of([count / one for one in taken])


def products(device: str = "cpu", dtype: torch.dtype = torch.float32) -> Callable[[], None]:
    """Return the work that is the yardstick of others, ten products of two matrices of 2,048 x 2,048."""
    one, other = torch.randn(2, SIZE, SIZE, device=device).to(dtype)

    def multiply() -> None:
        for _ in range(PRODUCTS):
            one @ other

    return multiply


def peak_fraction(operations: float, taken: Sequence[float], product: Sequence[float]) -> Figure:
    """Return the share of the speed of these products that useful operations reach, turn by turn."""
    made = PRODUCTS * 2 * SIZE**3
    return Figure.of([operations / one / (made / other) for one, other in zip(taken, product, strict=True)], digits=3)
