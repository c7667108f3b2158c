"""What the sheet says, from the groups of a collection."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conversations.words import printable
from dial2vec.collection.changes.headline import Headline, headline
from dial2vec.collection.changes.periods import TooFewError, days_of
from dial2vec.collection.changes.sides import Span
from dial2vec.collection.clustering import Clusters
from dial2vec.collection.clustering.speaking import speaking_turns
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.explorer.groups_content import groups_content
from dial2vec.collection.look import clusters_of
from dial2vec.collection.search.filters import Filters
from dial2vec.collection.summary.rows import MOST_AREAS, TableRow, shown_name, table_rows
from dial2vec.data.terms import Term
from dial2vec.errors import CorpusError

# Name, terms and rows of typical dialogues of a topic.
TypicalTopic = tuple[str, Sequence[Term], Sequence[int]]
# Areas in the sentence.
NAMED = 3
# Hennig 2007: above 0.75 a cluster is stable, below 0.5 it is dissolved.
STABLE, DISSOLVED = 0.75, 0.5
# Excerpts of an area, words of a turn that says little, and characters of a turn and of a speaker's name.
EXCERPTS, FEW_WORDS, CHARACTERS, SPEAKER = 3, 3, 170, 24


@dataclass(frozen=True, slots=True)
class Certainty:
    """How sure the groups are.

    :param topics: number of topics.
    :param stable: number of stable topics.
    :param stable_share: share of the dialogues that are in a stable topic, in [0, 1].
    :param unsure: names of the unsure topics, the largest first.
    :param agreement: agreement of the groups with those of half the dialogues, at most 1; 0 is chance.
    :param outside: share of the dialogues that belong to no topic, in [0, 1].
    """

    topics: int
    stable: int
    stable_share: float
    unsure: tuple[str, ...]
    agreement: float
    outside: float = 0.0


@dataclass(frozen=True, slots=True)
class AreaExcerpts:
    """An area with excerpts of typical dialogues.

    :param name: name of the area.
    :param share: share of the dialogues, in [0, 1].
    """

    name: str
    share: float
    excerpts: tuple[TypicalExcerpt, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """What the sheet says.

    :param name: name of the collection.
    :param dialogues: number of dialogues that are counted.
    :param left_out: number of dialogues that the conditions leave out.
    :param dates: days of the first and the last of these dialogues, ISO; empty without dates.
    :param conditions: conditions on the dialogues, in words.
    :param largest: name and share of the three largest areas.
    :param areas: number of areas.
    :param topics: number of topics.
    :param rows: rows of the table.
    :param changed: changes between two periods; None if they cannot be compared.
    :param news: sentences of the last clustering.
    :param typical: areas with excerpts, the largest first.
    :param certainty: stability of the groups.
    """

    name: str
    dialogues: int
    left_out: int
    dates: tuple[str, ...]
    conditions: tuple[str, ...]
    largest: tuple[tuple[str, float], ...]
    areas: int
    topics: int
    rows: tuple[TableRow, ...]
    changed: Headline | None
    news: tuple[str, ...]
    typical: tuple[AreaExcerpts, ...]
    certainty: Certainty


@dataclass(frozen=True, slots=True)
class Scope:
    """The dialogues that are counted, and the periods that are compared.

    :param before: end of the first period, exclusive, and start of the second, an ISO date in UTC; None chooses one.
    :param since: start of the first period; earlier dialogues are not counted.
    :param until: end of the second period, exclusive; later dialogues are not counted.
    :param where: conditions on the metadata, such as "channel == phone".
    """

    before: str | None = None
    since: str | None = None
    until: str | None = None
    where: tuple[str, ...] = ()


EVERYTHING = Scope()


def summarize(collection: CollectionFolder, scope: Scope = EVERYTHING) -> Summary:
    """Return what a sheet says about a collection; its groups are made first if they are missing or old.

    :raises CorpusError: if fewer than 2 dialogues are left, a date or condition is invalid, or a period is empty.
    :raises ArtifactError: if the clusters are damaged.
    """
    clusters = clusters_of(collection)
    rows = _chosen(collection, scope)
    if clusters is None or len(rows) < 2:
        raise CorpusError(
            f"{collection.folder} has {len(rows)} dialogue{'s' * (len(rows) != 1)} for a report; expected at least 2. "
            "Add dialogues, or leave conditions out."
        )
    content = groups_content(collection, rows)
    areas, topics, _ = content["groups"]
    if not areas:
        raise CorpusError(
            f"all topics of {collection.folder} with these dialogues are hidden; expected one to show. "
            f"`dial2vec curate {collection.folder} list` names them."
        )
    stable = {cluster.id: cluster.stability for cluster in clusters.clusters}
    names = {topic["id"]: shown_name(topic) for topic in topics}
    return Summary(
        name=collection.folder.resolve().name.removesuffix(".look"),
        dialogues=len(rows),
        left_out=len(collection) - len(rows),
        dates=tuple(days_of(collection.times[rows])),
        conditions=_conditions(scope),
        largest=tuple((shown_name(area), area["size"] / len(rows)) for area in areas[:NAMED]),
        areas=len(areas),
        topics=len(topics),
        rows=table_rows(areas, topics, n=len(rows), sure={id: how_sure(value) for id, value in stable.items()}),
        changed=_changed(collection, names, scope),
        news=() if scope != EVERYTHING else tuple(content["news"]["sentences"]),
        typical=_typical(collection, rows, areas, topics, clusters),
        certainty=certainty_of(clusters, topics, n=len(rows)),
    )


def how_sure(stability: float) -> str:
    """Return "stable", "fair" or "unsure" for the stability of a topic, in [0, 1]."""
    return "stable" if stability > STABLE else "unsure" if stability < DISSOLVED else "fair"


def certainty_of(clusters: Clusters, topics: Sequence[Mapping[str, Any]], *, n: int) -> Certainty:
    """Return how sure the topics of a sheet are.

    :param topics: topics of `dial2vec.collection.explorer.groups_content`, the largest first.
    :param n: number of dialogues.
    """
    sure = {cluster.id: how_sure(cluster.stability) for cluster in clusters.clusters}
    stable = [topic for topic in topics if sure[topic["id"]] == "stable"]
    return Certainty(
        topics=len(topics),
        stable=len(stable),
        stable_share=sum(topic["size"] for topic in stable) / n,
        unsure=tuple(shown_name(topic) for topic in topics if sure[topic["id"]] == "unsure"),
        agreement=clusters.agreement,
        outside=clusters.outside,
    )


def _chosen(collection: CollectionFolder, scope: Scope) -> NDArray[np.int64]:
    """Return the rows of the dialogues that are counted."""
    if (scope.since or scope.until) and collection.rows["date"].null_count == len(collection):
        raise CorpusError(
            f"no dialogue of {collection.folder} has a date; expected some for --since and --until. Leave them out."
        )
    rows = Filters(after=scope.since, before=scope.until, where=scope.where).rows(collection)
    return np.arange(len(collection)) if rows is None else rows


def _conditions(scope: Scope) -> tuple[str, ...]:
    dates = [f"{word} {date}" for word, date in (("from", scope.since), ("before", scope.until)) if date]
    return (*dates, *(printable(condition, 80) for condition in scope.where))


def _changed(collection: CollectionFolder, names: Mapping[int, str], scope: Scope) -> Headline | None:
    """Compare two periods if there are two; dates that leave nothing are refused."""
    span = Span(scope.before, since=scope.since, until=scope.until)
    with nullcontext() if scope.before else suppress(TooFewError):
        return headline(collection, span, Filters(where=scope.where), names=names)
    return None


def _typical(
    collection: CollectionFolder,
    rows: NDArray[np.int64],
    areas: Sequence[Mapping[str, Any]],
    topics: Sequence[Mapping[str, Any]],
    clusters: Clusters,
) -> tuple[AreaExcerpts, ...]:
    terms = {cluster.id: cluster.terms for cluster in clusters.clusters}
    typical = [(shown_name(topic), terms[topic["id"]], rows[topic["typical"]].tolist()) for topic in topics]
    return tuple(
        AreaExcerpts(
            shown_name(area),
            area["size"] / len(rows),
            excerpts_of(collection, [typical[at] for at in area["topics"]]),
        )
        for area in areas[:MOST_AREAS]
    )


@dataclass(frozen=True, slots=True)
class TypicalExcerpt:
    """The turn of a typical dialogue that speaks for its topic.

    :param dialogue_id: id of the dialogue.
    :param turn: number of the turn, from 0.
    :param topic: name of the topic.
    :param speaker: name of the speaker; "" if the dialogue has no other.
    :param text: text on one line, at most 170 characters.
    """

    dialogue_id: str
    turn: int
    topic: str
    speaker: str
    text: str


def excerpts_of(collection: CollectionFolder, topics: Sequence[TypicalTopic]) -> tuple[TypicalExcerpt, ...]:
    """Return at most three excerpts from the topics of an area: of each topic the most typical dialogue, then the next.

    Of several that say the same the first is taken; those of few words come last.

    :param topics: topics of the area, the largest first.
    """
    excerpts = dict[str, TypicalExcerpt]()
    for rows in zip_longest(*(rows for _, _, rows in topics)):
        for (name, terms, _), row in zip(topics, rows, strict=True):
            if row is not None:
                excerpt = _excerpt(collection, name, terms, row)
                excerpts.setdefault(excerpt.text.casefold(), excerpt)
    return tuple(sorted(excerpts.values(), key=lambda excerpt: len(excerpt.text.split()) < FEW_WORDS)[:EXCERPTS])


def _excerpt(collection: CollectionFolder, name: str, terms: Sequence[Term], row: int) -> TypicalExcerpt:
    [dialogue] = collection.dialogues([row])
    [place] = speaking_turns(dialogue, terms, n=1)
    speaker = printable(dialogue.turns[place].speaker, SPEAKER) if dialogue.n_speakers > 1 else ""
    return TypicalExcerpt(dialogue.dialogue_id, place, name, speaker, _cut(dialogue.turns[place].text))


def _cut(text: str) -> str:
    """Return a text on one line; a long one ends after a word, a long word anywhere."""
    line = printable(text)
    short = textwrap.shorten(line, CHARACTERS, placeholder=" …")
    return short if len(short) > CHARACTERS // 2 or len(line) <= CHARACTERS else f"{line[: CHARACTERS - 1]}…"
