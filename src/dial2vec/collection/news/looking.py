"""What is new in a collection since the last look: topics that appeared, grew or shrank, and their metadata."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from conversations.words import from_to, percent, printable
from dial2vec.collection.changes.contrasting import Contrast, contrasts, showing
from dial2vec.collection.changes.facts import facts_of
from dial2vec.collection.changes.grouped import Grouped, nearest_groups, read_groups
from dial2vec.collection.changes.overview import moved
from dial2vec.collection.clustering.clusters import Cluster
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.news.impact import Impact, impact
from dial2vec.collection.news.ledger import Ledger, TopicRecord, read_ledger
from dial2vec.collection.news.telling import News, TopicChange
from dial2vec.collection.news.testing import NEW, PAST, RATES, SHARES, WINDOWS, clear_growth, spent

# Days whose metadata is compared with the days before, and conversations that are named.
RATED_DAYS, SHOWN = 7, 3
# A topic is gone with at most this part of the dialogues that it is expected to have.
NEARLY_NONE = 0.05
# With fewer conversations on most days, weeks are counted.
MANY = 100


def level_of(collection: CollectionFolder, at: datetime) -> float:
    """Return the level at which `cluster` may let a topic appear in a collection now."""
    return NEW * spent(read_ledger(collection.folder).days_until(at, int(collection.days.max())))


def whats_new(
    collection: CollectionFolder,
    *,
    at: datetime | None = None,
    groupings: tuple[Grouped, Grouped] | None = None,
    ledger: Ledger | None = None,
) -> News:
    """Return what is new in a collection since the last look; `News.write` records that it was looked at.

    Told is what passes the part of the error rate that this look may spend (`testing.spent`); a group of new dialogues
    that is less sure is listed as emerging. After a topic was told, its days since then count as its past.

    :param at: time of the look; None means now.
    :param groupings: results of `read_groups` and `nearest_groups`, if they are known.
    :param ledger: state after the last look, if it is known.
    :raises ArtifactError: if the collection has no clusters, or damaged ones, or its ledger is damaged.
    """
    at = (at or datetime.now(UTC)).astimezone(UTC)
    written, nearest = groupings or (read_groups(collection), nearest_groups(collection))
    return _Look(collection, written, nearest, ledger or read_ledger(collection.folder), at).news()


class _Look:
    """A look at a collection.

    :param written: groups as clustering wrote them: a dialogue that was clustered from scratch keeps its group.
    :param grouped: groups by one rule, so that periods can be compared.
    """

    def __init__(
        self, collection: CollectionFolder, written: Grouped, grouped: Grouped, ledger: Ledger, at: datetime
    ) -> None:
        self.collection, self.ledger, self.at = collection, ledger, at
        self.written, self.grouped, self.facts = written, grouped, facts_of(collection)
        self.clusters, self.days = self.grouped.clusters.clusters, collection.days
        self.spends = spent(ledger.days_until(at, int(self.days.max())))
        # What was clustered from scratch is known; a clustering since the last look does not make it older.
        settled = self.grouped.clusters.settled
        self.first_new = ledger.dialogues if ledger.at else settled
        self.settled = min(settled, ledger.settled) if ledger.at else settled
        self.topics = dict(ledger.topics)

    def news(self) -> News:
        """Return what is new."""
        changes = [*self.new_topics(), *self.grown(), *self.rated()]
        clusters, n = self.grouped.clusters, len(self.collection)
        since = self.ledger.at or self.collection.manifest.additions[-1].added
        ledger = self.ledger.after(
            self.at, int(self.days.max()), dialogues=n, settled=clusters.settled, topics=self.topics
        )
        fresh = n - self.first_new
        return News(
            self.at, since, fresh, len(clusters.shown), tuple(changes), tuple(self.emerging()), self.impact(), ledger
        )

    def new_topics(self) -> Iterator[TopicChange]:
        """Tell topics that are not in the ledger, were found, and mostly have new dialogues; all are written there."""
        for place, cluster in enumerate(self.clusters):
            if str(cluster.id) in self.topics:
                continue
            rows = np.flatnonzero(self.written.groups == place)
            fresh = rows[rows >= self.settled]
            self.topics[str(cluster.id)] = TopicRecord()
            if 2 * len(fresh) > len(rows) and not cluster.hidden and not cluster.known:
                # A few dialogues of other topics are older.
                first = int(np.quantile(self.days[fresh], 0.1, method="lower"))
                self.topics[str(cluster.id)] = TopicRecord(first)
                share = percent(len(fresh) / max(1, int((self.days >= first).sum())))
                words = f"{len(fresh):,} conversations, {share} of those since {_day(first)}"
                yield self.change("new", cluster, words, fresh, 0.0)

    def grown(self) -> Iterator[TopicChange]:
        """Tell topics whose share grew or shrank."""
        known = self.known()
        if not known:
            return
        last = int(self.days.max())
        ages = last - self.days
        # Where there are few conversations a day, weeks are counted.
        unit = 1 if np.median(np.unique(ages, return_counts=True)[1]) >= MANY else 7
        periods = min(int(ages.max()) // unit + 1, PAST + max(WINDOWS))
        late = ages < unit * periods
        counts = np.zeros((periods, len(self.clusters)), dtype=np.int64)
        np.add.at(counts, (periods - 1 - ages[late] // unit, self.grouped.groups[late]), 1)
        since = np.zeros(len(self.clusters), dtype=np.int64)
        since[[*known]] = [periods - (last - record.since) // unit for record in known.values()]
        for row in clear_growth(counts, since, [*known], level=SHARES * self.spends, season=7 if unit == 1 else 1):
            kind = "more" if row.after > row.before else "gone" if row.after <= NEARLY_NONE * row.before else "less"
            shares = " → ".join(from_to(row.before, row.after))
            begin = last - row.days * unit + 1
            rows = self.rows_of(row.topic)
            words = f"{shares} of the conversations in the last {_span(row.days * unit)}"
            self.retold(row.topic, since=begin)
            yield self.change(kind, self.clusters[row.topic], words, rows[self.days[rows] >= begin], row.p)

    def rated(self) -> Iterator[TopicChange]:
        """Tell metadata of a topic that differs in the last days from the days before."""
        last, side = int(self.days.max()), np.full(len(self.days), -1)
        side[self.days > last - RATED_DAYS - PAST] = 0
        side[self.days > last - RATED_DAYS] = 1
        known, k = self.known(), len(self.clusters)
        since = np.full(k, last)
        since[[*known]] = [record.rated for record in known.values()]
        side[(side == 0) & (self.days < since[self.grouped.groups])] = -1
        cells = np.where(side >= 0, 2 * self.grouped.groups.astype(np.int64) + side, -1)
        pairs = np.repeat(np.eye(k, dtype=bool), 2, axis=1)
        tried = contrasts(self.facts, cells, pairs & (np.arange(2 * k) % 2 == 0), pairs & (np.arange(2 * k) % 2 == 1))
        tried = [item for item in tried if item.pair in known]
        for item in sorted(tried, key=lambda item: item.compared.p):
            p = item.compared.p * len(tried)
            if p > RATES * self.spends:
                break
            yield self.rating(item, p, side)

    def rating(self, item: Contrast, p: float, side: NDArray[np.int64]) -> TopicChange:
        compared, rows = item.compared, self.rows_of(item.pair)
        kind = "rose" if compared.after > compared.before else "fell"
        subject = item.key if item.value is None else f"{item.value} ({item.key})"
        words = f"{printable(subject, 40)} {moved(_verb(item, kind), compared.before, compared.after)}"
        shows = rows[(side[rows] == 1) & showing(self.facts, item, len(side))[rows]]
        self.retold(item.pair, rated=int(self.days.max()) - RATED_DAYS + 1)
        return self.change(kind, self.clusters[item.pair], words, shows, p)

    def emerging(self) -> Iterator[TopicChange]:
        """List groups with new dialogues that may become topics."""
        for group in self.grouped.clusters.emerging:
            rows = np.array(group, dtype=np.int64)
            if (rows >= self.first_new).any():
                near = self.clusters[int(np.bincount(self.grouped.groups[rows]).argmax())]
                yield self.change("emerging", near, f"{len(rows)} conversations like each other", rows, 1.0)

    def impact(self) -> tuple[Impact, ...]:
        """Return the topics that weigh most in the last weeks, by how badly they go."""
        cells = np.where(self.days > self.days.max() - PAST // 2, self.grouped.groups, -1).astype(np.int64)
        return impact(self.facts, cells, self.clusters)

    def known(self) -> dict[int, TopicRecord]:
        """Return the records of the topics that can be compared with their past and are not hidden, by place."""
        return {
            place: self.topics[str(cluster.id)]
            for place, cluster in enumerate(self.clusters)
            if str(cluster.id) in self.topics and not cluster.hidden
        }

    def rows_of(self, place: int) -> NDArray[np.int64]:
        return np.flatnonzero(self.grouped.groups == place)

    def retold(self, place: int, *, since: int | None = None, rated: int | None = None) -> None:
        """Note from which day on the past of a topic counts now."""
        key = str(self.clusters[place].id)
        was = self.topics[key]
        self.topics[key] = TopicRecord(since or was.since, rated or was.rated)

    def change(self, kind: str, cluster: Cluster, words: str, rows: NDArray[np.int64], p: float) -> TopicChange:
        ids = self.collection.rows["dialogue_id"].take(self.grouped.closest(rows, SHOWN)).to_pylist()
        return TopicChange(kind, cluster.id, cluster.name, words, tuple(ids), len(rows), p)


def _verb(item: Contrast, kind: str) -> str:
    """Return the verb of a mean, or of a share."""
    return kind if item.value is None else {"rose": "grew", "fell": "shrank"}[kind]


def _span(days: int) -> str:
    return "day" if days == 1 else f"{days} days"


def _day(number: int) -> str:
    when = date(1970, 1, 1) + timedelta(days=number)
    return f"{when.day} {when:%B}"
