"""Topics by how many conversations they have, times how much worse these go."""

from __future__ import annotations

import numpy as np
import pytest

from dial2vec.collection.changes.facts import KnownFacts, Values
from dial2vec.collection.clustering.clusters import Cluster
from dial2vec.collection.news.impact import impact

N = 120
CELLS = np.repeat([0, 1, 2], N)


def clusters(*hidden: int) -> list[Cluster]:
    return [Cluster(at, f"topic {at}", (), N, 1, 0, 0, (), (), hidden=at in hidden) for at in range(3)]


def numbers(key: str, *means: float) -> KnownFacts:
    noise = np.tile([-1.0, 1.0], 3 * N // 2)
    return KnownFacts({key: np.repeat(means, N) + noise}, [])


def test_little_satisfaction_weighs_by_the_points_that_are_lost():
    [row] = impact(numbers("CSAT", 2, 4, 4), CELLS, clusters())
    assert (row.cluster, row.key, row.count) == (0, "CSAT", N)
    assert (row.inside, row.outside) == pytest.approx((2, 4))
    assert row.weight == pytest.approx(2 * N)
    assert row.low < row.weight < row.high
    assert row.sentence.startswith("topic 0: 120 conversations, CSAT 2.0 (others 4.0), 240 in all (")


def test_long_durations_weigh_and_short_ones_do_not():
    rows = impact(numbers("duration_s", 300, 320, 100), CELLS, clusters())
    assert [row.cluster for row in rows] == [1, 0]
    assert impact(numbers("price", 300, 320, 100), CELLS, clusters()) == ()


def test_handovers_count_as_conversations_and_satisfaction_goes_first():
    codes = np.concatenate([np.arange(N) < 60, np.zeros(2 * N, dtype=bool)]).astype(np.int64)
    escalated = Values("escalated", ["false", "true"], np.arange(3 * N), codes)
    [row] = impact(KnownFacts({}, [escalated]), CELLS, clusters())
    assert (row.key, row.value, row.inside, row.weight) == ("escalated", "true", 0.5, pytest.approx(60))
    assert row.sentence.startswith(
        "topic 0: 120 conversations, true (escalated) 50% (others 0%), 60 conversations in all"
    )
    both = KnownFacts(numbers("csat", 4, 2, 4).numbers, [escalated])
    assert [each.key for each in impact(both, CELLS, clusters())] == ["csat"]


def test_hidden_topics_and_dialogues_without_a_topic_are_left_out():
    assert impact(numbers("CSAT", 2, 4, 4), CELLS, clusters(0)) == ()
    assert impact(numbers("CSAT", 2, 4, 4), np.where(CELLS == 0, -1, CELLS), clusters()) == ()


@pytest.mark.parametrize(
    ("key", "worst"),
    [("CSAT (1-5)", 0), ("firstRating", 0), ("unresolved", 1), ("handlingTime", 1), ("operating_cost", None)],
)
def test_a_key_tells_by_its_whole_words(key, worst):
    rows = impact(numbers(key, 2, 6, 4), CELLS, clusters())
    assert (rows[0].cluster if rows else None) == worst
    assert all("%" not in row.sentence for row in rows)
