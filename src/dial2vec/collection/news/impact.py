"""Which topics weigh most: how many conversations, times how much worse they go than all others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from conversations.words import mean, percent, printable
from dial2vec.collection.changes.contrasting import Contrast, contrasts
from dial2vec.collection.changes.facts import Cells, KnownFacts
from dial2vec.collection.clustering.clusters import Cluster

# Names of keys of which little, or much, is bad, the most telling first; and values that mean yes or no.
LOW = re.compile(r"(^|_)(csat|satisf|rating|stars|nps|resolved|solved|success)")
HIGH = re.compile(
    r"(^|_)(unresolved|unsolved|dissatisf|escalat|hand_?over|hand_?off|transfer|reopen|complain|churn|duration|handl|wait)"
)
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
YES, NO = ("true", "yes", "1"), ("false", "no", "0")
# Topics that are listed, and characters of a name.
LISTED, NAME = 5, 60


@dataclass(frozen=True, slots=True)
class Impact:
    """A topic that goes worse than all others.

    :param key: key of the metadata by which it goes badly.
    :param value: bad value whose share is compared; None for a mean.
    :param count: its conversations with this key.
    :param inside: mean, or share of the bad value, in the topic.
    :param outside: mean or share in all others.
    :param weight: `count` times the difference, in units of the key, or in conversations; positive is bad.
    :param low: lower end of the 95 % interval of `weight`.
    :param high: upper end.
    """

    cluster: int
    name: str
    key: str
    value: str | None
    count: int
    inside: float
    outside: float
    weight: float
    low: float
    high: float

    @property
    def sentence(self) -> str:
        """The topic in words: "Lost card: 120 conversations, CSAT 2.1 (others 3.9), 216 in all (170 to 262)"."""
        share = self.value is not None
        written, subject = percent if share else mean, f"{self.value} ({self.key})" if share else self.key
        figures = f"{printable(subject, 40)} {written(self.inside, 0)} (others {written(self.outside, 0)})"
        weight = f"{mean(self.weight)}{' conversations' * share} in all ({mean(self.low)} to {mean(self.high)})"
        return f"{printable(self.name, NAME)}: {self.count:,} conversations, {figures}, {weight}"


def impact(facts: KnownFacts, cells: Cells, clusters: Sequence[Cluster]) -> tuple[Impact, ...]:
    """Return the topics that certainly go worse than all others by the first key that tells, the heaviest first.

    A key tells by its name: of satisfaction little is bad, of handovers or durations much.

    :param cells: topic of each dialogue as its place; -1 leaves a dialogue out.
    """
    own = np.eye(len(clusters), dtype=bool)
    tried = contrasts(facts, cells, ~own, own)
    keys = sorted({item.key for item in tried if _sign(item.key)}, key=lambda key: (_sign(key) > 0, key))
    for key in keys:
        rows = []
        for item in tried:
            value = (item.value or "").lower()
            usable = item.key == key and (item.value is None or value in (YES if _sign(key) > 0 else NO))
            if usable and not clusters[item.pair].hidden:
                rows.append(_weighed(clusters[item.pair], item))
        if rows:
            worse = sorted((row for row in rows if row.low > 0), key=lambda row: -row.weight)
            return tuple(worse[:LISTED])
    return ()


def _sign(key: str) -> int:
    """Return 1 if much is bad, -1 if little is, 0 if the name does not tell."""
    name = "_".join(WORD.findall(key)).lower()
    return -1 if LOW.search(name) else 1 if HIGH.search(name) else 0


def _weighed(cluster: Cluster, item: Contrast) -> Impact:
    compared, sign = item.compared, _sign(item.key) if item.value is None else 1
    n, ends = compared.n_after, sorted(sign * compared.n_after * end for end in (compared.low, compared.high))
    weight, figures = sign * n * (compared.after - compared.before), (compared.after, compared.before)
    return Impact(cluster.id, cluster.name, item.key, item.value, n, *figures, weight, *ends)
