"""What is new in the groups of a collection: topics that appeared, grew or shrank, and dialogues that came later."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conversations.files import read_json
from dial2vec.collection.changes.evidence import adjusted, change_words, exact_p
from dial2vec.collection.clustering.clusters import Stored, folder_of
from dial2vec.collection.clustering.partition import assign
from dial2vec.collection.collection_folder import CollectionFolder

# From fine to coarse; the first one that gives at most so many periods is used.
UNITS, MOST_PERIODS = ("D", "W", "M", "Y"), 53
# NumPy's weeks begin on Thursday, the day of 1970-01-01.
THURSDAY = 3
# Grown means: in the last periods with a tenth of the dialogues or 200, against all before; at least 20 on each side.
LATE_SHARE, LATE_DIALOGUES, LEAST = 0.1, 200, 20
# Lines of each kind.
LINES = 3
# A sentence of the last clustering, unless it is on a new cluster, which has a line anyway.
SENTENCE = re.compile(r"Cluster (\d+)\b(?! has appeared)")


@dataclass(frozen=True, slots=True)
class Periods:
    """Equal spans of time from the first dialogue to the last.

    :param names: first day, "2026-03-02", month, "2026-03", or year of each period; empty without dates.
    :param of_rows: period of each dialogue of the collection, -1 without a date, int64.
    """

    names: list[str]
    of_rows: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The dialogues of the last addition.

    :param since: its day, such as "2026-11-20"; None if it was the only one.
    :param count: number of its dialogues.
    """

    since: str | None
    count: int

    @classmethod
    def of(cls, collection: CollectionFolder) -> Arrivals:
        """Return the last addition to a collection."""
        additions = collection.manifest.additions
        return cls(additions[-1].added[:10], additions[-1].dialogues) if len(additions) > 1 else cls(None, 0)


@dataclass(frozen=True, slots=True)
class Changes:
    """Clear changes of clusters, which are named by their places.

    :param since: day, month or year from which on dialogues are compared with those before; None without a comparison.
    :param words: "grew", "shrank", "new" or "gone".
    :param shares: share before and after.
    :param new: clusters that are new by their dates, or that the last clustering added.
    :param added: clusters of the last clustering alone.
    """

    since: str | None
    words: dict[int, str]
    shares: dict[int, tuple[float, float]]
    new: set[int]
    added: set[int]

    def largest(self, words: Sequence[str]) -> list[int]:
        """Return the clusters that changed in one of these ways, the largest difference of shares first."""
        places = [place for place, word in self.words.items() if word in words]
        return sorted(places, key=lambda place: -abs(self.shares[place][1] - self.shares[place][0]))

    @property
    def grew(self) -> dict[int, dict[str, float]]:
        """The share before and after, and their ratio, of each cluster that grew."""
        grown = {place: self.shares[place] for place, word in self.words.items() if word == "grew"}
        return {
            place: {"before": round(before, 4), "after": round(after, 4), "factor": round(after / before, 2)}
            for place, (before, after) in grown.items()
        }


def command_of(collection: CollectionFolder) -> str:
    """Return the command that clusters a collection; without its path, which may name a person."""
    return f"dial2vec cluster {shlex.quote(collection.folder.resolve().name)}"


def periods_of(collection: CollectionFolder) -> Periods:
    """Return the days, weeks, months or years of a collection, at most 53 unless they are years, in UTC."""
    times = collection.times
    dated = ~np.isnat(times)
    if not dated.any():
        return Periods([], np.full(len(times), -1))
    days = times.astype("datetime64[D]")
    for unit in UNITS:
        # A week is named by its Monday.
        shift = np.timedelta64(THURSDAY if unit == "W" else 0, "D")
        numbers = (days + shift).astype(f"datetime64[{unit}]")
        first, last = numbers[dated].min(), numbers[dated].max()
        if (last - first).astype(np.int64) < MOST_PERIODS or unit == UNITS[-1]:
            break
    starts = np.arange(first, last + 1)
    names = (starts.astype("datetime64[D]") - shift if unit == "W" else starts).astype(str).tolist()
    return Periods(names, np.where(dated, (numbers - first).astype(np.int64), -1))


def changes_of(collection: CollectionFolder, stored: Stored, periods: Periods, added: Arrivals) -> Changes:
    """Return which clusters changed clearly: by date, or without dates from the additions before to the last one."""
    since, late = _late(collection, stored, periods, added)
    last = _added_places(collection, stored)
    if since is None:
        return Changes(None, {}, {}, last, last)
    groups = _comparable(collection, stored)
    k = len(stored.clusters.clusters)
    before, after = (np.bincount(groups[late == side], minlength=k) for side in (0, 1))
    four = before, np.full(k, before.sum()), after, np.full(k, after.sum())
    words = change_words(*four, adjusted(exact_p(*four))).tolist()
    shares = zip((before / before.sum()).tolist(), (after / after.sum()).tolist(), strict=True)
    known = {place: word for place, word in enumerate(words) if word}
    return Changes(since, known, dict(enumerate(shares)), {at for at in known if known[at] == "new"} | last, last)


def news_of(
    collection: CollectionFolder,
    stored: Stored,
    changes: Changes,
    added: Arrivals,
    *,
    index: Mapping[int, int],
    names: Sequence[str],
) -> dict[str, Any]:
    """Return the news for JSON: day and number of the last addition, and lines with text, topic and kind.

    :param index: index on the page by the place of a cluster; others have no line of their own.
    :param names: name of each cluster on the page.
    """
    sizes = {place: stored.clusters.clusters[place].size for place in index}
    texts: list[tuple[str, int | None, str]] = []
    for place in [place for place in index if place in changes.new][:LINES]:
        when = "" if place in changes.added else f" since {changes.since}"
        texts.append((f"“{names[place]}” is new{when}: {_many(sizes[place])}", index[place], "new"))
    texts += [(sentence, index.get(place), "new") for sentence, place in _sentences(stored)][:LINES]
    for kind, words in (("grew", ("grew",)), ("shrank", ("shrank", "gone"))):
        for place in [place for place in changes.largest(words) if place in index][:LINES]:
            texts.append((f"“{names[place]}” {kind} from {_from_to(*changes.shares[place])}", index[place], kind))
    if (late := len(collection) - stored.clusters.seen) > 0:
        command = command_of(collection)
        texts.append((f"{_many(late)} came after the topics. {command} sorts them in.", None, "late"))
    lines = [{"text": text, "topic": topic, "kind": kind} for text, topic, kind in texts]
    return {"since": added.since, "added": added.count, "compared": changes.since, "lines": lines}


def _late(
    collection: CollectionFolder, stored: Stored, periods: Periods, added: Arrivals
) -> tuple[str | None, NDArray[np.int64]]:
    """Return the begin of the second side, and the side of each clustered dialogue: 0, 1, or -1 for none."""
    seen = stored.clusters.seen
    dates = periods.of_rows[:seen]
    sizes = np.bincount(dates[dates >= 0], minlength=len(periods.names))
    if len(periods.names) > 1:
        wanted = min(LATE_DIALOGUES, LATE_SHARE * sizes.sum())
        # Dialogues from each period to the last one.
        following = sizes[::-1].cumsum()[::-1]
        start = int(np.flatnonzero(following >= max(wanted, LEAST))[-1]) if following[0] >= LEAST else 0
        since: str | None = periods.names[start]
        sides = np.where(dates < 0, -1, (dates >= start).astype(np.int64))
    else:
        since = added.since
        sides = (np.arange(seen) >= len(collection) - added.count).astype(np.int64)
    enough = min((sides == 0).sum(), (sides == 1).sum()) >= LEAST
    return (since, sides) if enough else (None, sides)


def _comparable(collection: CollectionFolder, stored: Stored) -> NDArray[np.int32]:
    """Return the cluster of each clustered dialogue by one rule for old and new ones, as `changes` does."""
    clusters, state = stored.clusters, stored.state
    if clusters.settled == clusters.seen:
        return state.groups
    return assign(collection.adapted[: clusters.seen], state.centres).groups


def _added_places(collection: CollectionFolder, stored: Stored) -> set[int]:
    """Return the clusters that are not among those before the last clustering, unless people made them by a split."""
    before = read_json(folder_of(collection) / "clusters.json").get("previous")
    if not before:
        return set()
    split = set(stored.state.split_off[:, 0].tolist())
    ids = enumerate(cluster.id for cluster in stored.clusters.clusters)
    return {place for place, id in ids if id >= before["next_id"] and id not in split}


def _sentences(stored: Stored) -> list[tuple[str, int]]:
    """Return the other news of the last clustering, such as that a cluster splits, and the cluster's place or -1."""
    places = {cluster.id: place for place, cluster in enumerate(stored.clusters.clusters)}
    matches = [(sentence, SENTENCE.match(sentence)) for sentence in stored.clusters.news]
    return [(sentence, places.get(int(match[1]), -1)) for sentence, match in matches if match]


def _from_to(before: float, after: float) -> str:
    digits = 1 if 0 < before < 0.02 or 0 < after < 0.02 else 0
    return f"{before:.{digits}%} to {after:.{digits}%}"


def _many(count: int) -> str:
    return f"{count:,} dialogue{'' if count == 1 else 's'}"
