"""The result of a task, as a typed record for JSON, and the tables that tasks read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import wraps
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ParamSpec

import numpy as np

from conversations.files import numbered_lines
from dial2vec.errors import CorpusError

Setting = str | int | bool | None
Figures = dict[str, float]
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class TaskResult:
    """One task on one set of data with one encoder.

    :param task: name of the task, such as "response_selection".
    :param n: number of test sentences, queries or pairs over which figures are means.
    :param figures: name -> mean, in points (0 to 100, a correlation or a drop from -100), rounded to 4 decimals.
    :param spread: name -> population standard deviation over seeded draws, in points; empty for a task without draws.
    :param seconds: time of the task, mostly for encoding, added by `timed`. Texts that an earlier task of the run
        encoded are not encoded again, so it depends on the order of the tasks.
    :param versions: library -> version with which the figures were computed.
    :param settings: settings that influence the figures; only results with equal settings are comparable.
    :param left_out: number of queries that could not be ranked; no mean includes them.
    :param cut: number of different contexts that the encoder did not read whole; None if it does not tell.
    """

    task: str
    data: str
    n: int
    figures: Figures
    spread: Figures = field(default_factory=dict)
    seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Setting] = field(default_factory=dict)
    left_out: int = 0
    cut: int | None = 0

    def to_record(self) -> dict[str, Any]:
        """Return the JSON form; `TaskResult(**record)` restores the result."""
        return asdict(self)


def timed(*libraries: str) -> Callable[[Callable[P, TaskResult]], Callable[P, TaskResult]]:
    """Return a decorator of tasks that adds their seconds, and the versions of libraries, to their results."""

    def decorate(task: Callable[P, TaskResult]) -> Callable[P, TaskResult]:
        @wraps(task)
        def run(*args: P.args, **kwargs: P.kwargs) -> TaskResult:
            start = time.perf_counter()
            result = task(*args, **kwargs)
            return replace(result, seconds=time.perf_counter() - start, versions=library_versions(*libraries))

        return run

    return decorate


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
    if "given" in settings:
        parts.append(f"of {settings['given']} given")
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


def summary(runs: Sequence[Figures]) -> tuple[Figures, Figures]:
    """Return the mean and the population standard deviation of each figure, in points, from shares in [0, 1]."""
    names = list(runs[0]) if runs else []
    return (
        {name: points(float(np.mean([run[name] for run in runs]))) for name in names},
        {name: points(float(np.std([run[name] for run in runs]))) for name in names},
    )


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


def tab_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each line that is not blank, from 1, and its stripped cells, as DialogueCSE publishes them.

    Quotation marks are part of their sentence. A byte order mark is accepted.

    :param columns: names of the cells; every line must have as many.
    :raises CorpusError: if the file cannot be read or is empty, or a line has too many or too few cells.
    """
    number, expected = 0, f"a file with {len(columns)} columns parted by tabs"
    for number, line in numbered_lines(path, expected):
        cells = [cell.strip() for cell in line.rstrip("\r\n").split("\t")]
        if len(cells) != len(columns):
            raise CorpusError(
                f"{path}:{number}: found {len(cells)} cells parted by tabs, expected {len(columns)} "
                f"({', '.join(columns)}). Mend or remove this line."
            )
        yield number, cells
    if not number:
        raise CorpusError(f"{path} is empty; expected lines of {', '.join(columns)}. Fetch it again.")
