"""What other packages add, which this one does not import: it is found by their entry points (docs/plugins.md)."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

GROUP = "dial2vec.papers"
METHODS = "dial2vec.methods"


@cache
def papers(registry: str) -> dict[str, Any]:
    """Return the papers' registry "corpora", "counts" or "commands"; empty if their package is not installed."""
    return {name: entry for point in entry_points(group=GROUP, name=registry) for name, entry in point.load().items()}


def methods() -> dict[str, EntryPoint]:
    """Return the training methods of other packages by name; none is loaded."""
    return {point.name: point for point in entry_points(group=METHODS)}
