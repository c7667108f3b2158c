"""Telling that something is still going on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from tqdm.auto import tqdm

T = TypeVar("T")
# What is over sooner needs no bar.
DELAY = 2.0


def counted(items: Iterable[T], unit: str) -> Iterable[T]:
    """Pass items on, counting them on a terminal from the third second on; nothing is left of it at the end."""
    passed_on: Iterable[T] = tqdm(items, unit=f" {unit}", disable=None, leave=False, delay=DELAY)
    return passed_on
