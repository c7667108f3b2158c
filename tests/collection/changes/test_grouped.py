"""Hidden groups, which count but are in no table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dial2vec.collection.changes import compare_groups, groups_over_time, groups_table, standing_out
from dial2vec.collection.clustering.clusters import read_stored, write_clusters
from tests.collection.changes.conftest import call

PHONE, CHAT = {"channel": "phone"}, {"channel": "chat"}
CALLS = [
    *call(0, 30, date="2026-04-10T10:00:00+00:00", metadata=PHONE),
    *call(1, 10, date="2026-04-10T10:00:00+00:00", metadata=CHAT),
    *call(0, 10, date="2026-05-10T10:00:00+00:00", metadata=PHONE),
    *call(1, 30, date="2026-05-10T10:00:00+00:00", metadata=CHAT),
]


@pytest.fixture
def calls(make):
    """Two groups of 40, 10 and 11, of which 11 grew and is hidden."""
    collection = make(CALLS)
    stored = read_stored(collection)
    kept, hidden = stored.clusters.clusters
    write_clusters(
        collection, replace(stored.clusters, clusters=(kept, replace(hidden, hidden=True))), stored.state, decided=True
    )
    return collection


def test_a_hidden_group_is_in_no_table_and_the_shares_of_the_others_stay(calls):
    table = groups_table(calls)
    assert (table.index.tolist(), table["share"].tolist()) == ([10], [0.5])
    assert set(standing_out(calls)["group"]) == {10}
    over_time = groups_over_time(calls, "month")
    assert (set(over_time["group"]), over_time["share"].tolist()) == ({10}, [0.75, 0.25])


def test_a_comparison_does_not_name_a_hidden_group_nor_its_dialogues(calls, make):
    def groups_of(changes):
        return set(changes.dialogues[changes.dialogues["kind"] == "group"]["group"].dropna())

    assert groups_of(compare_groups(make(CALLS, name="shown"), before="2026-05-01")) == {11}
    changes = compare_groups(calls, before="2026-05-01")
    assert changes.groups["group"].dropna().tolist() == [10]
    assert 11 not in changes.metadata["group"].dropna().tolist()
    assert groups_of(changes) == set()
