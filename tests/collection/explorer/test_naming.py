from __future__ import annotations

import numpy as np
import pyarrow as pa

from dial2vec.collection.explorer.naming import names_on_map, ranked_groups


def table(areas, names, fine):
    return pa.table({"area": areas, "name": names, "fine": fine})


def test_a_group_is_named_where_most_of_it_lies():
    points = np.array([[0, 0], [0.1, 0], [0, 0.1], [9, 9], [9, 0], [9, 0.1]], dtype=np.float32)
    names = names_on_map(table(["A"] * 6, ["x"] * 4 + ["y"] * 2, ["x"] * 4 + ["y"] * 2), points)
    assert [(name.text, name.level, name.size) for name in names] == [("A", 0, 6), ("x", 1, 4), ("y", 1, 2)]
    assert (names[1].x, names[1].y) == (np.float32(0.1) / 3, np.float32(0.1) / 3)


def test_hidden_groups_have_no_name():
    names = names_on_map(table(["A", None], ["x", None], ["x", None]), np.zeros((2, 2), dtype=np.float32))
    assert [(name.text, name.size) for name in names] == [("A", 1), ("x", 1)]


def test_groups_are_numbered_by_size_and_then_by_name():
    groups = ranked_groups(table(["A"] * 5 + [None], ["y", "y", "x", "x", "z", None], ["y", "y", "x", "x", "z", None]))
    assert [texts for texts, _ in groups] == [["A"], ["x", "y", "z"], ["x", "y", "z"]]
    assert [places.tolist() for _, places in groups[:2]] == [[0, 0, 0, 0, 0, -1], [1, 1, 0, 0, 2, -1]]
    names = names_on_map(table(["A"] * 3, ["x", "y", "y"], ["x", "y", "y"]), np.zeros((3, 2), dtype=np.float32))
    assert [(name.text, name.level, name.id) for name in names] == [("A", 0, 0), ("y", 1, 0), ("x", 1, 1)]


def test_an_area_is_named_where_much_of_it_is_near_not_at_its_densest_spot():
    random = np.random.default_rng(0)
    wide, dense = random.normal(scale=3, size=(300, 2)), np.full((40, 2), 40.0)
    names = names_on_map(
        table(["A"] * 340, ["x"] * 340, ["x"] * 300 + ["y"] * 40), np.vstack([wide, dense]).astype(np.float32)
    )
    area, fine = names[0], names[-1]
    assert np.hypot(area.x, area.y) < 3
    assert (fine.text, round(fine.x), round(fine.y)) == ("y", 40, 40)
