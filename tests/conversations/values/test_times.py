from __future__ import annotations

import pytest

from conversations.values.times import ClockReading, first_date, is_day_first, order, reading_of, seconds


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


def test_long_numbers_of_spreadsheets_and_spans_of_time_are_read():
    assert seconds("1.709287262E+12", day_first=False) == seconds("1709287262", day_first=False)
    assert order(["1.70928726E9", "1,70928725E9"]) == [1, 0]
    assert [seconds(time, day_first=False) for time in ("1h 2m 5s", "2 min 5 sec", "59s", "1.5s")] == [
        3725,
        125,
        59,
        1.5,
    ]


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


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("٥‏/٣‏/٢٠٢٤، ٣:٠٥ م", "2024-03-05T15:05"),
        ("5/3/2024, 9:29 p. m.", "2024-03-05T21:29"),
        ("5.3.2024 klo 14.05", "2024-03-05T14:05"),
        ("2024. 03. 05. 14:05", "2024-03-05T14:05"),
        ("2024년 3월 5일 오후 3:05", "2024-03-05T15:05"),
        ("2024年3月5日 下午7:02", "2024-03-05T19:02"),
        ("5. März 2024, 10:05", "2024-03-05T10:05"),
        ("2024. március 5., kedd 21:54:36 UTC", "2024-03-05T21:54"),
        ("mar., 5 nov. 2024 10:05", "2024-11-05T10:05"),
        ("5 de marzo de 2024, 10:05 a. m.", "2024-03-05T10:05"),
        ("5 tháng 3, 2024 10:05", "2024-03-05T10:05"),
        ("17-May-20 12:05 PM", "2020-05-17T12:05"),
        ("Mar 5, 2024, 9 PM", "2024-03-05T21:00"),
        ("5/3/2567 19:02", "2024-03-05T19:02"),
        ("2024-03-05 19 h 02 min 15 s", "2024-03-05T19:02"),
        ("20240305101500", "2024-03-05T10:15"),
        ("2024-03-05 10:00:00 EST", "2024-03-05T15:00"),
        ("2024-03-05T10:00:00+01:00[Europe/Berlin]", "2024-03-05T09:00"),
        ("2024-03-05 10:00:00 Europe/Berlin", "2024-03-05T09:00"),
        ("Tue, 05 Mar 2024 10:00:00 +0000 (UTC)", "2024-03-05T10:00"),
    ],
)
def test_times_of_every_language_are_read(time, expected):
    assert str(first_date([time], ClockReading(day_first=True)))[:16] == expected


@pytest.mark.parametrize(
    "time",
    [
        "1.70963E+12",  # a spreadsheet cut it
        "731325600000000000",  # nanoseconds since 2001
        "638452800000000000",  # ticks since the year 1
        "13353000000000000",  # microseconds since 1601
        "۱۴۰۲/۱۲/۱۵، ۱۹:۰۲",  # Persian calendar
        "5 listopada 2024",  # October or November
        "05/03/2024 10:15 foo",  # perhaps a mark of half a day
        "1.2.3",
    ],
)
def test_what_may_mean_something_else_is_no_date(time):
    assert first_date([time], ClockReading(day_first=True)) is None


def test_days_of_a_spreadsheet_are_dates_to_the_minute_or_second():
    assert first_date(["45356.4201", "45356.4167"]) == "2024-03-05T10:00:00+00:00"
    assert first_date(["45356,416678"]) == "2024-03-05T10:00:01+00:00"
    assert first_date(["45356.4201", "12.5"]) is None
    assert first_date(["45356", "45357"]) is None


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (["03/05/2024", "04/05/2024", "05/05/2024"], True),
        (["03/05/2024", "03/06/2024", "03/07/2024"], False),
        (["03/05/2024 10:15"], None),
        (["03/05/2024 10:15 AM", "03/05/2024 1:15 PM"], False),
        (["24-03-05", "24-03-06"], None),
        (["2024-03-05"], False),
    ],
)
def test_the_reading_of_day_and_month_that_makes_sense_counts(times, expected):
    assert is_day_first(times) is expected


def test_a_date_in_two_senses_is_no_date():
    assert first_date(["03/05/2024 10:15"], reading_of([["03/05/2024 10:15"]])) is None
    assert first_date(["05/05/2024 10:15"], reading_of([["05/05/2024 10:15"]])) == "2024-05-05T10:15:00+00:00"
    assert first_date(["03/05/2024"], reading_of([["03/05/2024"]], ["14/05/2024"])) == "2024-05-03T00:00:00+00:00"


def test_the_whole_export_tells_whether_the_newest_turn_is_first():
    assert reading_of([["10:02", "10:02", "10:01"], ["10:05", "10:05"]]).newest_first
    assert not reading_of([["10:01", "10:02"], ["10:01", "10:02"], ["10:02", "10:01"]]).newest_first
    assert not reading_of([["11:58 PM", "11:59 PM", "12:02 AM"]]).newest_first
    assert not reading_of([["23:58", "23:58", "00:01"]]).newest_first


def test_a_clock_with_am_or_pm_that_passes_midnight_is_left_as_it_is():
    assert order(["11:58 PM", "11:59 PM", "12:02 AM", "12:05 AM"]) == [0, 1, 2, 3]
    assert order(["1:05 PM", "11:59 AM"]) == [1, 0]


def test_a_sign_between_thousands_is_no_decimal_point():
    assert order(["900", "5,200", "1,200", "1,012,100"], reading_of([["900", "5,200", "1,200", "1,012,100"]])) == [
        *(0, 2, 1, 3),
    ]
    for decimals in (["0,900", "5,200", "1,200"], ["900.5", "5.200", "1.200"], ["1.200", "2.350"], ["900", "5,20"]):
        assert reading_of([decimals]).thousands == ""


@pytest.mark.parametrize("sign", [",", "."])
def test_grouped_numbers_are_sorted_like_plain_ones(sign):
    numbers = [7, 1500, 999, 12_345, 1_000_000, 1000]
    grouped = [f"{number:,}".replace(",", sign) for number in numbers]
    assert order(grouped, reading_of([grouped])) == order([str(number) for number in numbers])
