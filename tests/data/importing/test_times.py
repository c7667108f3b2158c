from __future__ import annotations

import pytest

from dial2vec.data.importing.times import first_date, is_day_first, order, reading_of, seconds


def test_times_of_every_usual_form_grow_together():
    forms = [
        "2024-01-02T03:04:05Z",
        "2024-01-02 03:04:06",
        "1704164647",
        "1704164648000",
        "2024-01-02T04:04:09+01:00",
        "Tue, 02 Jan 2024 03:04:10 +0000",
        "2.1.2024 03:04:11",
        "Jan 2, 2024 3:04:12 AM",
        "01/02/2024 03:04:13",
    ]
    found = [seconds(form, day_first=False) for form in forms]
    assert [value - found[0] for value in found] == list(range(9))


def test_a_day_over_twelve_tells_which_number_is_the_month():
    assert is_day_first(["03/04/2024", "13/04/2024"])
    assert not is_day_first(["03/04/2024", "04/13/2024", "2024-13-01"])
    assert seconds("03/04/2024", day_first=True) > seconds("03/04/2024", day_first=False)


@pytest.mark.parametrize(
    "time", ["soon", "nan", "inf", "2024-13-45 10:00", "x" * 10_000, "99999999999999999999:1", "12"]
)
def test_what_is_no_time_is_none_and_never_an_error(time):
    found = seconds(time, day_first=False)
    assert found is None or time == "12"


def test_turns_are_sorted_by_time_and_equal_ones_stay():
    assert order(["10:02", "10:01", "10:02", "10:01"]) == [1, 3, 0, 2]
    assert order(["", ""]) == [0, 1]
    assert order(["10", "9", "8"]) == [2, 1, 0]


def test_an_unreadable_time_matters_only_where_the_others_are_not_in_order():
    assert order(["10:01", "soon", "10:02"]) == [0, 1, 2]
    assert order(["10:02", "soon", "10:01"]) is None
    assert order(["10:02", "", "10:01"]) is None


def test_a_clock_that_passes_midnight_is_left_as_it_is():
    assert order(["23:58", "23:59", "00:01"]) == [0, 1, 2]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (["2026-03-04 10:15", "2026-03-04 10:14"], "2026-03-04T10:14:00+00:00"),
        (["04/03/2026 10:15", "25/03/2026 10:15"], "2026-03-04T10:15:00+00:00"),
        (["2026-03-04T10:15:00+01:00"], "2026-03-04T09:15:00+00:00"),
        (["1772619300", "1772619360"], "2026-03-04T10:15:00+00:00"),
        (["1772619300000"], "2026-03-04T10:15:00+00:00"),
        (["Mar 4, 2026"], "2026-03-04T00:00:00+00:00"),
        (["", "2026-03-04"], "2026-03-04T00:00:00+00:00"),
        (["10:15", "00:01:12.5"], None),
        (["Mar 4 10:15"], None),
        (["1", "2", "3"], None),
        (["12.5", "8000"], None),
        (["", "soon"], None),
        ([], None),
    ],
)
def test_first_date_is_the_earliest_that_says_its_year(times, expected):
    assert first_date(times, reading_of([times])) == expected
