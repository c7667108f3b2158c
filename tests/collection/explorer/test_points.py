"""The points near a place, and the points inside an outline: points.js beside slow, obvious answers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .page import Script

NEAR = """(() => { const found = [], grid = new Grid(new Float32Array(places.flat()), low, high);
    grid.each(...box, (point) => found.push(point)); return found; })()"""


@pytest.fixture(scope="module")
def script() -> Script:
    return Script("points")


# Halves are exact as 32-bit floats, too.
halves = st.integers(-20, 20).map(lambda n: n / 2)
place = st.tuples(halves, halves)


@settings(max_examples=150, deadline=None)
@given(places=st.lists(place, min_size=1, max_size=60), one=place, other=place)
def test_the_grid_finds_every_point_of_a_box_once(script, places, one, other):
    low, high = ([pick(axis) for axis in zip(*places, strict=True)] for pick in (min, max))
    left, right = sorted((one[0], other[0]))
    bottom, top = sorted((one[1], other[1]))
    found = script.value(NEAR, places=places, low=low, high=high, box=[left, bottom, right, top])
    inside = {n for n, (x, y) in enumerate(places) if left <= x <= right and bottom <= y <= top}
    assert inside <= set(found)
    assert len(found) == len(set(found))


def test_the_grid_looks_at_few_points_for_a_small_box(script):
    places = [(x, y) for x in range(40) for y in range(40)]
    found = script.value(NEAR, places=places, low=[0, 0], high=[39, 39], box=[9.5, 9.5, 11.5, 11.5])
    assert {places.index((x, y)) for x in (10, 11) for y in (10, 11)} <= set(found)
    assert len(found) <= 16


def test_points_at_one_place_are_all_found(script):
    found = script.value(NEAR, places=[(3, 3)] * 5, low=[3, 3], high=[3, 3], box=[3, 3, 3, 3])
    assert sorted(found) == [0, 1, 2, 3, 4]


SQUARE = [[0, 0], [4, 0], [4, 4], [0, 4]]
# A square with a notch from above.
NOTCH = [[0, 0], [6, 0], [6, 6], [4, 6], [4, 2], [2, 2], [2, 6], [0, 6]]


@pytest.mark.parametrize(
    ("line", "x", "y", "inside"),
    [
        (SQUARE, 2, 2, True),
        (SQUARE, 5, 2, False),
        (SQUARE, -1, 2, False),
        (SQUARE, 2, 5, False),
        (NOTCH, 3, 1, True),
        (NOTCH, 3, 4, False),
        (NOTCH, 1, 4, True),
        (NOTCH, 5, 4, True),
        ([[1, 1], [1, 1], [1, 1]], 1, 1, False),
    ],
)
def test_a_point_is_inside_an_outline_or_outside(script, line, x, y, inside):
    for turned in (line, line[::-1], line[1:] + line[:1]):
        assert script.value("isInside(line, x, y)", line=turned, x=x, y=y) is inside


@settings(max_examples=150, deadline=None)
@given(line=st.lists(place, min_size=3, max_size=3), x=halves, y=halves)
def test_a_triangle_holds_the_points_on_one_side_of_all_its_edges(script, line, x, y):
    edges = [((ax, ay), (bx, by)) for (ax, ay), (bx, by) in zip(line, line[1:] + line[:1], strict=True)]
    sides = [(bx - ax) * (y - ay) - (by - ay) * (x - ax) for (ax, ay), (bx, by) in edges]
    if 0 in sides:
        # On an edge, or in line with it.
        return
    assert script.value("isInside(line, x, y)", line=line, x=x, y=y) is (len({side > 0 for side in sides}) == 1)


def test_colours_become_numbers(script):
    assert script.value("numbersOf('#ff0033')") == [1, 0, 0.2]
