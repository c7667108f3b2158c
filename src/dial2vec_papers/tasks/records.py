"""The result of a task, as a typed record for JSON."""

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
    :param data: name of the data, given by the caller.
    :param n: number of test sentences, queries or pairs over which figures are means.
    :param figures: name -> mean, in points (0 to 100, a correlation or a drop from -100), rounded to 4 decimals.
    :param spread: name -> population standard deviation over seeded draws, in points; empty for a task without draws.
    :param seconds: time of the task, mostly for encoding, without reading files. Texts that an earlier task of the run
        encoded are not encoded again, so it depends on the order of the tasks.
    :param versions: library -> version with which the figures were computed.
    :param settings: settings that influence the figures; only results with equal settings are comparable.
    :param left_out: number of queries that could not be ranked; no mean includes them.
    :param cut: number of different contexts that the encoder did not read whole; None if it does not tell.
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
        """Return the JSON form; `TaskResult(**record)` restores the result."""
        return asdict(self)


def kind_of(settings: Mapping[str, Any]) -> str:
    """Return the variant of a task from its settings, such as the rule or the number of candidates; "" for the usual.

    >>> kind_of({"negatives": 50})
    'of 51'
    """
    parts = [settings.get("rule", "")]
    if settings.get("prototype", "units") != "units":
        parts.append(f"prototype {settings['prototype']}")
    if "negatives" in settings:
        parts.append(f"of {settings['negatives'] + 1}")
    if settings.get("turns"):
        parts.append(f"last {settings['turns']} turn{'s' * (settings['turns'] > 1)}")
    if "positives" in settings:
        parts.append(f"at most {settings['positives']} relevant")
    return ", ".join(filter(None, parts))


def points(share: float) -> float:
    """Return a share in points, 100 times the share, rounded to 4 decimals.

    >>> points(1 / 3)
    33.3333
    """
    return round(100 * float(share), 4)


def library_versions(*libraries: str) -> dict[str, str]:
    """Return library -> installed version, by its name in the package index."""
    versions = {}
    for library in libraries:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:
            # On the path without being installed, as on some build farms.
            versions[library] = "unknown"
    return versions
