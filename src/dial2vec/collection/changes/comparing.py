"""What changed between two periods of a collection, or between two collections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection.changes.changed_terms import changed_terms
from dial2vec.collection.changes.contrasting import Compared, Contrast, contrasts, showing
from dial2vec.collection.changes.evidence import LEVEL, TABLES, adjusted, change_words, exact_p, newcombe, parts_p
from dial2vec.collection.changes.facts import KnownFacts, facts_of
from dial2vec.collection.changes.grouped import Record
from dial2vec.collection.changes.sides import Sides, Span, sides_of
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.search.filters import Filters
from dial2vec.encoder.nearest import unit_rows

if TYPE_CHECKING:
    import pandas as pd

# Columns of the tables; those with figures come last.
COLUMNS = {"groups": ("size_before", "size_after"), "metadata": ("key", "value"), "terms": ("term",)}
FIGURES = ("n_before", "n_after", "before", "after", "difference", "low", "high", "p", "p_adjusted", "change")
SHOWS = ("kind", "group", "name", "what", "change", "side", "dialogue_id")
# Dialogues that show a change.
SHOWN = 3
# A dialogue is far from every group if it is further from its centre than 98 % of the group's dialogues before. Groups
# with fewer dialogues before share one limit.
FAR, LEAST_BEFORE = 0.02, 30
FAR_NAME = "far from every group"


@dataclass(frozen=True, slots=True)
class GroupChanges:
    """What changed between two sides, as tables.

    All but `dialogues` have `n_before` and `n_after` (dialogues compared), `before` and `after` (share in [0, 1], or
    mean), `difference` with its 95 % interval `low` and `high`, `p`, `p_adjusted` (for all that was tried) and
    `change`: "grew", "shrank", "new", "gone", "rose", "fell", or "" without a clear change.

    :param records: rows of the tables "groups", "metadata", "terms" and "dialogues"; as DataFrames of pandas they are
        the properties of these names.
    :param n_before: number of dialogues on the first side.
    :param n_after: number of dialogues on the second side.
    :param since: start of the second period; "" with two collections.
    """

    records: dict[str, list[Record]]
    n_before: int
    n_after: int
    since: str = ""

    @property
    def groups(self) -> pd.DataFrame:
        """Return a row per group with `group` (id), `name`, `size_before`, `size_after`, clear changes first.

        The last row counts dialogues that are far from every group, perhaps a new topic, and has no id.
        """
        return self._table("groups")

    @property
    def metadata(self) -> pd.DataFrame:
        """Return a row per clear change of a mean, or of the share of a value or label.

        It has `group` (missing for all dialogues), `name`, `key` and `value` (missing for a mean).
        """
        return self._table("metadata")

    @property
    def terms(self) -> pd.DataFrame:
        """Return a row per term whose share changed clearly within a group, with `group`, `name` and `term`."""
        return self._table("terms")

    @property
    def dialogues(self) -> pd.DataFrame:
        """Return up to 3 dialogues that show each change.

        `kind` is "group", "metadata" or "term", `what` a key, "key = value" or a term, `side` "before" or "after";
        `group`, `name`, `change` and `dialogue_id` are the others.
        """
        return self._table("dialogues")

    def _table(self, name: str) -> pd.DataFrame:
        import pandas as pd

        columns = SHOWS if name == "dialogues" else ("group", "name", *COLUMNS[name], *FIGURES)
        return pd.DataFrame(self.records[name], columns=list(columns)).astype({"group": "Int64"})


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One row of a table, with the rows of the dialogues that show it, the clearest first."""

    group: int | None
    record: dict[str, Any]
    what: str = ""
    rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


def compare_groups(
    collection: CollectionFolder,
    other: CollectionFolder | None = None,
    *,
    before: str | None = None,
    after: str | None = None,
    since: str | None = None,
    until: str | None = None,
    keys: Sequence[str] = (),
    filters: Filters | None = None,
    seed: int = 1,
    done: Callable[[int], object] = lambda _: None,
) -> GroupChanges:
    """Return what changed between two periods of a collection, or from one collection to another.

    Without dates and a second collection, the latest quarter of the dialogues, or without dates the last addition, is
    compared with all before. Shares are tested by Fisher's exact test, those of groups by `evidence.parts_p`, with
    Newcombe's intervals; numbers by their ranks (Mann and Whitney), with Welch's intervals of the means. p-values are
    adjusted for all tries of a table (Benjamini and Hochberg 1995), and for the three tables.

    :param other: second collection by the same encoder; its dialogues go to the groups of the first.
    :param before: end of the first period, exclusive: an ISO date, in UTC; None means `after`, or with `other` no end.
    :param after: start of the second period; None means `before`, or with `other` no start.
    :param since: start of the first period.
    :param until: end of the second period, exclusive.
    :param keys: keys of the metadata, or "label"; () takes all with numbers or few different values.
    :param filters: conditions that the dialogues of both sides must meet.
    :param seed: seed of the sample whose terms are counted, at most 20,000 dialogues.
    :param done: called with a number of dialogues that were read.
    :raises ArtifactError: if the first collection has no clusters, or damaged ones.
    :raises CorpusError: if a side has no dialogue, a date is invalid or missing, a key is unknown, a filter is invalid
        or names something unknown, or the collections have different encoders.
    """
    sides = sides_of(collection, other, Span(before, after, since, until), filters)
    facts = facts_of(*sides.collections, keys=keys)
    tables = {
        "groups": compared_topics(sides),
        "metadata": compared_metadata(sides, facts),
        "terms": _terms(sides, seed, done),
    }
    return GroupChanges(
        {name: _records(sides, rows, *COLUMNS[name]) for name, rows in tables.items()}
        | {"dialogues": _shown(sides, tables)},
        *sides.sizes,
        since=sides.since,
    )


def compared_topics(sides: Sides) -> list[ComparedRow]:
    """Return a row per group, clear changes first, and one on dialogues that are far from every group."""
    k, groups, far = len(sides.grouped.ids), sides.grouped.groups, _is_far(sides)
    first, second = (
        np.append(np.bincount(groups[sides.side == side], minlength=k), (far & (sides.side == side)).sum())
        for side in (0, 1)
    )
    four = first, np.full(k + 1, (sides.side == 0).sum()), second, np.full(k + 1, (sides.side == 1).sum())
    p = np.append(parts_p(first[:k], second[:k]), exact_p(*(counts[k] for counts in four)))
    corrected = adjusted(p, tables=TABLES)
    change = change_words(*four, corrected)
    shares = first / four[1], second / four[3]
    # The limits come from the first side, which is a little closer to them by chance.
    change[k] = "grew" if change[k] and shares[1][k] >= 2 * shares[0][k] else ""
    compared = Compared.of_arrays(four[1], four[3], *shares, *newcombe(*four), p)
    rows = []
    for at in [*np.lexsort((-np.abs(shares[1] - shares[0])[:k], change[:k] == "")), k]:
        record = {"size_before": int(first[at]), "size_after": int(second[at])}
        record |= _figures(compared[at], float(corrected[at]), str(change[at]))
        rows.append(ComparedRow(None if at == k else int(at), record, "", _showing_group(sides, int(at), far, record)))
    return rows


def _showing_group(sides: Sides, group: int, far: NDArray[np.bool_], record: dict[str, Any]) -> NDArray[np.int64]:
    """Return dialogues that show the change of a group, or of those far from every group, on the larger side."""
    if not record["change"]:
        return np.zeros(0, dtype=np.int64)
    if group < len(sides.grouped.ids):
        on_side = sides.side == int(record["after"] > record["before"])
        return sides.grouped.closest(np.flatnonzero((sides.grouped.groups == group) & on_side), SHOWN)
    rows = np.flatnonzero(far & (sides.side == 1))
    units = sides.units(rows)
    # Those first that are like the others.
    together = units @ unit_rows(units.sum(axis=0, keepdims=True))[0]
    return rows[np.argsort(-together, kind="stable")[:SHOWN]]


def _is_far(sides: Sides) -> NDArray[np.bool_]:
    """Return whether each dialogue is far from the centre of its group."""
    similarity = sides.grouped.similarity.astype(np.float64)
    first = sides.side == 0
    middle, spread = similarity[first].mean(), similarity[first].std()
    scores = (similarity - middle) / (spread or 1.0)
    for group in range(len(sides.grouped.ids)):
        own = sides.grouped.groups == group
        known = similarity[own & first]
        if len(known) >= LEAST_BEFORE and known.std() > 0:
            scores[own] = (similarity[own] - known.mean()) / known.std()
    return scores < np.quantile(scores[first], FAR)


def compared_metadata(sides: Sides, facts: KnownFacts) -> list[ComparedRow]:
    """Return a row per clear change of the metadata: in all dialogues, then within groups, the clearest first."""
    k = len(sides.grouped.ids)
    cells = np.where(sides.side >= 0, 2 * sides.grouped.groups.astype(np.int64) + sides.side, -1)
    of_side = np.arange(2 * k) % 2
    # Pair k is that of all dialogues.
    pairs = np.vstack([np.repeat(np.eye(k, dtype=bool), 2, axis=1), np.ones(2 * k, dtype=bool)])
    tried = contrasts(facts, cells, pairs & (of_side == 0), pairs & (of_side == 1))
    clear = [
        (item, float(p))
        for item, p in zip(tried, adjusted([item.compared.p for item in tried], tables=TABLES), strict=True)
        if p <= LEVEL
    ]
    clear.sort(key=lambda pair: (pair[0].pair < k, pair[0].compared.p))
    return [_fact(sides, facts, item, p, None if item.pair == k else item.pair) for item, p in clear]


def _fact(sides: Sides, facts: KnownFacts, contrast: Contrast, p: float, group: int | None) -> ComparedRow:
    key, value, compared = contrast.key, contrast.value, contrast.compared
    n_before, n_after, before, after, *_ = compared
    # Of numbers, dialogues of the second side that are on its side of the middle.
    larger = int(value is None or after > before)
    shows = showing(facts, contrast, len(sides.side)) & (sides.side == larger)
    if value is None:
        what, change = key, "rose" if after > before else "fell"
    else:
        what, change = f"{key} = {value}", str(change_words(before * n_before, n_before, after * n_after, n_after, p))
    if group is not None:
        shows &= sides.grouped.groups == group
    record = {"key": key, "value": value} | _figures(compared, p, change)
    return ComparedRow(group, record, what, sides.grouped.closest(np.flatnonzero(shows), SHOWN))


def _terms(sides: Sides, seed: int, done: Callable[[int], object]) -> list[ComparedRow]:
    rows = []
    for term in changed_terms(sides, seed=seed, done=done):
        first, n_first, second, n_second = four = term.counts
        low, high = newcombe(*four)
        compared = Compared(n_first, n_second, first / n_first, second / n_second, float(low), float(high), term.p)
        change = str(change_words(*four, term.p_adjusted))
        record = {"term": term.text} | _figures(compared, term.p_adjusted, change)
        rows.append(ComparedRow(term.group, record, term.text, sides.grouped.closest(term.rows, SHOWN)))
    return rows


def _figures(compared: Compared, p_adjusted: float, change: str) -> dict[str, Any]:
    """Return the columns that all tables have."""
    difference = compared.after - compared.before
    return compared._asdict() | {"difference": difference, "p_adjusted": p_adjusted, "change": change}


def _of_group(sides: Sides, row: ComparedRow, *, everywhere: str | None) -> dict[str, Any]:
    if row.group is None:
        return {"group": None, "name": everywhere}
    return {"group": int(sides.grouped.ids[row.group]), "name": sides.grouped.names[row.group]}


def _records(sides: Sides, rows: Sequence[ComparedRow], *columns: str) -> list[Record]:
    everywhere = FAR_NAME if "size_before" in columns else None
    records = (_of_group(sides, row, everywhere=everywhere) | row.record for row in rows)
    return sides.grouped.without_hidden(
        {name: record[name] for name in ("group", "name", *columns, *FIGURES)} for record in records
    )


def _shown(sides: Sides, tables: Mapping[str, Sequence[ComparedRow]]) -> list[Record]:
    """Return the dialogues that show the changes of the tables."""
    records = [
        {"kind": kind.removesuffix("s")}
        | _of_group(sides, row, everywhere=FAR_NAME if kind == "groups" else None)
        | {"what": row.what, "change": row.record["change"]}
        | {"side": "after" if sides.side[at] else "before", "dialogue_id": sides.id_of(at)}
        for kind, rows in tables.items()
        for row in rows
        for at in row.rows.tolist()
    ]
    return sides.grouped.without_hidden(records)
