"""What the points are coloured by: labels, clusters, time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dial2vec.collection import Collection
from dial2vec.errors import ArtifactError
from dial2vec.evaluation.report.pictures import COLOURS

# The colours of the house twice, as discs, and as rings in a shade of their own; more cannot be told apart.
MOST_NAMED = 2 * len(COLOURS)
# From blue, the oldest, to yellow: told apart by lightness too, and seen on a white and on a near-black page.
TIMES = ("#4f5bd5", "#7a52d1", "#9b4bc4", "#b847ae", "#cf4a92", "#e05675", "#ea6a57", "#ee823c", "#e99c27", "#d9b620")
GREY = "#8b949e"
# From fine to coarse; the first that leaves no more periods than there are colours is taken.
PERIODS = ("D", "W", "M", "Q", "Y")


@dataclass(frozen=True, slots=True)
class Colouring:
    """One way to colour the points.

    :param title: such as "label".
    :param names: of the groups, in the order of the legend.
    :param counts: dialogues of each.
    :param colours: of each, such as "#3b82f6".
    :param marks: of each, "disc" or "ring".
    :param codes: uint8 [n], place of each dialogue's group in `names`.
    :param groups: what is said of each dialogue: its group, also where the legend does not name it; maybe empty.
    """

    title: str
    names: tuple[str, ...]
    counts: tuple[int, ...]
    colours: tuple[str, ...]
    marks: tuple[str, ...]
    codes: NDArray[np.uint8]
    groups: tuple[str, ...] = ()


def colourings(collection: Collection, rows: NDArray[np.int64]) -> list[Colouring]:
    """Return the ways in which these dialogues can be coloured, at least one.

    :raises ArtifactError: when the folder `clusters` of the collection cannot be read.
    """
    table = collection.rows.take(rows)
    labels = [", ".join(found) for found in table["labels"].to_pylist()]
    clusters = _clusters(collection.folder / "clusters", table["dialogue_id"].to_pylist())
    dates = table["date"].to_pandas()
    found = [
        *([_largest("label", labels, missing="no label")] if any(labels) else []),
        *([_largest("cluster", clusters, missing="no cluster")] if any(clusters) else []),
        *([_periods(dates)] if dates.notna().any() else []),
    ]
    return found or [_with_grey("nothing", [0] * len(rows), ["dialogues"], COLOURS[:1], ("", ""))]


def _largest(title: str, groups: Sequence[str], *, missing: str) -> Colouring:
    """Name the largest groups, and bring the rest together in grey; an empty name is none."""
    sizes = Counter(name for name in groups if name)
    ranked = sorted(sizes, key=lambda name: (-sizes[name], name))
    named = ranked[: MOST_NAMED if len(ranked) <= MOST_NAMED else MOST_NAMED - 1]
    colours = [COLOURS[place % len(COLOURS)] for place in range(len(named))]
    places = {name: place for place, name in enumerate(named)}
    rest = f"{len(ranked) - len(named)} smaller ones"
    codes = [places.get(name, -1 if name else -2) for name in groups]
    return replace(_with_grey(title, codes, named, colours, (rest, missing)), groups=tuple(groups))


def _periods(dates: pd.Series) -> Colouring:
    naive = dates.dt.tz_localize(None)
    for unit in PERIODS:
        periods = naive.dt.to_period(unit)
        names = sorted(periods.dropna().unique())
        if len(names) <= len(TIMES):
            break
    # More years than colours are brought together.
    together = -(-len(names) // len(TIMES))
    groups = [names[first : first + together] for first in range(0, len(names), together)]
    places = {period: place for place, group in enumerate(groups) for period in group}
    titles = [str(group[0]) if len(group) == 1 else f"{group[0]} to {group[-1]}" for group in groups]
    spread = np.linspace(0, len(TIMES) - 1, len(groups)).round().astype(int)
    codes = [places[period] if period is not pd.NaT else -2 for period in periods]
    return _with_grey("time", codes, titles, [TIMES[place] for place in spread], ("", "no date"))


def _with_grey(
    title: str, codes: list[int], names: Sequence[str], colours: Sequence[str], grey: tuple[str, str]
) -> Colouring:
    """Give the codes -1 and -2 entries in grey, behind the others, where they occur."""
    found, last = np.array(codes, dtype=np.int64), len(names)
    names, colours = list(names), list(colours)
    for code, name in zip((-1, -2), grey, strict=True):
        if (found == code).any():
            found[found == code] = last
            names.append(name)
            colours.append(GREY)
            last += 1
    counts = np.bincount(found, minlength=last)
    marks = ["ring" if len(COLOURS) <= place and colour != GREY else "disc" for place, colour in enumerate(colours)]
    return Colouring(title, tuple(names), tuple(counts.tolist()), tuple(colours), tuple(marks), found.astype(np.uint8))


def _clusters(folder: Path, dialogue_ids: Sequence[str]) -> list[str]:
    """Return the name of each dialogue's cluster, an empty one for those that are in none."""
    path = folder / "assignment.parquet"
    if not path.exists():
        return [""] * len(dialogue_ids)
    try:
        table = pq.read_table(path, columns=["dialogue_id", "name"])
    except (OSError, ValueError, KeyError) as error:
        raise ArtifactError(f"{folder} cannot be read ({error}). Make the clusters anew, or remove it.") from error
    names = dict(zip(table["dialogue_id"].to_pylist(), table["name"].to_pylist(), strict=True))
    return [names.get(name, "") for name in dialogue_ids]
