from __future__ import annotations

from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from conftest import make_dialogue
from dial2vec.collection.explorer.colouring import GREY, MOST_NAMED, TIMES, _largest, _periods, colourings
from dial2vec.errors import ArtifactError

from .conftest import dialogues_of


def write_clusters(folder, assignment, names):
    (folder / "clusters").mkdir()
    table = pa.table({"dialogue_id": list(assignment), "name": [names[one] for one in assignment.values()]})
    pq.write_table(table, folder / "clusters" / "assignment.parquet")


def test_labels_and_dates_colour_the_points(collection):
    by_label, by_time = colourings(collection, np.arange(40))
    assert (by_label.title, by_label.names, by_label.counts) == ("label", ("cards", "rooms"), (20, 20))
    assert by_label.codes.tolist() == [0, 1] * 20
    assert (by_time.title, by_time.names) == ("time", ("2026-01-01", "2026-02-01", "2026-03-01"))


def test_clusters_are_taken_where_they_are(grow, tmp_path):
    collection = grow(tmp_path / "c", dialogues_of(range(4)))
    write_clusters(tmp_path / "c", {"d0": 5, "d1": 5}, {5: "lost cards"})
    by_cluster = colourings(collection, np.arange(4))[1]
    assert (by_cluster.title, by_cluster.names) == ("cluster", ("lost cards", "no cluster"))
    assert by_cluster.codes.tolist() == [0, 0, 1, 1]
    assert by_cluster.colours[1] == GREY


def test_damaged_clusters_are_named(grow, tmp_path):
    collection = grow(tmp_path / "c", dialogues_of(range(4)))
    write_clusters(tmp_path / "c", {"d0": 5}, {5: "lost cards"})
    (tmp_path / "c" / "clusters" / "assignment.parquet").write_text("[]")
    with pytest.raises(ArtifactError, match="clusters cannot be read"):
        colourings(collection, np.arange(4))


def test_without_labels_and_dates_there_is_one_colour(grow, tmp_path):
    collection = grow(tmp_path / "c", [make_dialogue("a", "x: w1"), make_dialogue("b", "x: w2")])
    [only] = colourings(collection, np.arange(2))
    assert (only.names, only.counts, only.groups) == (("dialogues",), (2,), ())


@given(st.lists(st.sampled_from([f"g{n}" for n in range(40)] + [""]), min_size=1, max_size=200))
@settings(max_examples=50, deadline=None)
def test_the_largest_groups_have_names_and_everybody_counts_once(groups):
    found = _largest("label", groups, missing="none")
    assert sum(found.counts) == len(groups)
    assert len(found.names) <= MOST_NAMED + 1
    assert found.groups == tuple(groups)
    assert len({*zip(found.colours, found.marks, strict=True)}) >= len(found.names) - 1
    sizes = {name: groups.count(name) for name in set(groups) if name}
    named = [name for name in found.names if name in sizes]
    assert all(sizes[name] >= sizes[other] for name in named for other in sizes.keys() - set(named))
    for code, name in zip(found.codes, groups, strict=True):
        assert found.names[code] == name or found.colours[code] == GREY


@given(st.lists(st.datetimes(min_value=datetime(1, 1, 2)) | st.none(), min_size=1, max_size=60))
@settings(max_examples=50, deadline=None)
def test_periods_are_few_and_in_order(moments):
    assume(any(moments))
    found = _periods(pa.chunked_array([pa.array(moments, pa.timestamp("s", tz="UTC"))]).to_pandas())
    assert len(found.names) <= len(TIMES) + 1
    known = sorted((moment, code) for moment, code in zip(moments, found.codes.tolist(), strict=True) if moment)
    codes = [code for _, code in known]
    assert codes == sorted(codes)
