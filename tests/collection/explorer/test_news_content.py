from __future__ import annotations

from dataclasses import replace

import numpy as np

from conversations.files import read_json, write_checked_json
from dial2vec.collection.clustering.clusters import read_stored, write_clusters
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.explorer.groups_content import groups_content
from tests.collection.changes.conftest import call, in_two_additions
from tests.collection.changes.conftest import make as make

JANUARY, FEBRUARY = {"date": "2026-01-10"}, {"date": "2026-02-10"}


def all_of(collection: CollectionFolder) -> dict:
    return groups_content(collection, np.arange(len(collection)))


def cards(content: dict) -> list[tuple]:
    return [(card["kind"], card["topic"], card["shares"]) for card in content["news"]["cards"]]


def test_a_topic_that_grew_is_told_and_the_other_that_only_looks_smaller_is_not(make):
    # Of 100 dialogues of January 10 are on loans, of 40 of February 20.
    calls = [*call(0, 90, **JANUARY), *call(1, 10, **JANUARY), *call(0, 20, **FEBRUARY), *call(1, 20, **FEBRUARY)]
    content = all_of(make(calls))
    news = content["news"]
    assert (news["since"], news["until"], news["title"]) == ("2026-02-10", "2026-02-10", "10 Feb – 10 Feb")
    assert cards(content) == [("more", 1, ("10%", "50%"))]
    assert (news["others"], news["rest"]) == (1, "The other topic did not change clearly.")
    assert [topic["change"] for topic in content["groups"][1]] == [None, {"kind": "more", "before": 0.1, "after": 0.5}]
    # The last of 31 days.
    assert (news["first_late"], len(news["periods"])) == (31, 32)


def test_a_new_topic_says_how_many_dialogues_it_has_and_since_when(make):
    calls = [*call(0, 100, **JANUARY), *call(0, 10, **FEBRUARY), *call(1, 20, date="2026-02-11")]
    [card] = all_of(make(calls))["news"]["cards"]
    assert (card["kind"], card["shares"], card["count"]) == ("new", ("0%", "67%"), 20)
    assert card["says"] == "20 conversations, all since 11 February"


def test_what_stands_out_after_the_boundary_is_told(make):
    late = [
        *call(0, 20, **FEBRUARY, metadata={"channel": "chat"}),
        *call(1, 30, **FEBRUARY, metadata={"channel": "phone"}),
    ]
    calls = [*call(0, 90, **JANUARY), *call(1, 10, **JANUARY), *late]
    [card] = all_of(make(calls))["news"]["cards"]
    assert card["says"] == "100% by phone (others 0%)"


def test_a_topic_without_dialogues_after_the_boundary_is_gone(make):
    calls = [*call(0, 66, **JANUARY), *call(2, 33, **JANUARY), *call(1, 33, **JANUARY)]
    content = all_of(make([*calls, *call(0, 30, **FEBRUARY), *call(2, 15, **FEBRUARY)], k=3))
    assert cards(content) == [("gone", 2, ("25%", "0%"))] or cards(content) == [("gone", 1, ("25%", "0%"))]


def test_an_area_with_one_topic_changes_as_the_topic_and_others_as_a_whole(make):
    calls = [*call(0, 60, **JANUARY), *call(1, 60, **JANUARY), *call(2, 30, **JANUARY)]
    content = all_of(make([*calls, *call(0, 20, **FEBRUARY), *call(1, 20, **FEBRUARY), *call(2, 60, **FEBRUARY)], k=3))
    areas = {area["name"]: area["change"] for area in content["groups"][0]}
    assert areas == {"money": None, "crime": {"kind": "more", "before": 0.2, "after": 0.6}}


def test_small_shares_have_a_decimal(make):
    calls = [*call(0, 995, **JANUARY), *call(1, 5, **JANUARY), *call(0, 310, **FEBRUARY), *call(1, 32, **FEBRUARY)]
    assert cards(all_of(make(calls))) == [("more", 1, ("0.5%", "9%"))]


def test_no_clear_change_is_an_answer(make):
    calls = [*call(0, 50, **JANUARY), *call(1, 50, **JANUARY), *call(0, 25, **FEBRUARY), *call(1, 25, **FEBRUARY)]
    content = all_of(make(calls))
    assert (cards(content), content["news"]["rest"]) == ([], "No topic changed clearly since 10 February.")


def test_without_dates_the_last_addition_is_compared_with_those_before(make):
    calls = [*call(0, 90), *call(1, 10), *call(0, 20), *call(1, 20)]
    content = all_of(in_two_additions(make(calls), 100))
    assert (content["news"]["title"], content["news"]["first_late"]) == ("since 20 Nov 2026", None)
    assert cards(content) == [("more", 1, ("10%", "50%"))]


def test_few_dialogues_are_not_compared(make):
    news = all_of(make([*call(0, 12, **JANUARY), *call(1, 7, **FEBRUARY)]))["news"]
    assert (news["since"], news["cards"], news["spans"], news["sentences"]) == (None, [], [], [])


def test_the_last_month_and_week_are_ready_if_they_are_other_periods(make):
    days = ("2026-01-10", "2026-05-01", "2026-05-25", "2026-05-30")
    news = all_of(make([one for day in days for one in call(0, 40, date=day) + call(1, 40, date=day)]))["news"]
    assert [span["since"] for span in news["spans"]] == ["2026-05-25", "2026-05-01"]


def later(make, news: tuple[str, ...], *, settled: int) -> dict:
    """The page of three topics after a second clustering."""
    collection = make([*call(0, 5), *call(1, 4), *call(2, 3)], k=3)
    path = collection.folder / "clusters" / "clusters.json"
    record, stored = read_json(path), read_stored(collection)
    write_clusters(collection, replace(stored.clusters, news=news, settled=settled), stored.state)
    write_checked_json(path, read_json(path) | {"previous": record})
    return all_of(collection)


def test_the_last_clustering_is_told_without_numbers_or_options(make):
    news = (
        "Cluster 10 (cards) splits into two now; --from-scratch clusters all dialogues from scratch.",
        "Odd.",
    )
    assert later(make, news, settled=11)["news"]["sentences"] == [
        "“cards” could be two topics now.",
    ]


def test_topics_that_were_made_anew_are_told_in_one_line(make):
    [line] = later(make, ("Cluster 7 (wine) is gone.",), settled=12)["news"]["sentences"]
    assert line.startswith("Topics were found from scratch on ")
    assert "7" not in line.split(" on ")[0]
