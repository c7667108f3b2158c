from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dial2vec.evaluation.report.map_names import LINE, ZOOMS, names_of_labels, text_width

SIDE = 1000


def boxes(names, zoom):
    shown = [name for name in names if name.zoom <= zoom]
    return [
        (n.x * zoom - n.width / 2, n.y * zoom - LINE / 2, n.x * zoom + n.width / 2, n.y * zoom + LINE / 2)
        for n in shown
    ]


def overlapping(names, zoom):
    pairs = combinations(boxes(names, zoom), 2)
    return [(a, b) for a, b in pairs if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), labels=st.integers(1, 60), length=st.integers(1, 40))
def test_no_two_names_overlap_at_any_zoom_and_all_stay_on_the_map(seed, labels, length):
    rng = np.random.default_rng(seed)
    points, codes = (
        rng.integers(0, SIDE + 1, (300, 2)),
        np.concatenate([np.arange(labels), rng.integers(0, labels, 300)]),
    )
    names = names_of_labels(points, codes[:300], ["n" * length] * labels, SIDE)
    for zoom in ZOOMS:
        assert overlapping(names, zoom) == []
    for left, upper, right, lower in boxes(names, 1):
        assert left >= 0
        assert upper >= 0
        assert right <= SIDE
        assert lower <= SIDE


def test_a_name_stands_where_most_of_its_points_are():
    points = np.array([[100, 100], [110, 90], [90, 110], [900, 900], [500, 500]])
    first, second = names_of_labels(points, np.array([0, 0, 0, 0, 1]), ["most", "other"], SIDE)
    assert (first.x, first.y) == (100, 100)
    assert (second.x, second.y) == (500, 500)


def test_of_two_names_in_one_place_the_first_stands_and_the_second_waits_for_a_zoom():
    points = np.array([[500, 500], [500, 540]])
    first, second = names_of_labels(points, np.array([0, 1]), ["larger", "smaller"], SIDE)
    assert (first.text, first.zoom) == ("larger", 1)
    assert (second.text, second.zoom) == ("smaller", 2)


def test_names_in_the_same_point_are_never_both_shown():
    points = np.array([[500, 500], [500, 500]])
    assert [name.text for name in names_of_labels(points, np.array([0, 1]), ["one", "two"], SIDE)] == ["one"]


def test_a_long_name_is_shortened_and_wide_characters_are_wider():
    [name] = names_of_labels(np.array([[0, 0]]), np.array([0]), ["a very long name of a label indeed"], SIDE)
    assert len(name.text) <= 24
    assert name.text.endswith("…")
    [name] = names_of_labels(np.array([[0, 0]]), np.array([0]), ["warriors, basketball, court"], SIDE)
    assert name.text == "warriors, basketball"
    assert text_width("請求書") > text_width("abc")
    assert text_width("ABC") > text_width("abc")
