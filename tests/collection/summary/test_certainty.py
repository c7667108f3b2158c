from __future__ import annotations

from dataclasses import replace

import pytest

from dial2vec.collection.clustering import read_clusters
from dial2vec.collection.summary.summary import certainty_of, how_sure


@pytest.mark.parametrize(
    ("stability", "words"), [(1, "stable"), (0.76, "stable"), (0.75, "fair"), (0.5, "fair"), (0.49, "unsure")]
)
def test_the_words_follow_hennigs_limits(stability, words):
    assert how_sure(stability) == words


def test_topics_are_counted_with_their_dialogues(calls):
    clusters, _ = read_clusters(calls)
    # Of cards, loans and fraud.
    stabilities = (0.9, 0.4, 0.6)
    groups = (replace(one, stability=value) for one, value in zip(clusters.clusters, stabilities, strict=True))
    clusters = replace(clusters, clusters=tuple(groups), agreement=0.7)
    topics = [{"id": 10, "name": "cards", "size": 60}, {"id": 12, "name": "fraud", "size": 30}]
    topics.append({"id": 11, "name": "loans", "size": 10})
    certainty = certainty_of(clusters, topics, n=100)
    assert (certainty.topics, certainty.stable, certainty.stable_share) == (3, 1, 0.6)
    assert certainty.unsure == ("loans",)
    assert certainty.agreement == 0.7
