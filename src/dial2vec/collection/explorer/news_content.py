"""What the page says is new: topics that changed clearly, in up to three periods, and news of the last clustering."""

from __future__ import annotations

import re
import shlex
from bisect import bisect
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from conversations.files import read_json
from conversations.words import from_to
from dial2vec.collection.changes.headline import ClearChange, Headline, day
from dial2vec.collection.clustering.clusters import Stored, folder_of
from dial2vec.collection.collection_folder import CollectionFolder

# Changes that are told at once, and sentences of the last clustering.
CARDS, LINES = 3, 3
NO_NEWS: dict[str, Any] = {"since": None, "until": None, "cards": [], "others": 0, "first_late": None}
SPLITS = re.compile(r"Cluster (\d+) \(.*\) splits into two")


def command_of(collection: CollectionFolder) -> str:
    """Return the command that clusters a collection; without its path, which may name a person."""
    return f"dial2vec cluster {shlex.quote(collection.folder.resolve().name)}"


def news_of(
    collection: CollectionFolder,
    stored: Stored,
    headlines: Sequence[Headline],
    periods: Sequence[str],
    *,
    index: Mapping[int, int],
    names: Sequence[str],
) -> dict[str, Any]:
    """Return the news for JSON: the first period, all of them as `spans`, and `sentences`.

    :param periods: first days, months or years of the periods of the page.
    :param index: index on the page by the place of a cluster; others are not shown.
    :param names: name of each cluster on the page.
    """
    spans = [_span(headline, periods, index) for headline in headlines]
    sentences = _sentences(collection, stored, names)
    return (spans[0] if spans else NO_NEWS) | {"spans": spans, "sentences": sentences}


def change_of(change: ClearChange) -> dict[str, Any]:
    """Return kind and shares of a clear change for JSON."""
    return {"kind": change.kind, "before": round(change.before, 4), "after": round(change.after, 4)}


def _span(headline: Headline, periods: Sequence[str], index: Mapping[int, int]) -> dict[str, Any]:
    """Return a period with its changes, the largest ones as `cards`."""
    since, until, changes = headline.since, headline.until, headline.topics
    places = [place for place in changes if place in index]
    first = sorted(places, key=lambda place: -abs(changes[place].after - changes[place].before))[:CARDS]
    cards = {
        place: change_of(changes[place])
        | {"topic": index[place], "shares": from_to(changes[place].before, changes[place].after)}
        | {"count": changes[place].count, "says": changes[place].says}
        for place in places
    }
    start = day(since, until, month="%b")
    return {
        "since": since,
        "until": until or None,
        "title": f"{start} – {day(until, since, month='%b')}" if until else f"since {start}",
        "cards": [card for place, card in cards.items() if place in first],
        "more": [card for place, card in cards.items() if place not in first],
        "others": headline.others,
        "rest": " ".join((headline.rest, *headline.facts)).strip(),
        "first_late": bisect([name.ljust(10, "-") for name in periods], since) - 1 if periods else None,
    }


def _sentences(collection: CollectionFolder, stored: Stored, names: Sequence[str]) -> list[str]:
    """Return the news of the last clustering, and that later dialogues are in no topic yet."""
    record, ids = (
        read_json(folder_of(collection) / "clusters.json"),
        [cluster.id for cluster in stored.clusters.clusters],
    )
    before, splits = (
        record.get("previous"),
        [int(match[1]) for match in map(SPLITS.match, stored.clusters.news) if match],
    )
    sentences = [f"“{names[ids.index(id)]}” could be two topics now." for id in splits[:LINES] if id in ids]
    if before and before["fingerprint"] == record["fingerprint"] and stored.base.settled == stored.base.seen:
        made = (folder_of(collection) / (record.get("base") or record)["state"]).stat().st_mtime
        sentences = [f"Topics were found from scratch on {day(datetime.fromtimestamp(made, UTC).isoformat())}."]
    if (late := len(collection) - stored.clusters.seen) > 0:
        sentences.append(
            f"{late:,} conversation{'s' * (late > 1)} came after the topics. {command_of(collection)} sorts them in."
        )
    return sentences
