from __future__ import annotations

import numpy as np

from dial2vec.collection.explorer.content import names_on_map


def named(texts, members, points):
    return names_on_map(texts, [np.array(groups, dtype=np.int16) for groups in members], points.astype(np.float32))


def test_a_group_is_named_where_most_of_it_lies():
    points = np.array([[0, 0], [0.1, 0], [0, 0.1], [9, 9], [9, 0], [9, 0.1]])
    names = named([["A"], ["x", "y"]], [[0] * 6, [0] * 4 + [1] * 2], points)
    assert [(name.text, name.level, name.id, name.size) for name in names] == [
        ("A", 0, 0, 6),
        ("x", 1, 0, 4),
        ("y", 1, 1, 2),
    ]
    assert (names[1].x, names[1].y) == (np.float32(0.1) / 3, np.float32(0.1) / 3)


def test_a_hidden_group_has_no_name_and_its_dialogues_count_nowhere():
    names = named([["A"], ["x", "nobody"]], [[0, -1], [0, -1]], np.zeros((2, 2)))
    assert [(name.text, name.size) for name in names] == [("A", 1), ("x", 1)]


def test_a_name_on_two_levels_stands_on_the_upper_one_and_keeps_the_places_of_the_others():
    names = named([["x", "y"], ["x", "z"]], [[0, 0, 1], [0, 0, 1]], np.zeros((3, 2)))
    assert [(name.text, name.level, name.id) for name in names] == [("x", 0, 0), ("y", 0, 1), ("z", 1, 1)]


def test_an_area_is_named_where_much_of_it_is_near_not_at_its_densest_spot():
    random = np.random.default_rng(0)
    wide, dense = random.normal(scale=3, size=(300, 2)), np.full((40, 2), 40.0)
    names = named([["A"], ["B"], ["x", "y"]], [[0] * 340, [0] * 340, [0] * 300 + [1] * 40], np.vstack([wide, dense]))
    area, fine = names[0], names[-1]
    assert np.hypot(area.x, area.y) < 3
    assert (fine.text, round(fine.x), round(fine.y)) == ("y", 40, 40)


def test_without_groups_there_are_no_names():
    assert named([], [], np.zeros((3, 2))) == []
