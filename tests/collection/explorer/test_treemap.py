"""The rectangles of the treemap."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .page import Script

SCRIPT = Script("list", "filters", "treemap")


def squarified(sizes, place):
    return SCRIPT.value("squarified(sizes, place)", sizes=sizes, place=place)


def test_the_example_of_the_paper():
    # Bruls, Huizing and van Wijk 2000, figure 4: 6, 6, 4, 3, 2, 2, 1 in a rectangle of 6 x 4.
    places = squarified([6, 6, 4, 3, 2, 2, 1], [0, 0, 6, 4])
    assert places[:3] == [[0, 0, 3, 2], [0, 2, 3, 2], [3, 0, pytest.approx(12 / 7), pytest.approx(7 / 3)]]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 1000), min_size=1, max_size=30).filter(any), st.integers(20, 900), st.integers(20, 900))
def test_areas_are_in_proportion_and_nothing_overlaps(sizes, width, height):
    places = squarified(sizes, [5, 7, width, height])
    places += [None] * (len(sizes) - len(places))
    for size, place in zip(sizes, places, strict=True):
        assert (place is None) == (size == 0)
        if place:
            assert place[2] * place[3] == pytest.approx(width * height * size / sum(sizes))
    shown = [place for place in places if place]
    for at, (x, y, w, h) in enumerate(shown):
        assert 5 - 1e-6 <= x <= x + w <= 5 + width + 1e-6
        assert 7 - 1e-6 <= y <= y + h <= 7 + height + 1e-6
        for left, top, wide, high in shown[:at]:
            assert min(x + w, left + wide) - max(x, left) < 1e-6 or min(y + h, top + high) - max(y, top) < 1e-6
