"""What changed clearly in a collection, in words: page, sheet and terminal say the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from conversations.words import from_to, printable
from dial2vec.collection.changes.comparing import ComparedRow, compared_metadata, compared_topics
from dial2vec.collection.changes.evidence import TABLES, adjusted, change_words, parts_p
from dial2vec.collection.changes.facts import KnownFacts, facts_of
from dial2vec.collection.changes.grouped import Record, nearest_groups
from dial2vec.collection.changes.overview import findings_of, marks_of, moved
from dial2vec.collection.changes.periods import LEAST, TooFewError, days_of
from dial2vec.collection.changes.sides import Sides, Span, sides_of
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.search.filters import Filters

KINDS = {"new": "new", "grew": "more", "shrank": "less", "gone": "gone"}
# Findings on a topic, changes of the metadata that are told, and characters of a name.
FINDINGS, FACTS, NAME = 2, 2, 40
# Periods beside the latest one, in days; two with nearly the same dialogues would say the same.
READY, ALIKE = (30, 7), 0.2
LATEST = Span()


@dataclass(frozen=True, slots=True)
class ClearChange:
    """A clear change of a topic or an area.

    :param kind: "new", "more", "less" or "gone".
    :param before: share of the dialogues before, in [0, 1].
    :param after: share of the dialogues after.
    :param count: number of its dialogues after.
    :param name: name of the topic.
    :param says: words on what stands out in these dialogues.
    """

    kind: str
    before: float
    after: float
    count: int
    name: str = ""
    says: str = ""

    @property
    def sentence(self) -> str:
        """The change in words: "More: lost cards 3% → 13%; 57% by phone (others 25%)"."""
        shares = " → ".join(from_to(self.before, self.after))
        return f"{self.kind.capitalize()}: {printable(self.name, NAME)} {shares}" + f"; {self.says}" * bool(self.says)


@dataclass(frozen=True, slots=True)
class Headline:
    """What changed clearly between two periods.

    :param since: start of the second period, an ISO date.
    :param until: day of the last dialogue, an ISO date; "" without dates.
    :param sizes: dialogues before and after.
    :param topics: changes of topics by their place: new, more, less, gone, the largest differences first.
    :param areas: changes of areas by their place.
    :param others: number of topics that did not change.
    :param rest: sentence on these topics.
    :param facts: sentences on clear changes of the metadata of all dialogues.
    """

    since: str
    until: str
    sizes: tuple[int, int]
    topics: dict[int, ClearChange]
    areas: dict[int, ClearChange]
    others: int
    rest: str
    facts: tuple[str, ...]

    @property
    def day(self) -> str:
        """Start of the second period, such as "30 March 2026"."""
        return day(self.since)

    @property
    def lines(self) -> list[str]:
        """The answer for a terminal."""
        title = f"What changed since {self.day}, compared with everything before:"
        changes = [f"  {change.sentence}" for change in self.topics.values()]
        return [*([title] if changes else []), *changes, " ".join((self.rest, *self.facts))]


def headline(
    collection: CollectionFolder,
    span: Span = LATEST,
    filters: Filters | None = None,
    *,
    names: Mapping[int, str] | None = None,
) -> Headline:
    """Return what changed clearly in a period.

    :param span: dates; without them the latest quarter of the dialogues, or the last addition, is compared.
    :param names: other names of topics, by their ids.
    :raises ArtifactError: if the collection has no clusters, or damaged ones.
    :raises TooFewError: if there are too few dialogues to compare.
    :raises CorpusError: if a date is invalid, or a filter is invalid or names something unknown.
    """
    return _headline(sides_of(collection, None, span, filters), facts_of(collection), names or {})


def ready_headlines(collection: CollectionFolder) -> list[Headline]:
    """Return what changed in the latest quarter of the dialogues, the last month and the last week.

    Periods with too few dialogues, or nearly those of another, are left out.
    """
    grouped, facts, made = nearest_groups(collection), facts_of(collection), list[Headline]()
    last = days_of(collection.times)[1:]
    starts = [date.fromisoformat(end) - timedelta(days=days - 1) for end in last for days in READY]
    for span in (LATEST, *(Span(after=start.isoformat()) for start in starts)):
        with suppress(TooFewError):
            sides = sides_of(collection, None, span, None, grouped=grouped)
            other = all(abs(sides.sizes[1] - known.sizes[1]) > ALIKE * known.sizes[1] for known in made)
            if min(sides.sizes) >= LEAST and other:
                made.append(_headline(sides, facts, {}))
    return made


def day(when: str, until: str = "", *, month: str = "%B") -> str:
    """Return a date as "30 March 2026", without the year if `until`, another date, is of the same one."""
    start = date.fromisoformat(when[:10])
    return f"{start.day} {start:{month}}" + f" {start.year}" * (until[:4] != when[:4])


def _headline(sides: Sides, facts: KnownFacts, names: Mapping[int, str]) -> Headline:
    grouped, clusters = sides.grouped, sides.grouped.clusters
    until = "".join(days_of(sides.collections[0].times[sides.side >= 0])[1:])
    findings = findings_of(marks_of(grouped, facts, np.where(sides.side == 1, grouped.groups, -1).astype(np.int64)))
    topics = dict[int, ClearChange]()
    for row in compared_topics(sides):
        if row.group is not None and row.record["change"] and not (cluster := clusters.clusters[row.group]).hidden:
            name = names.get(cluster.id, cluster.name)
            topics[row.group] = _change(row.record, name, _says(sides, row, findings.get(cluster.id, []), until))
    order, others = list(KINDS.values()), len(clusters.shown) - len(topics)
    rest = f"The other {'topic' if others == 1 else f'{others} topics'} did not change clearly." if others else ""
    return Headline(
        since=sides.since[:10],
        until=until,
        sizes=sides.sizes,
        topics=dict(sorted(topics.items(), key=lambda item: order.index(item[1].kind))),
        areas=_areas(sides),
        rest=rest if topics else f"No topic changed clearly since {day(sides.since, until)}.",
        others=others,
        facts=tuple(_fact(row.record) for row in compared_metadata(sides, facts) if row.group is None)[:FACTS],
    )


def _change(record: Record, name: str = "", says: str = "") -> ClearChange:
    return ClearChange(
        KINDS[record["change"]], record["before"], record["after"], int(record["size_after"]), name, says
    )


def _says(sides: Sides, row: ComparedRow, findings: Sequence[str], until: str) -> str:
    """Return what stands out in the dialogues of a topic after the boundary, and of a new one their number."""
    # The first finding explains the brackets: "57% by phone (others 25%), CSAT 1.7 (3.0)".
    parts = [*findings[:1], *(finding.replace("(others ", "(") for finding in findings[1:FINDINGS])]
    says, count = ", ".join(parts), row.record["size_after"]
    if row.record["change"] != "new":
        return says
    days = days_of(sides.collections[0].times[(sides.grouped.groups == row.group) & (sides.side == 1)])
    since = f", all since {day(days[0], until)}" if days and not row.record["size_before"] else ""
    return "; ".join([f"{count:,} conversation{'s' * (count != 1)}{since}", *([says] if says else [])])


def _areas(sides: Sides) -> dict[int, ClearChange]:
    """Return the clear changes of areas; hidden topics are a part of their own."""
    clusters = sides.grouped.clusters
    places = {area.id: place for place, area in enumerate(clusters.areas)}
    k = len(places)
    areas = np.array([k if cluster.hidden else places.get(cluster.area, k) for cluster in clusters.clusters])
    own = areas[sides.grouped.groups]
    first, second = (np.bincount(own[sides.side == side], minlength=k + 1) for side in (0, 1))
    change = change_words(first, first.sum(), second, second.sum(), adjusted(parts_p(first, second), tables=TABLES))
    shares = zip(change.tolist(), first / first.sum(), second / second.sum(), second.tolist(), strict=True)
    records = [dict(zip(("change", "before", "after", "size_after"), row, strict=True)) for row in shares]
    return {place: _change(record) for place, record in enumerate(records[:k]) if record["change"]}


def _fact(record: Record) -> str:
    """Return a change of the metadata: "CSAT fell from 3.0 to 2.7." or "phone (channel) grew from 25% to 31%."."""
    key, value = record["key"], record["value"]
    subject = printable(key if value is None else f"{value} ({key})", NAME)
    return f"{subject} {moved(record['change'], record['before'], record['after'])}."
