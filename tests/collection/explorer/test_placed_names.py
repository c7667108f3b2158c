"""Which names stand on the map, and where: by V8, without a browser, at any zoom and for any names."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .page import Script

PAGE = {"width": 800, "height": 600, "zoom": 1}
PLACED = (
    "placedNames(names, { ...page, hidden: () => 0 }).map(({ name, box }) => ({ place: names.indexOf(name), box }))"
)
GAP = 4


@pytest.fixture(scope="module")
def script() -> Script:
    return Script("names")


def name(x, y, *, level=0, width=100, height=20, first=False):
    return {"level": level, "x": x, "y": y, "width": width, "height": height, "first": first}


def placed(script, names, *, zoom=1, blocked=()):
    found = script.value(PLACED, names=names, page=PAGE | {"zoom": zoom, "blocked": list(blocked)})
    return {one["place"]: one["box"] for one in found}


def too_close(one, other) -> bool:
    return one[0] < other[2] + GAP and other[0] < one[2] + GAP and one[1] < other[3] + GAP and other[1] < one[3] + GAP


def test_a_name_stands_on_its_place_and_a_quote_beside_it(script):
    assert placed(script, [name(400, 300)]) == {0: [350, 290, 450, 310]}
    [box] = placed(script, [name(400, 300, level=3)]).values()
    assert not (box[0] <= 400 <= box[2] and box[1] <= 300 <= box[3])


def test_of_two_names_at_one_place_the_more_important_one_keeps_it(script):
    boxes = placed(script, [name(400, 300), name(400, 300)])
    assert boxes[0] == [350, 290, 450, 310]


def test_a_name_leaves_points_free_and_a_line_leads_to_its_place(script):
    # A cloud of 100 pixels around the place, of which each pixel is coloured.
    hidden = """([left, top, right, bottom]) => Math.max(Math.min(right, 450) - Math.max(left, 350), 0)
        * Math.max(Math.min(bottom, 350) - Math.max(top, 250), 0)"""
    found = script.value(f"placedNames(names, {{ ...page, hidden: {hidden} }})", names=[name(400, 300)], page=PAGE)
    [one] = found
    left, top, right, bottom = one["box"]
    assert right <= 350 or left >= 450 or bottom <= 250 or top >= 350
    assert one["steps"][-1] == [398, 298, 402, 302]


def test_no_name_lies_on_the_line_of_another_one(script):
    walls = [[100, 200, 700, 290], [100, 310, 700, 400]]
    found = script.value(
        "placedNames(names, { ...page, blocked, hidden: () => 0 })",
        names=[name(400, 300), name(400, 300)], page=PAGE, blocked=walls,
    )  # fmt: skip
    lines = [one["steps"] for one in found]
    assert not any(
        too_close(step, one["box"]) for one, steps in zip(found, reversed(lines), strict=True) for step in steps
    )


def test_an_area_without_a_place_is_tried_first(script):
    # In a gap for two names the larger area may also stand beside its place, the smaller one may not.
    names, walls = [name(400, 300), name(450, 300)], [[0, 0, 800, 285], [0, 330, 800, 600], [0, 0, 280, 600]]
    assert set(placed(script, names, blocked=[*walls, [520, 0, 800, 600]])) == {0, 1}


def test_areas_give_way_to_topics_and_topics_to_fine_topics(script):
    names = [name(100, 100 * n + 100, level=n) for n in range(3)]
    assert [set(placed(script, names, zoom=zoom)) for zoom in (1, 10, 50)] == [{0, 1}, {1, 2}, {2}]
    names[0]["first"] = True
    assert 0 in placed(script, names, zoom=50)


numbers = st.integers(-50, 850)
names = st.lists(
    st.builds(
        name,
        numbers,
        numbers,
        level=st.integers(0, 3),
        width=st.integers(10, 300),
        height=st.integers(8, 40),
        first=st.booleans(),
    ),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(names=names, zoom=st.floats(1, 400), blocked=st.lists(st.just([700, 0, 800, 120]), max_size=1))
def test_names_never_lie_over_each_other_or_over_a_button(script, names, zoom, blocked):
    boxes = placed(script, names, zoom=zoom, blocked=blocked)
    assert not any(too_close(one, other) for one, other in combinations([*boxes.values(), *blocked], 2))
    assert all(left >= 0 and top >= 0 and right <= 800 and bottom <= 600 for left, top, right, bottom in boxes.values())
