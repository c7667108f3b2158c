"""Progress bars."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from tqdm.auto import tqdm

T = TypeVar("T")
# Seconds of work before the bar appears.
DELAY = 2.0
# Seconds between two states of a line that only counts time.
EVERY = 0.5


def counted(items: Iterable[T], unit: str, *, total: int | None = None) -> Iterable[T]:
    """Yield the items; on a terminal, show their count from the third second on and remove it at the end.

    :param total: number of items, if known and `items` does not say it.
    """
    passed_on: Iterable[T] = tqdm(items, **_options(unit), total=total)
    return passed_on


def bar_of(unit: str, *, doing: str | None = None) -> tqdm[Any]:
    """Return a bar that looks like that of `counted`, for work that is counted by `update`."""
    bar: tqdm[Any] = tqdm(**_options(unit), desc=doing)
    return bar


def _options(unit: str) -> dict[str, Any]:
    return {"unit": f" {unit}", "disable": None, "leave": False, "delay": DELAY}


def bar_to(total: int | None, doing: str, *, unit: str = "it", shown: bool = True) -> AbstractContextManager[tqdm[Any]]:
    """Return a bar that moves until `total` is reached and is then removed.

    :param total: number that the updates sum to; None if it is not known.
    :param shown: False for no bar even on a terminal.
    """
    return moving(tqdm(total=total, desc=doing, unit=unit, disable=None if shown else True, leave=False))


@contextmanager
def moving(bar: tqdm[Any]) -> Iterator[tqdm[Any]]:
    """Draw a bar twice a second, so that its time moves while a long step is not done yet; close it at the end."""
    finished = threading.Event()
    watch = threading.Thread(target=_draw, args=(bar, finished), daemon=True)
    if not bar.disable:
        watch.start()
    try:
        yield bar
    finally:
        finished.set()
        if not bar.disable:
            watch.join()
        bar.close()


def _draw(bar: tqdm[Any], finished: threading.Event) -> None:
    wait = max(bar.delay, EVERY)
    while not finished.wait(wait):
        # tqdm clears a bar at its end only if its delay is over.
        bar.delay, wait = 0, EVERY
        bar.refresh()


@contextmanager
def waiting(doing: str) -> Iterator[None]:
    """Show how long a step takes that has no parts to count, such as loading an encoder, and remove it at the end.

    Only a terminal shows it, from the third second on.

    :param doing: name of the step, such as "loading the encoder".
    """
    form = "{desc}: {elapsed_s:.1f} s"
    with moving(tqdm(desc=doing, bar_format=form, file=sys.stderr, disable=None, leave=False, delay=DELAY)):
        yield
