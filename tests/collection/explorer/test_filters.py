"""Filters and legend: their arithmetic on V8, and what they do in headless Chromium."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from .page import Script
from .test_browser import PHONE, shown
from .test_browser import addresses as addresses
from .test_browser import page as page

in_chromium = pytest.mark.services("chromium")
DAY = timedelta(days=1)


@pytest.fixture(scope="module")
def script() -> Script:
    return Script("filters", "legend")


def bins_of(script, dates):
    return script.value("((found) => found && { ...found, codes: [...found.codes] })(binsOf(dates))", dates=dates)


def day(text: str) -> date:
    return date.fromisoformat(text)


@settings(max_examples=100, deadline=None)
@given(
    first=st.dates(date(1000, 1, 1), date(9000, 1, 1)),
    after=st.lists(st.integers(0, 130) | st.integers(0, 5000) | st.integers(0, 300_000), min_size=1, max_size=40),
)
def test_columns_cover_all_dates_once_without_gaps(script, first, after):
    dates = [first, *(first + days * DAY for days in after)]
    assume(len(set(dates)) > 1)
    found = bins_of(script, [*map(str, dates), ""])
    bins = [(day(one["from"]), day(one["to"])) for one in found["bins"]]
    assert (bins[0][0], bins[-1][1]) == (min(dates), max(dates))
    assert all(one[1] + DAY == other[0] for one, other in pairwise(bins))
    for moment, code in zip(dates, found["codes"], strict=False):
        assert bins[code][0] <= moment <= bins[code][1]
    assert found["codes"][-1] == len(bins)


@pytest.mark.parametrize(
    ("days", "unit", "columns"),
    [
        *((1, "day", 2), (119, "day", 120), (120, "week", 18), (800, "week", 115), (900, "month", 30)),
        *((4000, "quarter", 44), (20_000, "year", 55), (90_000, "10 years", 25)),
    ],
)
def test_columns_are_as_fine_as_120_of_them_allow(script, days, unit, columns):
    found = bins_of(script, ["2020-01-01", str(date(2020, 1, 1) + days * DAY)])
    assert (found["unit"], len(found["bins"])) == (unit, columns)


def test_weeks_begin_on_mondays_and_months_on_the_first(script):
    by_week = bins_of(script, ["2026-01-01", "2026-06-30"])["bins"]
    assert by_week[:2] == [{"from": "2026-01-01", "to": "2026-01-04"}, {"from": "2026-01-05", "to": "2026-01-11"}]
    by_month = bins_of(script, ["2024-01-31", "2026-06-30"])["bins"]
    assert by_month[1] == {"from": "2024-02-01", "to": "2024-02-29"}


@pytest.mark.parametrize("dates", [[], ["", ""], ["2026-01-01", "2026-01-01", ""], ["soon", "2026-01-01"]])
def test_dates_that_fill_no_two_columns_have_no_brush(script, dates):
    assert bins_of(script, dates) is None


def test_a_wrong_date_is_as_none(script):
    assert bins_of(script, ["soon", "2026-01-01", "2026-01-03"])["codes"] == [3, 0, 2]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1)), max_size=50))
@settings(max_examples=50, deadline=None)
def test_groups_are_counted_among_those_of_the_mask(script, rows):
    codes, mask = [code for code, _ in rows], [one for _, one in rows]
    counted = script.value("[...countsOf(codes, mask, 5)]", codes=codes, mask=mask)
    expected = Counter(code for code, one in rows if one)
    assert counted == [expected[code] for code in range(5)]


def test_bars_compare_shares_of_all_with_shares_of_those_shown(script):
    assert script.value("lengthsOf([60, 40], [30, 20])") == [[1, 1], [pytest.approx(2 / 3)] * 2]
    assert script.value("lengthsOf([50, 50], [8, 0])") == [[0.5, 1], [0.5, 0]]
    assert script.value("lengthsOf([3, 1], [0, 0])") == [[1, 0], [pytest.approx(1 / 3), 0]]
    assert script.value("lengthsOf([0], [0])") == [[0, 0]]


@pytest.mark.parametrize("key", ["channel", "constructor", "__proto__", "toString"])
def test_a_second_click_takes_a_value_back(script, key):
    once = script.value("Object.entries(toggled({ wait: ['1'] }, key, 'a'))", key=key)
    assert once == [["wait", ["1"]], [key, ["a"]]]
    twice = "Object.entries(toggled(toggled(toggled({ wait: ['1'] }, key, 'a'), key, 'b'), key, 'a'))"
    assert script.value(twice, key=key) == [["wait", ["1"]], [key, ["b"]]]
    back = "Object.entries(toggled(toggled({ wait: ['1'] }, key, 'a'), key, 'a'))"
    assert script.value(back, key=key) == [["wait", ["1"]]]


WEEK = [{"from": f"2026-01-{n:02d}", "to": f"2026-01-{n + 1:02d}"} for n in range(1, 20, 2)]


@pytest.mark.parametrize(
    ("span", "columns"),
    [
        *((None, [0, 9]), (["2026-01-01", "2026-01-02"], [0, 0]), (["2026-01-04", "2026-01-07"], [1, 3])),
        *((["2025-01-01", "2027-01-01"], [0, 9]), (["2027-01-01", "2027-02-01"], [9, 9])),
        *((["2020-01-01", "2020-02-01"], [0, 0]), (["2026-01-09", "2026-01-03"], [1, 4])),
    ],
)
def test_a_span_chooses_the_columns_that_it_touches(script, span, columns):
    assert script.value("rangeOf(bins, span)", bins=WEEK, span=span) == columns


@pytest.mark.parametrize(
    ("drag", "to", "columns"),
    [
        ({"end": 0, "bin": 2, "held": False, "range": [2, 5]}, 4, [4, 5]),
        ({"end": 0, "bin": 2, "held": False, "range": [2, 5]}, 8, [5, 5]),
        ({"end": 1, "bin": 5, "held": False, "range": [2, 5]}, 0, [2, 2]),
        ({"end": -1, "bin": 7, "held": False, "range": [0, 9]}, 3, [3, 7]),
        ({"end": -1, "bin": 3, "held": True, "range": [2, 5]}, 6, [5, 8]),
        ({"end": -1, "bin": 3, "held": True, "range": [2, 5]}, 9, [6, 9]),
        ({"end": -1, "bin": 3, "held": True, "range": [2, 5]}, 0, [0, 3]),
    ],
)
def test_a_drag_moves_an_end_or_both_or_chooses_others(script, drag, to, columns):
    assert script.value("draggedRange(drag, to, 9)", drag=drag, to=to) == columns


@pytest.mark.parametrize(
    ("days", "texts"),
    [
        *((5, []), (60, ["Feb", "Mar"]), (143, ["Feb", "Mar", "Apr", "May"])),
        (4000, ["2021", "2023", "2025", "2027", "2029"]),
    ],
)
def test_the_axis_names_the_first_column_of_a_month_or_year(script, days, texts):
    dates = ["2020-01-10", str(date(2020, 1, 10) + days * DAY)]
    assert [tick["text"] for tick in script.value("ticksOf(binsOf(dates).bins)", dates=dates)] == texts


def test_where_a_range_of_numbers_begins_is_short(script):
    names = ["3", "16.1 to 25", "128.8 to 195", "2019", "-5 to -1", "1750000000000 to 1760000000000"]
    assert script.value("names.map(tickOf)", names=names) == ["3", "16.1", "129", "2019", "-5", "1.75T"]


def test_faint_is_between_grey_and_the_page(script):
    assert script.value("mixed('#000000', '#ffffff', 0.5)") == "#808080"
    assert script.value("mixed('#8b949e', '#14171a', 0)") == "#8b949e"


def filters(page):
    page.click("#filter")
    page.until("document.querySelectorAll('#filters .key').length > 1")


def values(page, key):
    """Names, counts and states of the values of a key."""
    return page.value(
        f"""[...document.querySelector('#filters [aria-label="{key}"]').children].map((one) => [
        one.firstChild.textContent, one.querySelector(':scope > .number').textContent, one.ariaPressed])"""
    )


def click_value(page, key, place):
    page.click(f'#filters [role=group][aria-label="{key}"] button:nth-child({place})')


@in_chromium
def test_a_value_of_a_histogram_is_a_condition_and_everything_follows(page):
    filters(page)
    assert values(page, "channel") == [["chat", "10", "false"], ["phone", "10", "false"], ["no channel", "20", "false"]]
    click_value(page, "channel", 1)
    assert shown(page) == [f"d{n}" for n in range(2, 40, 4)]
    assert values(page, "label") == [["cards", "10 of 20", "false"], ["rooms", "0 of 20", "false"]]
    # The other values of the key can still be added.
    assert values(page, "channel")[:2] == [["chat", "10", "true"], ["phone", "10", "false"]]
    click_value(page, "channel", 2)
    assert len(shown(page)) == 20
    click_value(page, "label", 2)
    assert shown(page) == []
    assert [count for _, count, _ in values(page, "channel")] == ["0 of 10", "0 of 10", "20"]
    page.click("#filters [aria-label='Any label']")
    page.click("#filters [aria-label='Any channel']")
    assert len(shown(page)) == 40
    assert page.value("location.hash") == "#panel=filters"


@in_chromium
def test_numbers_are_columns_and_those_without_one_a_bar(page):
    filters(page)
    rows = page.value("[...document.querySelectorAll('#filters .columns > *')].map((one) => one.className)")
    assert rows == ["column"] * 10 + ["choice"]
    click_value(page, "wait", 3)
    assert shown(page) == ["d8", "d10"]


@in_chromium
def test_a_dialogue_with_no_value_can_be_asked_for(page):
    filters(page)
    click_value(page, "channel", 3)
    assert shown(page) == [f"d{n}" for n in range(1, 40, 2)]


@in_chromium
def test_the_brush_chooses_days_by_drag_and_clears_by_double_click(page):
    filters(page)

    def at(column):
        # The line of conditions moves the panel when it comes and goes.
        box = page.value("document.querySelector('.brush').getBoundingClientRect().toJSON()")
        return box["left"] + (column + 0.5) / 60 * box["width"], box["top"] + box["height"] / 2

    assert page.value("explorer.parts.find((part) => part.brush).brush.bins.length") == 60
    page.drag([at(24), at(30), at(37)])
    assert page.value("explorer.state.span") == ["2026-01-25", "2026-02-07"]
    assert shown(page) == [f"d{n}" for n in range(40) if n % 3 == 1]
    # A drag of the chosen part moves both ends.
    page.drag([at(30), at(40), at(52)])
    assert page.value("explorer.state.span") == ["2026-02-16", "2026-03-01"]
    page.click(at(0))
    assert page.value("explorer.state.span") == ["2026-01-01", "2026-01-01"]
    page.click("#filters .key-head button")
    assert page.value("explorer.state.span") is None
    page.click(at(0))
    page.value("document.querySelector('.brush').dispatchEvent(new MouseEvent('dblclick', { bubbles: true }))")
    assert page.value("explorer.state.span") is None


@in_chromium
def test_the_brush_works_by_keys_and_says_its_dates(page):
    filters(page)
    page.value("document.querySelector('.handle.from').focus()")
    said = """['aria-label', 'aria-valuenow', 'aria-valuemax', 'aria-valuetext'].map(
        (name) => document.activeElement.getAttribute(name))"""
    assert page.value(said) == ["From", "0", "59", "2026-01-01"]
    page.key("ArrowRight")
    assert page.value(said) == ["From", "1", "59", "2026-01-02"]
    page.until("explorer.state.span?.[0] === '2026-01-02'")
    assert len(shown(page)) == 26
    page.key("ArrowLeft")
    page.until("explorer.state.span === null")


@in_chromium
def test_arrow_keys_go_through_the_values_of_a_key(page):
    filters(page)
    stops = "document.querySelectorAll('#filters [aria-label=channel] [tabindex=\"0\"]').length"
    page.value("document.querySelector('#filters [role=group][aria-label=channel] button').focus()")
    page.key("ArrowDown")
    assert page.value("document.activeElement.querySelector('span').textContent") == "phone"
    assert page.value(stops) == 1
    page.key("Enter")
    assert page.value("explorer.state.filters") == {"channel": ["phone"]}
    assert page.value("document.activeElement.querySelector('span').textContent") == "phone"


@in_chromium
def test_the_legend_has_the_same_conditions(page):
    page.click("#legend button")
    assert page.value("explorer.state.filters") == {"label": ["cards"]}
    assert page.value("[...document.querySelectorAll('#legend button')].map((one) => one.ariaPressed)") == [
        "true",
        "false",
    ]
    filters(page)
    assert values(page, "label")[0] == ["cards", "20", "true"]
    click_value(page, "label", 1)
    assert page.value("document.querySelector('#legend button').ariaPressed") == "false"


@in_chromium
def test_a_key_colours_the_map_and_what_has_no_value_is_faint(page):
    filters(page)
    page.click("#filters [aria-label='Colour the map by channel']")
    assert page.value("document.getElementById('colour-by').value") == "channel"
    assert page.value("[...document.querySelectorAll('#legend button')].map((one) => one.textContent)") == [
        *("chat 10", "phone 10", "no channel 20"),
    ]
    page.until("explorer.map.points.picture.colours[6] > 0.7")  # mixed with white
    page.look(dark=True)
    page.until("explorer.map.points.picture.colours[6] < 0.4")  # mixed with near-black


@in_chromium
@pytest.mark.parametrize("dark", [False, True])
def test_filters_fit_a_telephone(page, dark):
    page.look(PHONE, phone=True, dark=dark)
    page.until("innerWidth === 390")
    filters(page)
    assert page.value("document.documentElement.scrollWidth") == 390
    wide = (
        "[...document.querySelectorAll('#filters *')].filter((one) => one.getBoundingClientRect().right > 391).length"
    )
    assert page.value(wide) == 0
