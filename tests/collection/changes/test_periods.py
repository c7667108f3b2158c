from __future__ import annotations

import numpy as np
import pytest

from dial2vec.collection.changes.periods import TooFewError, latest_sides, periods_of

from .conftest import call, in_two_additions


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


@pytest.mark.parametrize(
    ("totals", "start"),
    [
        # A quarter of 120 is 30: the last two days have 20 + 10.
        ([40, 50, 20, 10], "2026-03-03"),
        ([90, 30], "2026-03-02"),
        # The last day alone has 20, but a quarter of 100 is 25.
        ([60, 20, 20], "2026-03-02"),
        # Fewer than 20 come before.
        ([19, 100], None),
        ([10, 10], None),
        ([100], None),
    ],
)
def test_the_second_side_is_late_and_both_have_enough_dialogues(make, totals, start):
    calls = [one for day, n in enumerate(totals) for one in call(0, n, date=f"2026-03-0{day + 1}")]
    rows = np.arange(len(calls) + 1)
    # The last one has no date, and is on no side.
    collection = make([*calls, *call(0)], k=1)
    if start is None:
        with pytest.raises(TooFewError, match="expected 20 on each side"):
            latest_sides(collection, rows)
        return
    since, first, second = latest_sides(collection, rows)
    before = sum(totals[: int(start[-1]) - 1])
    assert (since, first.tolist(), second.tolist()) == (start, [*range(before)], [*range(before, len(calls))])


def test_a_month_and_a_year_have_a_first_day(make):
    calls = [*call(0, 50, date="2020-05-01"), *call(0, 50, date="2026-02-01")]
    assert latest_sides(make(calls, k=1), np.arange(100))[0] == "2026-01-01"


def test_without_dates_the_last_addition_is_the_second_side(make):
    since, first, second = latest_sides(in_two_additions(make(call(0, 140), k=1), 100), np.arange(140))
    assert since == "2026-11-20"
    assert (len(first), second.tolist()) == (100, [*range(100, 140)])
