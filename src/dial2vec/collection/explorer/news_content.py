"""What the page says is new: topics that changed clearly, in up to three periods, and news of the last clustering."""

from __future__ import annotations

import re
import shlex
from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from conversations.files import read_json
from conversations.words import from_to
from dial2vec.collection.changes.headline import ClearChange, Headline, day, ready_headlines
from dial2vec.collection.clustering.clusters import Stored, folder_of
from dial2vec.collection.collection_folder import CollectionFolder

# Changes that are told at once, and sentences of the last clustering.
CARDS, LINES = 3, 3
NO_NEWS: dict[str, Any] = {"since": None, "until": None, "cards": [], "others": 0, "first_late": None}
SPLITS = re.compile(r"Cluster (\d+) \(.*\) splits into two")


def command_of(collection: CollectionFolder) -> str:
    """Return the command that clusters a collection; without its path, which may name a person."""
    return f"dial2vec cluster {shlex.quote(collection.folder.resolve().name)}"


@dataclass(frozen=True, slots=True)
class PageGroups:
    """What the page shows.

    :param areas: areas with their `topics`, as indices on the page.
    :param area_places: places of the areas in the clusters, in the order of the page.
    :param topic_places: places of the topics.
    :param periods: first days, months or years of the periods.
    """

    areas: Sequence[Mapping[str, Any]]
    area_places: Sequence[int]
    topic_places: Sequence[int]
    periods: Sequence[str]


def news_of(collection: CollectionFolder, stored: Stored, shown: PageGroups, names: Sequence[str]) -> dict[str, Any]:
    """Return the news for JSON: the latest period, all that are ready as `spans`, and `sentences`.

    :param names: name of each cluster on the page.
    """
    spans = [_span(headline, shown) for headline in ready_headlines(collection)]
    nothing = NO_NEWS | {"changes": [[None] * len(shown.areas), [None] * len(shown.topic_places)]}
    sentences = _sentences(collection, stored, names)
    return (spans[0] if spans else nothing) | {"spans": spans, "sentences": sentences}


def _span(headline: Headline, shown: PageGroups) -> dict[str, Any]:
    """Return a period with the change of each group, None without a clear one, and cards of the largest ones."""
    since, until, changes = headline.since, headline.until, headline.topics
    topics = [_change(changes.get(place)) for place in shown.topic_places]
    # An area with one topic is that topic.
    areas = [
        topics[area["topics"][0]] if len(area["topics"]) == 1 else _change(headline.areas.get(place))
        for area, place in zip(shown.areas, shown.area_places, strict=True)
    ]
    cards = [_card(change, shown.topic_places.index(at)) for at, change in changes.items() if at in shown.topic_places]
    first = sorted(cards, key=lambda card: -abs(card["after"] - card["before"]))[:CARDS]
    start = day(since, until, month="%b")
    return {
        "since": since,
        "until": until or None,
        "title": f"{start} – {day(until, since, month='%b')}" if until else f"since {start}",
        "changes": [areas, topics],
        "cards": [card for card in cards if card in first],
        "more": [card for card in cards if card not in first],
        "others": headline.others,
        "rest": " ".join((headline.rest, *headline.facts)).strip(),
        "first_late": bisect([name.ljust(10, "-") for name in shown.periods], since) - 1 if shown.periods else None,
    }


def _change(change: ClearChange | None) -> dict[str, Any] | None:
    if change is None:
        return None
    return {"kind": change.kind, "before": round(change.before, 4), "after": round(change.after, 4)}


def _card(change: ClearChange, topic: int) -> dict[str, Any]:
    shares = from_to(change.before, change.after)
    return {"topic": topic, "shares": shares, "count": change.count, "says": change.says} | (_change(change) or {})


def _sentences(collection: CollectionFolder, stored: Stored, names: Sequence[str]) -> list[str]:
    """Return the news of the last clustering, and that later dialogues are in no topic yet."""
    record, ids = (
        read_json(folder_of(collection) / "clusters.json"),
        [cluster.id for cluster in stored.clusters.clusters],
    )
    splits = [int(match[1]) for match in map(SPLITS.match, stored.clusters.news) if match]
    before = record.get("previous")
    sentences = [f"“{names[ids.index(id)]}” could be two topics now." for id in splits[:LINES] if id in ids]
    if before and before["fingerprint"] == record["fingerprint"] and stored.base.settled == stored.base.seen:
        made = (folder_of(collection) / (record.get("base") or record)["state"]).stat().st_mtime
        sentences = [f"Topics were found from scratch on {day(datetime.fromtimestamp(made, UTC).isoformat())}."]
    if (late := len(collection) - stored.clusters.seen) > 0:
        sentences.append(
            f"{late:,} conversation{'s' * (late > 1)} came after the topics. {command_of(collection)} sorts them in."
        )
    return sentences
