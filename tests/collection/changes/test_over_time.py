from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dial2vec.collection.changes import groups_over_time
from dial2vec.collection.search.filters import Filters
from dial2vec.errors import ArtifactError, CorpusError

from .conftest import call

# 2026-03-02 is a Monday.
CALLS = [
    *call(0, 8, date="2026-03-02T00:00:00"),
    *call(0, 2, date="2026-03-08T23:59:59"),
    *call(0, 10, date="2026-03-09T00:00:00"),
    *call(1, 30, date="2026-03-10T10:00:00", metadata={"channel": "chat"}),
    *call(1, 5),
]


def test_shares_are_those_of_weeks_that_begin_on_monday(make):
    table = groups_over_time(make(CALLS), "week")
    assert table["group"].tolist() == [10, 10, 11, 11]
    assert table["period"].dt.strftime("%m-%d").tolist() == ["03-02", "03-09"] * 2
    assert table["size"].tolist() == [10, 10, 0, 30]
    assert table["total"].tolist() == [10, 40] * 2
    assert table["share"].tolist() == [1, 0.25, 0, 0.75]


def test_a_period_is_compared_with_all_before_it(make):
    table = groups_over_time(make(CALLS), "week")
    assert table["change"].tolist() == ["", "shrank", "", "new"]
    assert np.isnan(table["before"][0])
    assert np.isnan(table["p_adjusted"][0])
    assert table["before"].tolist()[1::2] == [1, 0]
    assert table["difference"].tolist()[1::2] == [-0.75, 0.75]
    assert table["difference_low"][3] > 0.3
    # Both groups together are tried twice, with the same p.
    assert table["p_adjusted"][3] == pytest.approx(table["p"][3])


def test_days_and_months_are_periods_too_and_empty_ones_are_left_out(make):
    collection = make(CALLS)
    days = groups_over_time(collection, "day")["period"].unique()
    assert days.strftime("%d").tolist() == ["02", "08", "09", "10"]
    months = groups_over_time(collection, "month")
    assert months["period"].tolist() == [pd.Timestamp("2026-03-01")] * 2
    assert months["change"].tolist() == ["", ""]


def test_filters_choose_the_dialogues(make):
    table = groups_over_time(make(CALLS), "week", filters=Filters(where=("channel == chat",)))
    assert table["size"].tolist() == [0, 30]


def test_times_are_in_utc(make):
    table = groups_over_time(make([*call(0, 1, date="2026-03-09T00:30:00+02:00"), *call(1, 1)]), "week")
    assert table["period"][0] == pd.Timestamp("2026-03-02")


def test_old_and_new_dialogues_go_to_groups_by_one_rule(make):
    # Group 10 holds a dialogue that is closer to the centre of group 11. A new dialogue like it goes to 11.
    between = np.array([0.6, 0.8, 0, 0, 0, 0])
    calls = [
        *call(0, 20, date="2026-03-02"),
        *call(0, 1, date="2026-03-02", vector=between),
        *call(1, 20, date="2026-03-02"),
        *call(1, 1, date="2026-03-09", vector=between),
    ]
    table = groups_over_time(make(calls, settled=41), "week")
    assert table["size"].tolist() == [20, 0, 21, 1]


@pytest.mark.parametrize("calls", [call(0, 2) + call(1, 2)])
def test_a_collection_without_dates_is_refused(make, calls):
    with pytest.raises(CorpusError, match=r"no dialogue of \S+ has a date; expected an ISO date"):
        groups_over_time(make(calls), "week")


def test_an_unknown_period_is_refused(make):
    with pytest.raises(CorpusError, match="found periods of 'year'; expected day, week or month"):
        groups_over_time(make(CALLS), "year")


def test_no_groups_are_refused(make):
    with pytest.raises(ArtifactError, match="has no groups"):
        groups_over_time(make(CALLS, k=0), "week")
