from __future__ import annotations

import numpy as np
import pytest

from dial2vec.collection.changes import groups_table, standing_out
from dial2vec.collection.search.filters import Filters
from dial2vec.errors import ArtifactError, CorpusError

from .conftest import call


def rated(topic: int, ratings: list[int], channel: str) -> list[dict]:
    return [one for rating in ratings for one in call(topic, metadata={"csat": rating, "channel": channel})]


CALLS = [
    *rated(0, [1, 2] * 10, "phone"),
    *rated(1, [4, 5] * 15, "chat"),
    *call(1, 10),
]


def test_a_group_has_its_size_share_mean_and_spread(make):
    table = groups_table(make(CALLS))
    assert table.index.tolist() == [11, 10]
    assert table.loc[11, ["name", "area", "size", "n.csat"]].tolist() == ["loans", "money", 40, 30]
    assert table["share"].tolist() == pytest.approx([40 / 60, 20 / 60])
    assert table["mean.csat"].tolist() == pytest.approx([4.5, 1.5])
    # 30 values that are 0.5 from their mean: variance 30 · 0.25 / 29.
    assert table.loc[11, "sd.csat"] == pytest.approx((30 * 0.25 / 29) ** 0.5)
    assert table.loc[10, "stands_out"] == "100% by phone (others 0%); csat 1.5 (others 4.5)"


def test_what_stands_out_has_an_interval_and_counts_all_tries(make):
    table = standing_out(make(CALLS))
    phone = table[(table["group"] == 10) & (table["value"] == "phone")].iloc[0]
    assert phone[["n_inside", "n_outside", "inside", "outside", "difference"]].tolist() == [20, 30, 1, 0, 1]
    assert 0.8 < phone["low"] < phone["high"] <= 1
    # Two groups, with two channels and a mean each: 6 tries, all of them clear.
    assert phone["p"] < phone["p_adjusted"] <= 6 * phone["p"]
    # "chat" is rarer in group 10, which is not shown.
    assert table["value"].dropna().tolist() == ["phone", "chat"]
    assert table["difference"].tolist() == pytest.approx([1, -3, 1, 3])


def test_values_dealt_out_by_chance_do_not_stand_out(make):
    rng = np.random.default_rng(5)
    calls = [
        {"topic": int(rng.integers(3)), "metadata": {"a": str(rng.integers(20)), "b": float(rng.lognormal())}}
        for _ in range(300)
    ]
    assert standing_out(make(calls, k=3)).empty


def test_ten_equal_ratings_that_chance_may_well_give_do_not_stand_out(make):
    # 60 of 100 calls are rated 5, and all 10 of a group: chance gives this with p = 0.005, one of 4 tries.
    calls = [*rated(0, [5] * 10, "x"), *rated(1, [5] * 54 + [4] * 18 + [3] * 18, "x")]
    marks = standing_out(make(calls), keys=["csat"])
    assert marks.empty or marks["p"].min() > 0.005


def test_only_dialogues_that_pass_the_filters_count(make):
    table = groups_table(make(CALLS), filters=Filters(where=("csat <= 4",)))
    assert table["size"].tolist() == [20, 15]
    assert table["share"].sum() == pytest.approx(1)


def test_a_group_without_values_has_none(make):
    table = groups_table(make([*call(0, 10, metadata={"csat": 1}), *call(1, 3)]))
    assert table.loc[11, "n.csat"] == 0
    assert np.isnan(table.loc[11, "mean.csat"])


def test_a_collection_without_groups_is_refused(make):
    with pytest.raises(ArtifactError, match=r"has no groups; expected those of `dial2vec cluster .*`\. Run that first"):
        groups_table(make(CALLS, k=0))


def test_an_unknown_key_is_refused(make):
    collection = make(CALLS)
    with pytest.raises(CorpusError, match="has metadata 'cast'; expected one of: channel, csat"):
        groups_table(collection, keys=["cast"])
    with pytest.raises(CorpusError, match="'cast'"):
        groups_table(collection, filters=Filters(where=("cast > 1",)))
