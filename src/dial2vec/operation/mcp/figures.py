"""Figures of answers: shares with intervals, comparisons, and counts of the metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from conversations.words import percent
from dial2vec.collection.changes.comparing import SHOWN, ComparedRow, compared_metadata, compared_topics
from dial2vec.collection.changes.evidence import wilson
from dial2vec.collection.changes.facts import Figures, Values, facts_of
from dial2vec.collection.changes.grouped import Record, nearest_groups
from dial2vec.collection.changes.over_time import shares_over_time
from dial2vec.collection.changes.sides import Sides
from dial2vec.collection.search.conditions import keys_of_condition
from dial2vec.collection.search.filters import Filters
from dial2vec.collection.summary.summary import Summary
from dial2vec.errors import CorpusError
from dial2vec.operation.mcp import answers
from dial2vec.operation.mcp.opened import OpenCollection
from dial2vec.operation.mcp.quoting import cleaned

# Terms of a topic, values of a key that the overview names, differences of a comparison, and months of a topic.
TERMS, NAMED, DIFFERENCES, MONTHS = 8, 12, 40, 24
DIGITS = 4


def share(count: int, total: int) -> answers.Share:
    """Return a share with its interval."""
    low, high = wilson(count, total)
    return {
        "count": count, "share": round(count / max(1, total), DIGITS),
        "low": round(float(low), DIGITS), "high": round(float(high), DIGITS),
    }  # fmt: skip


def keys_of(opened: OpenCollection) -> list[answers.Key]:
    """Return the keys that can be asked for, with their values or ranges."""
    facts, keys = facts_of(opened), list[answers.Key]()
    for values in facts.values:
        sizes = np.bincount(values.codes, minlength=len(values.names))
        names = [cleaned(values.names[code]) for code in np.argsort(-sizes, kind="stable")[:NAMED]]
        keys.append(
            {"key": cleaned(values.key), "kind": "values", "values": names, "dialogues": len(np.unique(values.rows))}
        )
    for key, numbers in facts.numbers.items():
        known = numbers[np.isfinite(numbers)]
        ends = [f"{end:g}" for end in (known.min(), known.max())] if len(known) else []
        keys.append({"key": cleaned(key), "kind": "numbers", "values": ends, "dialogues": len(known)})
    return keys


def topic_row(opened: OpenCollection, row: Record, total: int) -> answers.TopicRow:
    """Return a topic from its row of `overview`."""
    cluster = opened.cluster(row["id"])
    own = opened.summaries.get(str(cluster.id), {})
    means = {name.removeprefix("mean."): round(mean, DIGITS) for name, mean in row.items() if name.startswith("mean.")}
    return {
        "id": cluster.id, "name": cleaned(cluster.name), "area": cleaned(row["area"] or ""),
        "terms": [term.text for term in cluster.terms[:TERMS]], "summary": cleaned(own.get("summary") or "", 400),
        "stands_out": cleaned(row["stands_out"], 400),
        "means": {key: mean for key, mean in means.items() if mean == mean},
        **share(row["size"], total),
    }  # fmt: skip


def ordered(rows: list[Record], order: str) -> list[Record]:
    """Return rows of `overview` by size, or by the mean of a key; those without the key come last.

    :raises CorpusError: if no topic has a mean of this key.
    """
    if order == "size":
        return rows
    key, sign = order.removeprefix("-"), -1 if order.startswith("-") else 1
    if rows and f"mean.{key}" not in rows[0]:
        means = [name.removeprefix("mean.") for name in rows[0] if name.startswith("mean.")]
        raise CorpusError(f"no topic has a mean of {key!r}; expected size, or one of: {', '.join(means) or 'none'}.")
    return sorted(rows, key=lambda row: (np.isnan(row[f"mean.{key}"]), sign * row[f"mean.{key}"]))


def months_of(opened: OpenCollection, topic: int) -> list[answers.Month]:
    """Return the share of a topic in its last 24 months; none without dates."""
    if np.isnat(opened.times).all():
        return []
    rows = [row for row in shares_over_time(opened, "month") if row["group"] == topic][-MONTHS:]
    return [
        {"month": f"{row['period']:%Y-%m}", "change": row["change"], **share(int(row["size"]), int(row["total"]))}
        for row in rows
    ]


def sides_where(opened: OpenCollection, condition: Sequence[str], where: Sequence[str]) -> Sides:
    """Return the two sides of a comparison: those that meet all conditions, after all others.

    :param where: conditions that both sides meet.
    :raises CorpusError: if a side is empty, or a condition is invalid.
    """
    rows, such = Filters(where=tuple(where)).rows(opened), Filters(where=tuple(condition)).rows(opened)
    side = np.full(len(opened), -1)
    side[slice(None) if rows is None else rows] = 0
    side[such] += side[such] == 0
    return two_sides(opened, side)


def two_sides(opened: OpenCollection, side: NDArray[np.int64]) -> Sides:
    """Return the sides of a comparison, 0 and 1, and -1 for neither; both must have dialogues."""
    if not (side == 0).any() or not (side == 1).any():
        raise CorpusError(f"one side of the comparison in {opened.name} has no dialogue; expected some. Ask otherwise.")
    return Sides((opened,), nearest_groups(opened), side)


def comparison(
    opened: OpenCollection, both: Sides, topic: int | None, condition: Sequence[str] = ()
) -> answers.Comparison:
    """Return what differs clearly between two sides; of one topic all that is known.

    :param condition: conditions by which the sides were told apart, whose keys say nothing.
    :raises CorpusError: if there is no such topic.
    """
    place = None if topic is None else opened.place_of(topic)
    hidden = {at for at, cluster in enumerate(both.grouped.clusters.clusters) if cluster.hidden}
    topics = [row for row in compared_topics(both) if row.group not in (None, *hidden)]
    kept = [row for row in topics if (row.record["change"] if place is None else row.group == place)]
    known = {key for text in condition for key in keys_of_condition(opened, text)}
    facts = [row for row in compared_metadata(both, facts_of(opened)) if row.group not in hidden]
    kept += [row for row in facts if row.record["key"] not in known and (place is None or row.group == place)]
    return _compared(opened, both, kept, sum(not row.record["change"] for row in topics))


def _compared(opened: OpenCollection, both: Sides, rows: Sequence[ComparedRow], others: int = 0) -> answers.Comparison:
    clusters = both.grouped.clusters.clusters
    differences: list[answers.Difference] = []
    for row in rows[:DIFFERENCES]:
        cluster = None if row.group is None else clusters[row.group]
        ends = {key: round(float(row.record[key]), DIGITS) for key in ("before", "after", "difference", "low", "high")}
        differences.append({
            "topic": cluster and cluster.id, "name": cleaned(cluster.name) if cluster else "",
            "what": cleaned(row.what or "share of all dialogues"), "change": row.record["change"],
            "n_before": int(row.record["n_before"]), "n_after": int(row.record["n_after"]),
            "p": float(f"{row.record['p_adjusted']:.3g}"), "dialogue_ids": [both.id_of(at) for at in row.rows.tolist()],
            **ends,  # type: ignore[typeddict-item]
        })  # fmt: skip
    return {
        "collection": opened.name, "since": both.since[:10], "n_before": both.sizes[0], "n_after": both.sizes[1],
        "differences": differences, "others": others,
    }  # fmt: skip


def standing_out(opened: OpenCollection, topic: int) -> answers.Comparison:
    """Return by what metadata the dialogues of a topic, as the second side, differ clearly from all others."""
    both = two_sides(opened, (opened.grouped.groups == opened.place_of(topic)).astype(np.int64))
    return _compared(opened, both, [row for row in compared_metadata(both, facts_of(opened)) if row.group is None])


def facet(opened: OpenCollection, key: str, rows: NDArray[np.int64] | None, *, most: int) -> answers.Facet:
    """Return the values of a key among rows with dialogues that have them, or the mean of its numbers.

    :raises CorpusError: if the key is unknown, or holds free texts or times.
    """
    facts = facts_of(opened, keys=[key])
    cells = np.full(len(opened), -1)
    cells[slice(None) if rows is None else rows] = 0
    values, counted = list[answers.Value](), 0
    for known in [*facts.values, *_listed(facts.numbers)]:
        (counts,), (counted,) = known.counts(cells, 1)
        for code in np.argsort(-counts, kind="stable")[:most]:
            having = known.rows[(known.codes == code) & (cells[known.rows] == 0)]
            if len(having):
                ids = opened.ids_of(opened.grouped.closest(having, SHOWN))
                values.append(
                    {"value": cleaned(known.names[code]), "dialogue_ids": ids, **share(len(having), int(counted))}
                )
    numbers = facts.numbers[key][cells == 0] if key in facts.numbers else np.zeros(0)
    numbers = numbers[np.isfinite(numbers)]
    mean, low, high = _mean_of(numbers)
    return {
        "collection": opened.name, "key": key, "dialogues": int((cells == 0).sum()),
        "counted": len(numbers) or int(counted), "values": values, "mean": mean, "low": low, "high": high,
    }  # fmt: skip


def _listed(numbers: Mapping[str, Figures]) -> list[Values]:
    """Return numbers of few different values as values that can be counted."""
    listed = []
    for key, own in numbers.items():
        rows = np.flatnonzero(np.isfinite(own))
        different, codes = np.unique(own[rows], return_inverse=True)
        if len(different) <= NAMED:
            listed.append(Values(key, [f"{value:g}" for value in different], rows, codes))
    return listed


def _mean_of(numbers: Figures) -> tuple[float | None, float | None, float | None]:
    """Return the mean of some numbers and its interval by Student's t, None where there are too few."""
    if not len(numbers):
        return None, None, None
    mean = float(numbers.mean())
    if len(numbers) == 1:
        return round(mean, DIGITS), None, None
    half = float(stdtrit(len(numbers) - 1, 0.975) * numbers.std(ddof=1) / len(numbers) ** 0.5)
    return round(mean, DIGITS), round(mean - half, DIGITS), round(mean + half, DIGITS)


def sentences_of(summary: Summary) -> list[str]:
    """Return the sentences of the report: size, areas, what changed, and how sure the topics are."""
    dates = f" from {' to '.join(summary.dates)}" if summary.dates else ""
    areas = "; ".join(f"{name} {percent(part)}" for name, part in summary.largest)
    sure = summary.certainty
    return [
        f"{summary.dialogues:,} conversations{dates}, {summary.areas} areas, {summary.topics} topics.",
        f"Largest areas: {areas}.",
        *(() if summary.changed is None else (line.strip() for line in summary.changed.lines)),
        *summary.news,
        f"{percent(sure.stable_share)} of the conversations are in one of {sure.stable} stable topics.",
    ]
