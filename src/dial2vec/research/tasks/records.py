"""What a task found, as a typed record that goes into JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

Setting = str | int | bool | None


@dataclass(frozen=True, slots=True)
class TaskResult:
    """One task on one set of data with one encoder.

    :param task: name of the task, such as "response_selection".
    :param data: name of the data, as the caller calls it.
    :param n: what the figures are means over: test sentences, queries or pairs.
    :param figures: name -> mean, in points (0 to 100, a correlation or a drop from -100), rounded to 4 decimals.
    :param spread: name -> population standard deviation over seeded draws, in points; empty for a task without draws.
    :param seconds: that the task took, most of them to encode; reading files is left out. What an earlier task of the
        same run encoded costs nothing again, so the order of the tasks matters to it.
    :param versions: library -> version of what the figures were computed with.
    :param settings: what the figures depend on besides data and encoder; only results that share it compare.
    :param left_out: queries that could not be ranked, and are in no mean.
    :param cut: different contexts that the encoder did not read whole; None where it does not tell.
    """

    task: str
    data: str
    n: int
    figures: dict[str, float]
    spread: dict[str, float]
    seconds: float
    versions: dict[str, str]
    settings: dict[str, Setting] = field(default_factory=dict)
    left_out: int = 0
    cut: int | None = 0

    def to_record(self) -> dict[str, Any]:
        """Return the JSON form; `TaskResult(**record)` is the result again."""
        return asdict(self)


def kind_of(settings: Mapping[str, Any]) -> str:
    """Return which of several measurements of a task has these settings: the rule, or the number of candidates.

    >>> kind_of({"negatives": 50})
    'of 51'
    """
    return settings.get("rule") or (f"of {settings['negatives'] + 1}" if "negatives" in settings else "")


def points(share: float) -> float:
    """Return a share as points: 100 times it, rounded to 4 decimals.

    >>> points(1 / 3)
    33.3333
    """
    return round(100 * float(share), 4)


def versions_of(*libraries: str) -> dict[str, str]:
    """Return the installed version of each library, by its name in the package index."""
    found = {}
    for library in libraries:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            # Put on the path without being installed, as a build farm may do.
            found[library] = "unknown"
    return found
