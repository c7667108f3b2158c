"""The package of the papers' experiments, which this one does not import: it is found by its entry points."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any

GROUP = "dial2vec.papers"


@cache
def papers(registry: str) -> dict[str, Any]:
    """Return the papers' registry "corpora", "counts" or "commands"; empty if their package is not installed."""
    return {name: entry for point in entry_points(group=GROUP, name=registry) for name, entry in point.load().items()}
