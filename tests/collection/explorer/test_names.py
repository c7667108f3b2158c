"""Where names.js puts the names of areas and topics on the map."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .page import Script

VIEW = [800, 600]
PLACED = "placedNames(names, view, zoom, blocked).map(({ name, box }) => ({ place: names.indexOf(name), box }))"


@pytest.fixture(scope="module")
def script() -> Script:
    return Script("names")


def name(x, y, *, level=0, width=100, height=20):
    return {"level": level, "x": x, "y": y, "width": width, "height": height}


def placed(script, names, *, zoom=1, blocked=()):
    found = script.value(PLACED, names=names, view=VIEW, zoom=zoom, blocked=list(blocked))
    return {one["place"]: one["box"] for one in found}


def overlap(one, other) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def test_a_name_stands_around_its_place(script):
    assert placed(script, [name(400, 300)]) == {0: [350, 290, 450, 310]}


def test_of_two_names_at_one_place_the_more_important_one_is_shown(script):
    assert set(placed(script, [name(400, 300), name(440, 310), name(600, 300)])) == {0, 2}


@pytest.mark.parametrize(("x", "shown"), [(500, False), (503, False), (504, True), (520, True)])
def test_between_two_names_there_is_a_gap(script, x, shown):
    assert (1 in placed(script, [name(400, 300), name(x, 300)])) is shown


@pytest.mark.parametrize("place", [(49, 300), (751, 300), (400, 9), (400, 591)])
def test_a_name_that_the_edge_would_cut_is_left_out(script, place):
    assert placed(script, [name(*place)]) == {}


def test_no_name_covers_a_button(script):
    assert set(placed(script, [name(100, 100), name(400, 300)], blocked=[[90, 90, 110, 110]])) == {1}


def test_areas_give_way_to_topics_and_topics_to_fine_topics(script):
    levels = [name(100, 100 * n + 100, level=n) for n in range(3)]
    shown = {zoom: set(placed(script, levels, zoom=zoom)) for zoom in (1, 4, 20)}
    assert 0 in shown[1]
    assert 2 not in shown[1]
    assert 0 not in shown[20]
    assert 2 in shown[20]


numbers = st.floats(-50, 850, allow_nan=False)
names = st.lists(
    st.builds(name, numbers, numbers, level=st.integers(0, 2), width=st.integers(1, 300), height=st.integers(8, 40)),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(names=names, zoom=st.floats(1, 400), blocked=st.lists(st.just([700, 0, 800, 120]), max_size=1))
def test_names_never_overlap_at_any_zoom(script, names, zoom, blocked):
    boxes = placed(script, names, zoom=zoom, blocked=blocked)
    assert not any(overlap(one, other) for one, other in combinations([*boxes.values(), *blocked], 2))
    assert all(left >= 0 and top >= 0 and right <= 800 and bottom <= 600 for left, top, right, bottom in boxes.values())
    # The first name that fits into the view at this zoom is always shown.
    assert boxes or not names or not placed(script, names[:1], zoom=zoom, blocked=blocked)
