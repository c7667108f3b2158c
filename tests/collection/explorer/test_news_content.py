from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from dial2vec.collection.clustering.clusters import read_stored, write_clusters
from dial2vec.collection.collection_folder import Addition, CollectionFolder, rows_file
from dial2vec.collection.explorer.groups_content import groups_content
from dial2vec.collection.explorer.news_content import periods_of
from tests.collection.changes.conftest import call
from tests.collection.changes.conftest import make as make


def all_of(collection: CollectionFolder) -> dict:
    return groups_content(collection, np.arange(len(collection)))


def texts(content: dict, kind: str) -> list[str]:
    return [line["text"] for line in content["news"]["lines"] if line["kind"] == kind]


def in_two_additions(collection: CollectionFolder, first: int) -> CollectionFolder:
    """Let the dialogues after the first ones be a second addition, of 20 November."""
    manifest = collection.manifest
    (one,) = manifest.additions
    starts = [*collection.rows["byte"].to_pylist(), one.text_bytes]
    import pyarrow.parquet as pq

    for number, part in enumerate((collection.rows[:first], collection.rows[first:])):
        pq.write_table(part, rows_file(collection.folder, number))
    parts = [(first, starts[first]), (one.dialogues - first, one.text_bytes - starts[first])]
    days = ("2026-11-01T08:00:00+00:00", "2026-11-20T08:00:00+00:00")
    additions = tuple(Addition("s", day, *part) for day, part in zip(days, parts, strict=True))
    replace(manifest, additions=additions).write(collection.folder)
    return CollectionFolder(collection.folder)


@pytest.mark.parametrize(
    ("first", "last", "names"),
    [
        ("2026-03-01", "2026-03-03", ["2026-03-01", "2026-03-02", "2026-03-03"]),
        # A Thursday and a Wednesday; weeks begin on Monday.
        ("2026-01-01", "2026-03-04", ["2025-12-29", "2026-01-05", "2026-01-12"]),
        ("2024-11-30", "2026-02-01", ["2024-11", "2024-12", "2025-01"]),
        ("2015-01-01", "2020-01-01", ["2015", "2016", "2017"]),
    ],
)
def test_periods_are_days_weeks_months_or_years(make, first, last, names):
    periods = periods_of(make([*call(0, date=last), *call(0), *call(0, date=first)]))
    assert periods.names[:3] == names
    assert periods.of_rows.tolist() == [len(periods.names) - 1, -1, 0]


def test_a_topic_that_grew_by_its_dates_is_news(make):
    # Of 100 dialogues of January 10 are on loans, of 40 of February 20; the last tenth of 140 are those of February.
    january = {"date": "2026-01-10"}
    calls = [*call(0, 90, **january), *call(1, 10, **january)]
    calls += [*call(0, 20, date="2026-02-10"), *call(1, 20, date="2026-02-10")]
    content = all_of(make(calls))
    assert content["news"]["compared"] == "2026-02-10"
    assert texts(content, "grew") == ["“loans” grew from 10% to 50%"]
    assert texts(content, "shrank") == ["“cards” shrank from 90% to 50%"]
    cards, loans = content["groups"][1]
    assert loans["grew"] == {"before": 0.1, "after": 0.5, "factor": 5}
    assert (cards["grew"], loans["new"]) == (None, False)
    assert [line["topic"] for line in content["news"]["lines"]] == [1, 0]


def test_a_topic_without_dialogues_before_is_new(make):
    calls = [*call(0, 100, date="2026-01-10"), *call(0, 10, date="2026-02-10"), *call(1, 20, date="2026-02-10")]
    content = all_of(make(calls))
    assert texts(content, "new") == ["“loans” is new since 2026-02-10: 20 dialogues"]
    assert [topic["new"] for topic in content["groups"][1]] == [False, True]


def test_a_topic_that_is_gone_shrank_to_nothing(make):
    calls = [*call(0, 99, date="2026-01-10"), *call(1, 33, date="2026-01-10"), *call(0, 32, date="2026-02-10")]
    assert texts(all_of(make(calls)), "shrank") == ["“loans” shrank from 25% to 0%"]


def test_small_shares_have_a_decimal(make):
    calls = [*call(0, 990, date="2026-01-10"), *call(1, 10, date="2026-01-10")]
    content = all_of(make([*calls, *call(0, 108, date="2026-02-10"), *call(1, 12, date="2026-02-10")]))
    assert texts(content, "grew") == ["“loans” grew from 1.0% to 10.0%"]


def test_equal_shares_are_no_news(make):
    calls = [*call(0, 50, date="2026-01-10"), *call(1, 50, date="2026-01-10")]
    content = all_of(make([*calls, *call(0, 25, date="2026-02-10"), *call(1, 25, date="2026-02-10")]))
    assert content["news"]["lines"] == []


def test_without_dates_the_last_addition_is_compared_with_those_before(make):
    calls = [*call(0, 90), *call(1, 10), *call(0, 20), *call(1, 20)]
    content = all_of(in_two_additions(make(calls), 100))
    assert {key: content["news"][key] for key in ("since", "added", "compared")} == {
        "since": "2026-11-20",
        "added": 40,
        "compared": "2026-11-20",
    }
    assert texts(content, "grew") == ["“loans” grew from 10% to 50%"]


def test_few_dialogues_are_not_compared(make):
    calls = [*call(0, 12, date="2026-01-10"), *call(1, 7, date="2026-02-10")]
    content = all_of(make(calls))
    assert (content["news"]["compared"], content["news"]["lines"]) == (None, [])


def test_a_cluster_of_the_last_clustering_is_new_unless_people_split_it_off(make):
    collection = make([*call(0, 5), *call(1, 4), *call(2, 3)], k=3)
    path = collection.folder / "clusters" / "clusters.json"
    record = json.loads(path.read_text())
    # Before, ids up to 10 were given; 11 is of a split.
    stored = read_stored(collection)
    assert stored is not None
    split = stored.state.split_off.copy()
    split[1] = 11, 0
    news = ("Cluster 12 has appeared, with 3 new dialogues.", "Cluster 10 (cards) splits into two now.", "Odd.")
    write_clusters(collection, replace(stored.clusters, news=news), replace(stored.state, split_off=split))
    now = json.loads(path.read_text())
    path.write_text(json.dumps(now | {"previous": record | {"next_id": 11}}))
    content = all_of(collection)
    assert texts(content, "new") == ["“fraud” is new: 3 dialogues", "Cluster 10 (cards) splits into two now."]
    assert [line["topic"] for line in content["news"]["lines"]] == [2, 0]
    assert [topic["new"] for topic in content["groups"][1]] == [False, False, True]
