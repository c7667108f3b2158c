"""Colours of the points, by area, topic, label, time, or a key of the metadata; and the groups to filter by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import accumulate, islice
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dial2vec.collection.clustering.clusters import folder_of, read_assigned
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.evaluation.geometry import HUES, mixed

Kind = Literal["category", "number", "time"]
# One hue from light, the lowest, to dark: seen on white and on near-black pages, and in this order by the colour-blind.
TIMES = ("#89c3ff", "#6cb5ff", "#55a7f8", "#419aed", "#2a8ce2", "#067ed7", "#0871c1", "#0164ae", "#065898", "#024c85")
# Parts of white (above 0) or black in the shades of an area's topics, the largest topic first.
SHADES = (0.0, 0.3, -0.3, 0.15, -0.15)
GREY = "#8b949e"
# Each colour in two shades; more groups cannot be told apart.
STYLES = [mixed(colour, part) for part in SHADES[:2] for colour in HUES]
# Largest share of dialogues in grey: those of the smallest groups, or those without a group if this is shown first.
MOST_GREY = 0.1
# A code is a byte; more groups are joined.
MOST_NAMED = 250
# From fine to coarse; the first with no more periods than colours is used.
PERIODS = ("day", "week", "month", "quarter", "year")
# Colourings by metadata: each is a byte per dialogue on the page, and a line of the menu.
MOST_KEYS = 20


@dataclass(frozen=True, slots=True)
class Colouring:
    """One way to colour the points, and to filter them.

    :param title: name of the colouring, such as "label"; no two have the same.
    :param kind: "category" if the groups are sorted by size, "number" or "time" if they have an order of their own.
    :param names: names of the groups, in the order of the legend, the dialogues without a group last.
    :param colours: colour per group, such as "#3b82f6"; from the 17th group on they repeat, or are grey.
    :param marks: mark per group: "disc", or "faint" for the dialogues without a group.
    :param codes: index of each dialogue's group in `names`, uint8 [n].
    :param groups: group of each dialogue for its description; () for none.
    """

    title: str
    kind: Kind
    names: tuple[str, ...]
    counts: tuple[int, ...]
    colours: tuple[str, ...]
    marks: tuple[str, ...]
    codes: NDArray[np.uint8]
    groups: tuple[str, ...] = ()


def colourings(collection: CollectionFolder, rows: NDArray[np.int64]) -> list[Colouring]:
    """Return the possible colourings of these dialogues, at least one; the first one leaves at most a tenth grey.

    Those that tell nothing, or leave more than a tenth of the dialogues without a group, are the last.

    :param rows: rows of the collection in the order of the page, int64 [n].
    :raises ArtifactError: if the folder `clusters` of the collection cannot be read.
    """
    table = collection.rows.take(rows)
    labels = [", ".join(names) for names in table["labels"].to_pylist()]
    dates = table["date"].combine_chunks()
    ways = [
        *_by_topic(collection, rows),
        *([_by_category("label", labels)] if any(labels) else []),
        *([_by_time(dates)] if dates.null_count < len(dates) else []),
        *islice(_by_metadata(collection, rows), MOST_KEYS),
    ]
    ways.sort(key=lambda way: (_missing(way) > MOST_GREY, sum(mark != "faint" for mark in way.marks) == 1))
    if not ways or _missing(ways[0]) > MOST_GREY:
        ways.insert(0, _coloured("nothing", "category", [0] * len(rows), ["dialogues"], STYLES[:1]))
    return _with_different_titles(ways)


def _missing(way: Colouring) -> float:
    """Return the share of the dialogues without a group."""
    counts = [count for count, mark in zip(way.counts, way.marks, strict=True) if mark == "faint"]
    return sum(counts) / len(way.codes)


def _with_different_titles(ways: list[Colouring]) -> list[Colouring]:
    """Rename keys of the metadata that have the title of another colouring: filters go by title."""
    known: set[str] = set()
    for place, way in enumerate(ways):
        title = way.title
        while title in known:
            title += " (metadata)"
        known.add(title)
        ways[place] = replace(way, title=title)
    return ways


def _by_topic(collection: CollectionFolder, rows: NDArray[np.int64]) -> Iterator[Colouring]:
    """Yield a colouring by areas and one by topics; only the latter if each topic is an area of its own."""
    assignment = _assignment(collection, rows)
    if assignment is None:
        return
    areas, topics = (assignment[name].fill_null("").to_pylist() for name in ("area", "name"))
    by_area, by_topic = _by_category("area", areas), _by_category("topic", topics)
    if any(areas) and areas != topics:
        yield replace(by_area, groups=())
        of_area = {topic: by_area.colours[code] for topic, code in zip(topics, by_area.codes.tolist(), strict=True)}
        by_topic = replace(by_topic, colours=tuple(_shades(map(of_area.get, by_topic.names, by_topic.colours))))
    if any(topics):
        yield by_topic


def _shades(colours: Iterable[str]) -> Iterator[str]:
    """Yield a shade of each colour, another one each time that it occurs."""
    known = Counter[str]()
    for colour in colours:
        yield mixed(colour, SHADES[known[colour] % len(SHADES)])
        known[colour] += 1


def _by_metadata(collection: CollectionFolder, rows: NDArray[np.int64]) -> Iterator[Colouring]:
    """Yield a colouring per category and per number, the most frequent key first."""
    kinds = {key: evidence.kind for key, evidence in collection.metadata_kinds.items()}
    for key in (key for key, kind in kinds.items() if kind in ("category", "number")):
        values = collection.metadata(key).take(pa.array(rows))
        if values.null_count == len(values):
            continue
        if kinds[key] == "category":
            yield replace(_by_category(key, values.cast(pa.string()).fill_null("").to_pylist()), groups=())
        else:
            yield _by_number(key, values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))


def _by_category(title: str, groups: Sequence[str]) -> Colouring:
    """Colour the groups, the largest first; "" means no group.

    Sixteen groups have a style of their own. Of the others, the smallest are grey while they make up a tenth of the
    dialogues, counted with those that have no group; the rest have the colours of larger ones.
    """
    sizes = Counter(name for name in groups if name)
    ranked = sorted(sizes, key=lambda name: (-sizes[name], name))
    named = ranked[: MOST_NAMED if len(ranked) <= MOST_NAMED else MOST_NAMED - 1]
    places = {name: min(place, len(named)) for place, name in enumerate(ranked)}
    counts = [sizes[name] for name in named]
    if joined := ranked[len(named) :]:
        named, counts = [*named, f"{len(joined)} smaller ones"], [*counts, sum(sizes[name] for name in joined)]
    budget = MOST_GREY * len(groups) - (len(groups) - sizes.total())
    styles = [STYLES[place % len(STYLES)] for place in range(len(named))]
    for place, sum_from_here in zip(reversed(range(len(named))), accumulate(reversed(counts)), strict=True):
        if place < len(STYLES) or sum_from_here > budget:
            break
        styles[place] = GREY
    made = _coloured(title, "category", [places.get(name, -1) for name in groups], named, styles)
    return replace(made, groups=tuple(groups))


def _by_number(key: str, numbers: NDArray[np.float64]) -> Colouring:
    """Colour few numbers each by its own, more by ranges with about equally many dialogues; NaN means no number."""
    known = numbers[~np.isnan(numbers)]
    begins = np.unique(known)
    if len(begins) > len(TIMES):
        begins = np.unique(np.sort(known)[np.arange(len(TIMES)) * len(known) // len(TIMES)])
    groups = np.searchsorted(begins, numbers, side="right") - 1
    groups[np.isnan(numbers)] = -1
    ends = [numbers[groups == place].max() for place in range(len(begins))]
    pairs = zip(begins.tolist(), ends, strict=True)
    names = [f"{low:.15g}" if low == high else f"{low:.15g} to {high:.15g}" for low, high in pairs]
    return _coloured(key, "number", groups.tolist(), names, _along(len(names)))


def _by_time(dates: pa.Array) -> Colouring:
    # Without their zone, which is UTC: Windows has no table of zones.
    naive = dates.cast(pa.timestamp("s"), safe=False)
    for unit in PERIODS:
        periods = pc.floor_temporal(naive, unit=unit).dictionary_encode()
        names = sorted(known := [period for period in periods.dictionary.to_pylist() if period is not None])
        if len(names) <= len(TIMES):
            break
    # If there are more years than colours, consecutive years are joined.
    joined = -(-len(names) // len(TIMES))
    groups = [names[first : first + joined] for first in range(0, len(names), joined)]
    places = {period: place for place, group in enumerate(groups) for period in group}
    titles = [_said(group[0], unit) if len(group) == 1 else f"{group[0]:%Y} to {group[-1]:%Y}" for group in groups]
    codes = np.array([*(places[period] for period in known), -1])[periods.indices.fill_null(-1).to_numpy()]
    return _coloured("time", "time", codes.tolist(), titles, _along(len(titles)))


def _said(first: datetime, unit: str) -> str:
    """Return a day, week, month, quarter or year by its first day: "2026-01-05 to 2026-01-11" and "2026 Q1"."""
    if unit == "week":
        return f"{first:%Y-%m-%d} to {first + timedelta(days=6):%Y-%m-%d}"
    form = {"day": "%Y-%m-%d", "month": "%Y-%m", "quarter": f"%Y Q{(first.month + 2) // 3}", "year": "%Y"}
    return first.strftime(form[unit])


def _along(count: int) -> list[str]:
    """Return styles from light to dark."""
    return [TIMES[place] for place in np.linspace(0, len(TIMES) - 1, count).round().astype(int)]


def _coloured(title: str, kind: Kind, codes: list[int], names: Sequence[str], colours: Sequence[str]) -> Colouring:
    """Return a colouring with a last, faint group for the code -1, if it occurs."""
    groups = np.array(codes, dtype=np.int64)
    if missing := int((groups < 0).any()):
        groups[groups < 0] = len(names)
        name = "no date" if kind == "time" else f"no {title}"
        # Filters go by name, so a group of this name must not be joined with them.
        names = [*names, f"{name} given" if name in names else name]
        colours = [*colours, GREY]
    counts = np.bincount(groups, minlength=len(names)).tolist()
    marks = ("disc",) * (len(names) - missing) + ("faint",) * missing
    return Colouring(title, kind, tuple(names), tuple(counts), tuple(colours), marks, groups.astype(np.uint8))


def _assignment(collection: CollectionFolder, rows: NDArray[np.int64]) -> pa.Table | None:
    """Return areas and topics of these dialogues, columns `area` and `name`; None if there are no clusters.

    Dialogues that were added after the clustering have none.
    """
    if not (folder_of(collection) / "assignment.parquet").exists():
        return None
    known = read_assigned(collection, ["area", "name"])
    return known.take(pa.array(np.where(rows < len(known), rows, -1), mask=rows >= len(known)))
