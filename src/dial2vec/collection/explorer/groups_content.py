"""The table of topics for the page as JSON: areas, topics and fine topics with sizes, trends and what speaks for them.

Sizes and trends count the dialogues on the page; what stands out, and the news, are those of the whole collection.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from conversations.words import cut
from dial2vec.collection.changes.facts import facts_of, mean_and_sd, sums_of
from dial2vec.collection.changes.overview import findings_of, overview
from dial2vec.collection.changes.periods import Periods, periods_of
from dial2vec.collection.clustering.clusters import Cluster, Stored, read_stored
from dial2vec.collection.clustering.decided import renamed_ids
from dial2vec.collection.clustering.decisions import read_decisions
from dial2vec.collection.clustering.levels import Area
from dial2vec.collection.clustering.partition import Groups, Vectors
from dial2vec.collection.clustering.speaking import speaking_scores
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.describing.describing import read_descriptions
from dial2vec.collection.explorer.news_content import NO_NEWS, PageGroups, command_of, news_of
from dial2vec.data.terms import Term

# Typical dialogues of a group, terms that are listed, and findings on what stands out.
TYPICAL, OFFERED, TERMS, FINDINGS = 3, 9, 10, 6
# Longest text of a turn; the table shows about two lines of it.
CHARACTERS = 240
# Rows whose vectors are in memory at a time, few enough for the processor's cache.
BLOCK = 2_048
# Keys with more values than this give no columns.
MOST_VALUES = 6


def groups_content(collection: CollectionFolder, rows: NDArray[np.int64]) -> dict[str, Any]:
    """Return the groups of a collection, with their news.

    :param rows: rows of the collection in the order of the page, int64 [n].
    :return: `groups`, the lists of areas, topics and fine topics, the largest first and without hidden ones, or None
        if there are no clusters; `members`, the index of each dialogue's group, int16 [n] per level, -1 for none;
        `similarity` of each dialogue to the centre of its topic, uint8 [n], 255 for a cosine of 1; and `news`.
    :raises ArtifactError: if the clusters or their descriptions are damaged.
    """
    stored = read_stored(collection)
    if stored is None:
        news = NO_NEWS | dict.fromkeys(("spans", "sentences", "periods", "totals"), ())
        news["command"] = command_of(collection)
        return {"groups": None, "members": [], "similarity": None, "news": news}
    periods = periods_of(collection)
    page = _Page(collection, stored, rows, periods)
    groups = [_areas(page), _topics(page), _fine_topics(page)]
    shown = PageGroups(groups[0], page.levels[0].order, page.topics.order, periods.names)
    news = news_of(collection, stored, shown, page.shown_names)
    for own, changes in zip(groups[:2], news["changes"], strict=True):
        for group, change in zip(own, changes, strict=True):
            group["change"] = change
    for made, level, unclear in zip(groups, page.levels, page.unclear, strict=False):
        for group, place, numbers in zip(made, level.order, page.numbers(level), strict=True):
            group |= {"unclear": place in unclear, "numbers": numbers}
    return {
        "groups": groups,
        "members": [level.members.astype(np.int16) for level in page.levels],
        "similarity": np.round(255 * page.cosines[0].clip(0, 1)).astype(np.uint8),
        "news": news | {"periods": periods.names, "totals": page.totals, "command": command_of(collection)},
    }


@dataclass(frozen=True, slots=True)
class _Level:
    """The groups of one level that the page shows.

    :param order: places of the groups in the clusters, the largest first.
    :param members: index in `order` of each dialogue's group, -1 for none, int64 [n].
    """

    order: list[int]
    members: NDArray[np.int64]

    @classmethod
    def of(cls, places: NDArray[np.int64], last: Collection[int] = ()) -> _Level:
        """Rank groups by their size, with some as the last ones; -1 stands for none."""
        sizes = np.bincount(places[places >= 0])
        order = np.lexsort((-sizes, np.isin(np.arange(len(sizes)), [*last]), sizes == 0))[: int((sizes > 0).sum())]
        index = np.full(len(sizes) + 1, -1)
        index[order] = np.arange(len(order))
        return cls(order.tolist(), index[places])

    @property
    def index(self) -> dict[int, int]:
        """Index of each place."""
        return {place: at for at, place in enumerate(self.order)}

    @property
    def sizes(self) -> list[int]:
        """Number of dialogues of each group."""
        return np.bincount(self.members[self.members >= 0], minlength=len(self.order)).tolist()

    def first(self, cosines: Vectors, n: int) -> list[list[int]]:
        """Return the n rows of the page with the largest cosines, per group."""
        order = np.lexsort((-cosines, self.members))
        starts = np.searchsorted(self.members[order], np.arange(len(self.order) + 1)).tolist()
        return [order[start : min(start + n, end)].tolist() for start, end in pairwise(starts)]


class _Page:
    """What the three levels share."""

    def __init__(self, collection: CollectionFolder, stored: Stored, rows: NDArray[np.int64], periods: Periods) -> None:
        self.collection, self.stored, self.rows, self.periods = collection, stored, rows, periods
        self.clusters, state = stored.clusters.clusters, stored.state
        hidden = np.array([cluster.hidden for cluster in self.clusters])
        topics, fine = _known(state.groups, rows), _known(state.fine, rows)
        # -1, none, finds the last value of an array.
        topics = np.where(np.append(hidden, True)[topics], -1, topics)
        divided = np.bincount(state.fine_parents, minlength=len(self.clusters)) > 1
        fine = np.where(np.append(divided, False)[topics], fine, -1)
        places = {area.id: place for place, area in enumerate(stored.clusters.areas)}
        # An area whose topics are all hidden is none.
        self.area_of = np.array([places.get(cluster.area, -1) for cluster in self.clusters])
        areas = np.append(self.area_of, -1)[topics]
        unclear = {place for place, cluster in enumerate(self.clusters) if cluster.unclear}
        # An area of unclear topics alone is unclear.
        self.unclear = [{*range(len(places))} - {*np.delete(self.area_of, [*unclear]).tolist()}, unclear]
        self.levels = [_Level.of(areas, self.unclear[0]), _Level.of(topics, unclear), _Level.of(fine)]
        self.topics, self.fine = self.levels[1:]
        self.totals: list[int] = periods.totals(rows).tolist()
        self.described = read_descriptions(collection) or {"clusters": {}, "areas": {}}
        self.facts = facts_of(collection)
        self.renamed = renamed_ids(stored, read_decisions(collection.folder))

    @cached_property
    def cosines(self) -> tuple[Vectors, Vectors]:
        """Cosine of each dialogue to the centres of its topic and of its fine topic, float32 [n]; 0 without one."""
        state, n = self.stored.state, len(self.rows)
        both = np.zeros((2, n), dtype=np.float32)
        for first in range(0, n, BLOCK):
            rows = self.rows[first : first + BLOCK]
            together = rows[-1] - rows[0] == len(rows) - 1
            units = self.collection.adapted[slice(rows[0], rows[-1] + 1) if together else rows]
            for at, (level, centres) in enumerate(((self.topics, state.centres), (self.fine, state.fine_centres))):
                places = np.append(level.order, -1).astype(np.int64)[level.members[first : first + BLOCK]]
                cosines = np.einsum("ij,ij->i", units, centres[places])
                both[at, first : first + BLOCK] = np.where(places >= 0, cosines, 0)
        return both[0], both[1]

    @cached_property
    def typical(self) -> list[list[int]]:
        """Rows of the page of dialogues of each topic that may be quoted as typical."""
        return self.topics.first(self.cosines[0], OFFERED)

    @cached_property
    def read(self) -> dict[int, Dialogue]:
        """The typical dialogues of the topics, by their row on the page."""
        wanted = sorted({row for rows in self.typical for row in rows})
        return dict(zip(wanted, self.collection.dialogues(self.rows[wanted].tolist()), strict=True))

    @cached_property
    def shown_names(self) -> list[str]:
        """Name of each cluster on the page."""
        return [self.words("clusters", cluster.id)[0] or cluster.name for cluster in self.clusters]

    def words(self, level: str, id: int) -> tuple[str | None, str]:
        """Return the language model's name and summary of a group; None and "" without its answer.

        A name that people gave goes before that of the model.
        """
        record: Mapping[str, Any] = self.described[level].get(str(id), {})
        if record.get("by") != "model":
            return None, ""
        return None if level == "clusters" and id in self.renamed else record["name"], record["summary"]

    def numbers(self, level: _Level) -> list[dict[str, float]]:
        """Return the mean of each number of the metadata, and the share of each value in percent, per group."""
        cells, k = np.full(len(self.collection), -1), len(level.order)
        cells[self.rows] = level.members
        columns = {key: mean_and_sd(*sums_of(numbers, cells, k))[0] for key, numbers in self.facts.numbers.items()}
        for values in [few for few in self.facts.values if len(few.names) <= MOST_VALUES]:
            counts, known = values.counts(cells, k)
            shares = np.round(100 * counts.T / np.where(known, known, np.nan))
            columns |= {f"% {values.key} = {name}": own for name, own in zip(values.names, shares, strict=True)}
        return [{key: float(own[at]) for key, own in columns.items() if isfinite(own[at])} for at in range(k)]

    def trends(self, level: _Level) -> list[list[int]]:
        """Return the number of dialogues of each group in each period."""
        n = len(self.periods.names)
        dated = self.periods.of_rows[self.rows]
        kept = (level.members >= 0) & (dated >= 0)
        counts = np.bincount(level.members[kept] * n + dated[kept], minlength=len(level.order) * n)
        return counts.reshape(len(level.order), n).tolist()  # type: ignore[no-any-return]

    def quotes(self, rows: Sequence[int], terms: Sequence[Term]) -> tuple[list[dict[str, Any]], int]:
        """Return the turns of typical dialogues that speak most for these terms, and the place of the best one.

        Of dialogues whose turns say the same, the first is quoted.
        """
        quotes: dict[str, dict[str, Any]] = {}
        scores: dict[str, float] = {}
        for row in rows:
            turns, own = self.read[row].turns, speaking_scores(self.read[row], terms)
            place = own.index(max(own))
            text = cut(turns[place].text, CHARACTERS)
            scores.setdefault(text.casefold(), max(own))
            quotes.setdefault(
                text.casefold(), {"row": row, "turn": place, "speaker": turns[place].speaker, "text": text}
            )
        best = [*scores.values()][:TYPICAL]
        return [*quotes.values()][:TYPICAL], best.index(max(best))


def _areas(page: _Page) -> list[dict[str, Any]]:
    level, made = page.levels[0], []
    topics = [page.area_of[place] for place in page.topics.order]
    facts = zip(level.order, level.sizes, page.trends(level), strict=True)
    for place, size, trend in facts:
        area = page.stored.clusters.areas[place]
        own = [at for at, of in enumerate(topics) if of == place]
        made.append({**_said(area, size, page), "trend": trend, "topics": own})
    return made


def _topics(page: _Page) -> list[dict[str, Any]]:
    level, findings = page.topics, findings_of(overview(page.collection)[1])
    areas, parents = page.levels[0].index, page.stored.state.fine_parents
    fine: dict[int, list[int]] = {}
    for at, place in enumerate(page.fine.order):
        fine.setdefault(int(parents[place]), []).append(at)
    made = []
    facts = zip(level.order, level.sizes, page.trends(level), page.typical, strict=True)
    for place, size, trend, typical in facts:
        cluster = page.clusters[place]
        quotes, best = page.quotes(typical, cluster.terms)
        made.append(
            {
                **_said(cluster, size, page),
                "trend": trend,
                "area": areas[int(page.area_of[place])],
                "fine": fine.get(place, []),
                "stands_out": findings.get(cluster.id, [])[:FINDINGS],
                "typical": [quote["row"] for quote in quotes],
                "quote": quotes[best],
                "quotes": quotes,
            }
        )
    return made


def _fine_topics(page: _Page) -> list[dict[str, Any]]:
    level, topics = page.fine, page.topics.index
    fine, parents = page.stored.clusters.fine, page.stored.state.fine_parents
    facts = zip(level.order, level.sizes, level.first(page.cosines[1], TYPICAL), strict=True)
    return [
        {
            "id": fine[place].id,
            "name": fine[place].name,
            "size": size,
            "topic": topics[int(parents[place])],
            "typical": typical,
        }
        for place, size, typical in facts
    ]


def _known(groups: Groups, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the groups of rows, -1 for dialogues that were added after the clustering."""
    return np.append(groups, -1)[np.minimum(rows, len(groups))].astype(np.int64)


def _said(group: Area | Cluster, size: int, page: _Page) -> dict[str, Any]:
    """Return what the page says of an area, and of a topic, too."""
    described, summary = page.words("areas" if isinstance(group, Area) else "clusters", group.id)
    return {
        "id": group.id,
        "name": group.name,
        "described": described,
        "summary": summary,
        "terms": [term.text for term in group.terms[:TERMS]],
        "size": size,
        "share": round(size / max(1, len(page.rows)), 5),
    }
