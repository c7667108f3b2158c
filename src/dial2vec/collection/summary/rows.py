"""The table of the sheet: areas with their largest topics, in as many rows as fit on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from conversations.words import printable

# Rows that fit on a sheet, and areas among them.
MOST_ROWS, MOST_AREAS = 25, 8
# Characters of a name, and of what stands out.
NAME, STANDS_OUT = 60, 90


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of the table.

    :param kind: "area", "topic" of the area above, or "rest", the smaller ones together.
    :param name: name, or such as "3 smaller topics".
    :param size: number of dialogues.
    :param share: share of all dialogues, in [0, 1].
    :param trend: share in each period that has dialogues, in [0, 1]; () without dates.
    :param stands_out: values that are over-represented, in words, or "" without any.
    :param sure: "stable", "fair", "unsure", or "" for several topics together.
    """

    kind: Literal["area", "topic", "rest"]
    name: str
    size: int
    share: float
    trend: tuple[float, ...] = ()
    stands_out: str = ""
    sure: str = ""


def table_rows(
    areas: Sequence[Mapping[str, Any]], topics: Sequence[Mapping[str, Any]], *, n: int, sure: Mapping[int, str]
) -> tuple[TableRow, ...]:
    """Return at most 25 rows: up to 8 areas, each with as many of its topics as fit, the same number for all.

    An area with one topic has one row. If all topics but one fit, all are shown, because the rest would need a row too.

    :param areas: areas of `dial2vec.collection.explorer.groups_content`, the largest first.
    :param topics: topics of the same function.
    :param n: number of dialogues.
    :param sure: certainty of each topic, by its id.
    """
    shown, smaller = areas[:MOST_AREAS], areas[MOST_AREAS:]
    totals = np.array([area["trend"] for area in areas], dtype=np.int64).sum(axis=0)
    each = _topics_each([len(area["topics"]) for area in shown], MOST_ROWS - bool(smaller))
    rows = []
    for area in shown:
        own = [topics[at] for at in area["topics"]]
        if len(own) == 1:
            rows.append(_row("area", area, totals, n, topic=own[0], sure=sure))
            continue
        named = len(own) if len(own) <= each + 1 else each
        rows.append(_row("area", area, totals, n))
        rows += [_row("topic", topic, totals, n, topic=topic, sure=sure) for topic in own[:named]]
        rows += _rest(own[named:], "topic", n)
    return (*rows, *_rest(smaller, "area", n))


def _topics_each(counts: Sequence[int], room: int) -> int:
    """Return the largest number of topics per area with which the table has at most `room` rows, at least 1."""
    # An area of one topic has one row; another one has a row of its own, and maybe one for the rest.
    heights = {m: sum(1 + (count > 1) * min(count, m + 1) for count in counts) for m in range(max(counts), 1, -1)}
    return next((m for m, height in heights.items() if height <= room), 1)


def _row(
    kind: Literal["area", "topic"],
    group: Mapping[str, Any],
    totals: Any,
    n: int,
    *,
    topic: Mapping[str, Any] | None = None,
    sure: Mapping[int, str] | None = None,
) -> TableRow:
    """Return the row of a group; what is known of one topic stands in it if `topic` is given."""
    trend = tuple((np.array(group["trend"])[totals > 0] / totals[totals > 0]).tolist()) if len(group["trend"]) else ()
    findings = "" if topic is None else printable(_joined(topic["stands_out"]), STANDS_OUT)
    known = "" if topic is None or sure is None else sure[topic["id"]]
    return TableRow(kind, shown_name(group), group["size"], group["size"] / n, trend, findings, known)


def _joined(findings: Sequence[str]) -> str:
    """Return as many findings as fit, at least the first."""
    fitting = [place for place in range(len(findings)) if len("; ".join(findings[: place + 1])) <= STANDS_OUT]
    return "; ".join(findings[: max(1, len(fitting))])


def _rest(groups: Sequence[Mapping[str, Any]], what: str, n: int) -> list[TableRow]:
    if not groups:
        return []
    size = sum(group["size"] for group in groups)
    name = f"{len(groups)} smaller {what}s" if len(groups) > 1 else f"1 smaller {what}"
    return [TableRow("rest", name, size, size / n)]


def shown_name(group: Mapping[str, Any]) -> str:
    """Return the name of a group: the language model's, or its own."""
    return printable(group.get("described") or group["name"], NAME)
