"""Progress bars."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from tqdm.auto import tqdm

T = TypeVar("T")
# Seconds of work before the bar appears.
DELAY = 2.0


def counted(items: Iterable[T], unit: str) -> Iterable[T]:
    """Yield the items; on a terminal, show their count from the third second on and remove it at the end."""
    passed_on: Iterable[T] = tqdm(items, unit=f" {unit}", disable=None, leave=False, delay=DELAY)
    return passed_on
