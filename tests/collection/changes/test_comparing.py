from __future__ import annotations

import numpy as np
import pytest

from conversations.files import read_json, write_checked_json
from dial2vec.collection import Collection
from dial2vec.collection.changes import compare_groups
from dial2vec.collection.changes.evidence import newcombe
from dial2vec.collection.search.filters import Filters
from dial2vec.errors import ArtifactError, CorpusError

from .conftest import call

APRIL, MAY = "2026-04-10", "2026-05-10"
# Fraud is new with 30 of 60. Cards and loans have 40 and 10 of 50, then 20 and 10: without fraud no clear change.
CALLS = [
    *call(0, 40, date=APRIL, metadata={"channel": "phone", "csat": 4}, text="my card is lost"),
    *call(1, 10, date=APRIL, metadata={"channel": "phone", "csat": 4}, text="a loan please"),
    *call(0, 20, date=MAY, metadata={"channel": "chat", "csat": 2}, text="my phone wallet is lost"),
    *call(1, 10, date=MAY, metadata={"channel": "phone", "csat": 4}, text="a loan please"),
    *call(2, 30, date=MAY, metadata={"channel": "phone", "csat": 4}, text="somebody stole money"),
]


@pytest.fixture
def changes(make):
    return compare_groups(make(CALLS, k=3), before="2026-05-01", after="2026-05-01")


def test_groups_have_counts_shares_and_an_interval(changes):
    assert (changes.n_before, changes.n_after) == (50, 60)
    table = changes.groups.dropna(subset="group").set_index("name")
    assert table.index.tolist()[:2] == ["fraud", "cards"]
    assert table["change"].to_dict() == {"fraud": "new", "cards": "", "loans": ""}
    assert table.loc["cards", ["size_before", "size_after", "n_before", "n_after"]].tolist() == [40, 20, 50, 60]
    assert table.loc["cards", ["before", "after"]].tolist() == pytest.approx([0.8, 1 / 3])
    low, high = newcombe(40, 50, 20, 60)
    assert table.loc["cards", ["low", "high"]].tolist() == pytest.approx([float(low), float(high)])


def test_p_counts_the_groups_and_the_three_tables(changes):
    table = changes.groups
    smallest = table["p"].min()
    # Three groups, and dialogues far from all of them; three tables.
    assert table.loc[table["p"] == smallest, "p_adjusted"].iloc[0] <= 4 * 3 * smallest
    assert (table["p_adjusted"] >= np.minimum(1, 3 * table["p"])).all()


def test_metadata_changed_in_all_dialogues_and_within_a_group(changes):
    table = changes.metadata
    everywhere, cards = table[table["group"].isna()], table[table["group"] == 10]
    assert set(everywhere["key"]) == {"channel", "csat"}
    chat = cards[cards["value"] == "chat"].iloc[0]
    assert chat[["n_before", "n_after", "before", "after", "change"]].tolist() == [40, 20, 0, 1, "new"]
    csat = cards[cards["key"] == "csat"].iloc[0]
    assert csat[["before", "after", "difference"]].tolist() == pytest.approx([4, 2, -2])
    assert csat["change"] == "fell"
    assert (table["group"].fillna(10) == 10).all()


def test_terms_changed_within_the_group_that_says_them(changes):
    table = changes.terms.set_index("term")
    assert set(table["group"]) == {10}
    assert table.loc["card", ["before", "after", "change"]].tolist() == [1, 0, "gone"]
    assert "lost" not in table.index


def test_dialogues_show_each_change_on_the_side_that_has_more(changes):
    table = changes.dialogues
    fraud = table[(table["kind"] == "group") & (table["name"] == "fraud")]
    assert fraud["side"].tolist() == ["after"] * 3
    assert {int(one.removeprefix("calls-")) for one in fraud["dialogue_id"]} <= set(range(80, 110))
    assert set(table[table["kind"] == "group"]["name"]) == {"fraud"}
    wallet = table[(table["kind"] == "metadata") & (table["group"] == 10) & (table["what"] == "channel = chat")]
    assert {int(one.removeprefix("calls-")) for one in wallet["dialogue_id"]} <= set(range(50, 70))
    assert table[(table["kind"] == "term") & (table["what"] == "card")]["side"].tolist() == ["before"] * 3


def test_without_dates_the_latest_quarter_is_compared(make, changes):
    latest = compare_groups(make(CALLS, k=3, name="same"))
    assert (latest.since, latest.n_before, latest.n_after) == ("2026-05-10", 50, 60)
    assert latest.groups.equals(changes.groups)
    with pytest.raises(CorpusError, match="has too few dialogues to compare the latest with those before; expected 20"):
        compare_groups(make(CALLS[:60], name="few", k=2))


def test_dates_end_the_periods(make):
    changes = compare_groups(
        make(CALLS, k=3), before="2026-04-10T00:00:01", after=MAY, since=APRIL, until="2026-05-10T00:00:01"
    )
    assert (changes.n_before, changes.n_after) == (50, 60)


def test_dates_dealt_out_by_chance_are_rarely_a_change(make):
    rng = np.random.default_rng(11)
    claims = 0
    for number in range(20):
        calls = [
            {"topic": int(rng.integers(3)), "date": (APRIL, MAY)[int(rng.integers(2))]}
            | {
                "metadata": {
                    "csat": int(rng.integers(1, 6)),
                    "channel": ("phone", "chat", "mail")[int(rng.integers(3))],
                }
            }
            | {"text": " ".join(f"w{'abcdefgh'[at]}{'abcdefgh'[at]}" for at in rng.integers(8, size=4))}
            for _ in range(120)
        ]
        changes = compare_groups(make(calls, name=f"c{number}", k=3), before="2026-05-01")
        tables = changes.groups, changes.metadata, changes.terms
        claims += any((table["change"] != "").any() for table in tables)
    # At 5 %, more than 3 of 20 have a probability of 1.6 %.
    assert claims <= 3


def test_a_second_collection_goes_to_the_groups_of_the_first(make):
    first, second = make(CALLS[:50], k=2), make(CALLS[50:80], name="more", k=0)
    changes = compare_groups(first, second)
    assert (changes.n_before, changes.n_after) == (50, 30)
    cards = changes.groups[changes.groups["group"] == 10].iloc[0]
    assert cards[["size_before", "size_after", "change"]].tolist() == [40, 20, ""]


def test_dialogues_of_an_unknown_topic_are_far_from_every_group(make):
    first, second = make([*call(0, 60), *call(1, 60)]), make([*call(0, 40), *call(3, 30)], name="more", k=0)
    far = compare_groups(first, second).groups.iloc[-1]
    assert far["name"] == "far from every group"
    assert far["size_before"] <= 3
    assert 30 <= far["size_after"] <= 34
    assert far["change"] in ("grew", "new")


def test_filters_and_keys_choose_what_is_compared(make):
    changes = compare_groups(
        make(CALLS, k=3), before="2026-05-01", keys=["csat"], filters=Filters(where=("channel == phone",))
    )
    assert (changes.n_before, changes.n_after) == (50, 40)
    assert changes.metadata.empty
    assert changes.metadata.columns.tolist()[:4] == ["group", "name", "key", "value"]


@pytest.mark.parametrize(
    ("dates", "message"),
    [
        ({"before": "soon"}, "'soon' is no date; expected one such as 2026-03-04"),
        ({"before": "2026-05-02", "after": "2026-05-01"}, "--before 2026-05-02 is later than --after 2026-05-01"),
        ({"before": "2026-01-01"}, r"has no dialogue before 2026-01-01 \(the dates are from 2026-04-10"),
        ({"after": "2027-01-01"}, "has no dialogue from 2027-01-01 on .*; expected dialogues on both sides"),
        ({"before": "2026-05-01", "keys": ["cast"]}, "has metadata 'cast'; expected one of"),
        ({"before": "2026-05-01", "filters": Filters(where=("cast > 1",))}, "has metadata 'cast'"),
    ],
)
def test_what_cannot_be_compared_is_refused(make, dates, message):
    with pytest.raises(CorpusError, match=message):
        compare_groups(make(CALLS, k=3), **dates)


def test_no_dates_no_groups_and_an_empty_collection_are_refused(make):
    undated = make([*call(0, 5), *call(1, 5)], name="undated")
    with pytest.raises(CorpusError, match=r"no dialogue of .* has a date"):
        compare_groups(undated, before="2026-05-01")
    with pytest.raises(ArtifactError, match="has no groups"):
        compare_groups(make(CALLS, k=0), before="2026-05-01")
    with pytest.raises(CorpusError, match="has no dialogue that passes the filters"):
        compare_groups(
            make([*call(0, 5, metadata={"a": 1}), *call(1, 5)], name="some"),
            make(call(0, 5, metadata={"a": 2}), name="other", k=0),
            filters=Filters(where=("a < 2",)),
        )


def test_collections_of_two_encoders_are_refused(make):
    second = make(CALLS, name="second", k=0)
    path = second.folder / "collection.json"
    write_checked_json(path, read_json(path) | {"fingerprint": "g"})
    with pytest.raises(CorpusError, match=r"those of other weights or settings of .*; expected one encoder"):
        compare_groups(make(CALLS, k=3), type(second)(second.folder))


def test_a_collection_gives_the_same_tables(make):
    folder = make(CALLS, k=3)
    changes = Collection(folder.folder).compare(before="2026-05-01")
    expected = compare_groups(folder, before="2026-05-01")
    assert changes.groups.equals(expected.groups)
    assert len(changes.groups)
