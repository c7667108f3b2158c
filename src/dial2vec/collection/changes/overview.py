"""The groups of a collection as a table, with their metadata, and what stands out in each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from conversations.words import from_to, mean, percent
from dial2vec.collection.changes.contrasting import contrasts
from dial2vec.collection.changes.evidence import LEVEL, adjusted
from dial2vec.collection.changes.facts import Cells, KnownFacts, facts_of, mean_and_sd, sums_of
from dial2vec.collection.changes.grouped import Grouped, Record, read_groups
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.search.filters import Filters

if TYPE_CHECKING:
    import pandas as pd

STANDING_OUT = (
    *("group", "name", "key", "value", "n_inside", "n_outside", "inside", "outside"),
    *("difference", "low", "high", "p", "p_adjusted"),
)
# With many dialogues trifles are certain, too. Told is a share that is higher by 0.1, or twice as high and by 0.03,
# and a mean that differs by a fifth of the standard deviation.
MUCH, TWICE, LITTLE, OF_SPREAD = 0.1, 2, 0.03, 0.2


def groups_table(
    collection: CollectionFolder, *, keys: Sequence[str] = (), filters: Filters | None = None
) -> pd.DataFrame:
    """Return the groups of a collection with size, share, and mean and spread of every number of the metadata.

    :param keys: keys of the metadata, or "label"; () takes all with numbers or few different values.
    :param filters: conditions; only dialogues that pass are counted.
    :return: one row per group, indexed by `id`, the largest first: `name`, `area`, `size`, `share`; for each numeric
        key of the metadata `mean.<key>`, `sd.<key>` and `n.<key>` (dialogues with the key), NaN without values; and
        `stands_out`, the values and means that differ clearly from those of all other dialogues, in words.
    :raises ArtifactError: if the collection has no clusters, or damaged ones.
    :raises CorpusError: if a key is unknown, or a filter is invalid or names something unknown.
    """
    import pandas as pd

    return pd.DataFrame(overview(collection, keys=keys, filters=filters)[0]).set_index("id")


def standing_out(
    collection: CollectionFolder, *, keys: Sequence[str] = (), filters: Filters | None = None
) -> pd.DataFrame:
    """Return the values of the metadata that are more frequent in a group than elsewhere, and means that differ.

    Every value of every group that at least 5 dialogues have is tried by Fisher's exact test, every mean of at least 10
    values by ranks. p-values are adjusted for all tries together (Benjamini and Hochberg 1995).

    :param keys: keys of the metadata, or "label"; () takes all with numbers or few different values.
    :param filters: conditions; only dialogues that pass are counted, inside the group and outside.
    :return: one row per value or mean with an adjusted p of at most 0.05, sorted by group and p: `group` (id), `name`,
        `key`, `value` (None for a mean), `n_inside` and `n_outside` (dialogues with the key), `inside` and `outside`
        (share in [0, 1], or mean), `difference` with its 95 % interval `low` and `high`, `p`, `p_adjusted`.
    :raises ArtifactError: if the collection has no clusters, or damaged ones.
    :raises CorpusError: if a key is unknown, or a filter is invalid or names something unknown.
    """
    import pandas as pd

    return pd.DataFrame(overview(collection, keys=keys, filters=filters)[1], columns=list(STANDING_OUT))


def overview(
    collection: CollectionFolder, *, keys: Sequence[str] = (), filters: Filters | None = None
) -> tuple[list[Record], list[Record]]:
    """Return the rows of `groups_table` and of `standing_out`, which are computed together."""
    grouped, facts = read_groups(collection), facts_of(collection, keys=keys)
    cells = grouped.groups.astype(np.int64)
    rows = None if filters is None else filters.rows(collection)
    if rows is not None:
        cells = np.full(len(cells), -1)
        cells[rows] = grouped.groups[rows]
    marks = marks_of(grouped, facts, cells)
    return _table(grouped, facts, cells, marks), marks


def marks_of(grouped: Grouped, facts: KnownFacts, cells: Cells) -> list[Record]:
    """Return the rows of `standing_out`.

    :param cells: group of each dialogue, as its place; -1 leaves a dialogue out.
    """
    own = np.eye(len(grouped.ids), dtype=bool)
    tried = contrasts(facts, cells, ~own, own)
    rows = []
    for (pair, key, value, compared), p in zip(
        tried, adjusted([contrast.compared.p for contrast in tried]), strict=True
    ):
        n_outside, n_inside, outside, inside, *interval, own_p = compared
        if p <= LEVEL and (value is None or inside > outside):
            group = int(grouped.ids[pair]), grouped.names[pair]
            figures = n_inside, n_outside, inside, outside, inside - outside, *interval, own_p, p
            rows.append(dict(zip(STANDING_OUT, (*group, key, value, *figures), strict=True)))
    return grouped.without_hidden(sorted(rows, key=lambda row: (row["group"], row["p"])))


def _table(grouped: Grouped, facts: KnownFacts, cells: Cells, marks: Sequence[Record]) -> list[Record]:
    k = len(grouped.ids)
    sizes = np.bincount(cells[cells >= 0], minlength=k)
    areas = {area.id: area.name for area in grouped.clusters.areas}
    columns: dict[str, Sequence[object]] = {
        "id": grouped.ids.tolist(),
        "name": grouped.names,
        "area": [areas.get(cluster.area) for cluster in grouped.clusters.clusters],
        "size": sizes.tolist(),
        "share": (sizes / max(1, sizes.sum())).tolist(),
    }
    for key, numbers in facts.numbers.items():
        sums, middle = sums_of(numbers, cells, k)
        columns[f"mean.{key}"], columns[f"sd.{key}"] = (figures.tolist() for figures in mean_and_sd(sums, middle))
        columns[f"n.{key}"] = sums[0].astype(np.int64).tolist()
    words: dict[int, list[str]] = {id: [] for id in grouped.ids.tolist()}
    for mark in marks:
        words[mark["group"]].append(in_words(mark))
    columns["stands_out"] = ["; ".join(words[id]) for id in grouped.ids.tolist()]
    table = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return sorted(grouped.without_hidden(table, "id"), key=lambda row: -row["size"])


def moved(change: str, before: float, after: float) -> str:
    """Return a change of a share or a mean: "grew from 4% to 9%", "is new, from 0% to 8%", "fell from 3.0 to 2.7"."""
    verb = {"new": "is new,", "gone": "is gone,"}.get(change, change)
    return f"{verb} from {' to '.join(from_to(before, after, mean if change in ('rose', 'fell') else percent))}"


def in_words(mark: Record) -> str:
    """Return one finding: "62% by phone (others 31%)", "plan = gold 62% (others 31%)" or "csat 2.1 (others 3.9)"."""
    key, value = mark["key"], mark["value"]
    inside, outside = from_to(mark["inside"], mark["outside"], mean if value is None else percent)
    subject = key if value is None else f"{key} = {value}"
    # Sentences name a channel without its key.
    is_channel = value is not None and key.lower() == "channel"
    return f"{inside} by {value} (others {outside})" if is_channel else f"{subject} {inside} (others {outside})"


def findings_of(marks: Iterable[Record]) -> dict[int, list[str]]:
    """Return the findings that are large enough to be told in words, by the id of their group, the clearest first."""
    # In half widths of their intervals shares and means can be compared; all p-values of many dialogues are 0.
    clear = sorted(filter(_matters, marks), key=lambda mark: -abs(mark["difference"]) / _half(mark))
    # The clearest value of each key comes before the second one of any.
    seen = Counter[tuple[int, str]]()
    ranked = list[tuple[int, Record]]()
    for mark in clear:
        key = mark["group"], mark["key"]
        ranked.append((seen[key], mark))
        seen[key] += 1
    findings: dict[int, list[str]] = {}
    for _, mark in sorted(ranked, key=itemgetter(0)):
        findings.setdefault(mark["group"], []).append(in_words(mark))
    return findings


def _half(mark: Record) -> float:
    """Return half the width of the interval of a difference."""
    return max(float(mark["high"] - mark["low"]), 1e-9) / 2


def _matters(mark: Record) -> bool:
    """Return whether a difference is large enough to be told."""
    difference = abs(mark["difference"])
    if mark["value"] is not None:
        return difference >= MUCH or (difference >= LITTLE and mark["inside"] >= TWICE * mark["outside"])
    # The interval is about 2 sd / √n wide on each side, if the others are many.
    return bool(difference >= OF_SPREAD * _half(mark) * mark["n_inside"] ** 0.5 / 2)
