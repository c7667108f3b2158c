"""Colours of the points, by label, cluster, time, or a key of the metadata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.errors import ArtifactError
from dial2vec.evaluation.report.pictures import COLOURS

# Each colour twice, as disc and as ring in another shade; more groups cannot be told apart.
MOST_NAMED = 2 * len(COLOURS)
# From blue, the oldest, to yellow: they differ in lightness too, and are visible on white and on near-black.
TIMES = ("#4f5bd5", "#7a52d1", "#9b4bc4", "#b847ae", "#cf4a92", "#e05675", "#ea6a57", "#ee823c", "#e99c27", "#d9b620")
GREY = "#8b949e"
# From fine to coarse; the first with no more periods than colours is used.
PERIODS = ("D", "W", "M", "Q", "Y")
# Colourings by metadata: each is a byte per dialogue on the page, and a line of the menu.
MOST_KEYS = 20


@dataclass(frozen=True, slots=True)
class Colouring:
    """One way to colour the points.

    :param title: name of the colouring, such as "label".
    :param names: names of the groups, in the order of the legend.
    :param counts: number of dialogues per group.
    :param colours: colour per group, such as "#3b82f6".
    :param marks: mark per group, "disc" or "ring".
    :param codes: index of each dialogue's group in `names`, uint8 [n].
    :param groups: group of each dialogue for its description, even if the legend does not name it; () for none.
    """

    title: str
    names: tuple[str, ...]
    counts: tuple[int, ...]
    colours: tuple[str, ...]
    marks: tuple[str, ...]
    codes: NDArray[np.uint8]
    groups: tuple[str, ...] = ()


def colourings(collection: CollectionFolder, rows: NDArray[np.int64]) -> list[Colouring]:
    """Return the possible colourings of these dialogues, at least one.

    :raises ArtifactError: if the folder `clusters` of the collection cannot be read.
    """
    table = collection.rows.take(rows)
    labels = [", ".join(names) for names in table["labels"].to_pylist()]
    clusters = _clusters(collection.folder / "clusters", table["dialogue_id"].to_pylist())
    dates = table["date"].to_pandas()
    ways = [
        *([_largest("label", labels, missing="no label")] if any(labels) else []),
        *([_largest("cluster", clusters, missing="no cluster")] if any(clusters) else []),
        *([_periods(dates)] if dates.notna().any() else []),
        *islice(_by_metadata(collection, rows), MOST_KEYS),
    ]
    return ways or [_with_grey("nothing", [0] * len(rows), ["dialogues"], COLOURS[:1], ("", ""))]


def _by_metadata(collection: CollectionFolder, rows: NDArray[np.int64]) -> Iterator[Colouring]:
    """Yield a colouring per category and per number, the most frequent key first."""
    kinds = {key: evidence.kind for key, evidence in collection.metadata_kinds.items()}
    for key in (key for key, kind in kinds.items() if kind in ("category", "number")):
        values = collection.metadata(key).take(pa.array(rows))
        if values.null_count == len(values):
            continue
        if kinds[key] == "category":
            groups = values.cast(pa.string()).fill_null("").to_pylist()
            yield replace(_largest(key, groups, missing=f"no {key}"), groups=())
        else:
            yield _ranges(key, values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))


def _ranges(key: str, numbers: NDArray[np.float64]) -> Colouring:
    """Colour few numbers each by its own, more by ranges with about equally many dialogues; NaN means no number."""
    known = numbers[~np.isnan(numbers)]
    begins = np.unique(known)
    if len(begins) > len(TIMES):
        begins = np.unique(np.sort(known)[np.arange(len(TIMES)) * len(known) // len(TIMES)])
    groups = np.searchsorted(begins, numbers, side="right") - 1
    groups[np.isnan(numbers)] = -2
    ends = [numbers[groups == place].max() for place in range(len(begins))]
    pairs = zip(begins.tolist(), ends, strict=True)
    names = [f"{low:.10g}" if low == high else f"{low:.10g} to {high:.10g}" for low, high in pairs]
    spread = np.linspace(0, len(TIMES) - 1, len(names)).round().astype(int)
    return _with_grey(key, groups.tolist(), names, [TIMES[place] for place in spread], ("", f"no {key}"))


def _largest(title: str, groups: Sequence[str], *, missing: str) -> Colouring:
    """Name the largest groups and join the rest in grey; "" means no group."""
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
    # If there are more years than colours, consecutive years are joined.
    joined = -(-len(names) // len(TIMES))
    groups = [names[first : first + joined] for first in range(0, len(names), joined)]
    places = {period: place for place, group in enumerate(groups) for period in group}
    titles = [str(group[0]) if len(group) == 1 else f"{group[0]} to {group[-1]}" for group in groups]
    spread = np.linspace(0, len(TIMES) - 1, len(groups)).round().astype(int)
    codes = [places[period] if period is not pd.NaT else -2 for period in periods]
    return _with_grey("time", codes, titles, [TIMES[place] for place in spread], ("", "no date"))


def _with_grey(
    title: str, codes: list[int], names: Sequence[str], colours: Sequence[str], grey: tuple[str, str]
) -> Colouring:
    """Add grey groups at the end for the codes -1 and -2, if they occur."""
    groups, last = np.array(codes, dtype=np.int64), len(names)
    names, colours = list(names), list(colours)
    for code, name in zip((-1, -2), grey, strict=True):
        if (groups == code).any():
            groups[groups == code] = last
            names.append(name)
            colours.append(GREY)
            last += 1
    counts = np.bincount(groups, minlength=last)
    marks = ["ring" if len(COLOURS) <= place and colour != GREY else "disc" for place, colour in enumerate(colours)]
    return Colouring(title, tuple(names), tuple(counts.tolist()), tuple(colours), tuple(marks), groups.astype(np.uint8))


def _clusters(folder: Path, dialogue_ids: Sequence[str]) -> list[str]:
    """Return the name of each dialogue's cluster; "" for a dialogue without a cluster."""
    path = folder / "assignment.parquet"
    if not path.exists():
        return [""] * len(dialogue_ids)
    try:
        table = pq.read_table(path, columns=["dialogue_id", "name"])
    except (OSError, ValueError, KeyError) as error:
        raise ArtifactError(f"{folder} cannot be read ({error}). Make the clusters again, or remove it.") from error
    names = dict(zip(table["dialogue_id"].to_pylist(), table["name"].to_pylist(), strict=True))
    # The name of a hidden cluster is null.
    return [names.get(name) or "" for name in dialogue_ids]
