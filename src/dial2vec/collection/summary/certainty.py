"""How sure the groups are, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dial2vec.collection.clustering import Clusters
from dial2vec.collection.summary.rows import shown_name

# Hennig 2007: above 0.75 a cluster is stable, below 0.5 it is dissolved.
STABLE, DISSOLVED = 0.75, 0.5


@dataclass(frozen=True, slots=True)
class Certainty:
    """How sure the groups are.

    :param topics: number of topics.
    :param stable: number of stable topics.
    :param stable_share: share of the dialogues that are in a stable topic, in [0, 1].
    :param unsure: names of the unsure topics, the largest first.
    :param agreement: agreement of the groups with those of half the dialogues, at most 1; 0 is chance.
    """

    topics: int
    stable: int
    stable_share: float
    unsure: tuple[str, ...]
    agreement: float


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
    )
