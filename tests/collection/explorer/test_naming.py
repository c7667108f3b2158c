from __future__ import annotations

import numpy as np
import pyarrow as pa

from dial2vec.collection.explorer.naming import names_on_map


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
