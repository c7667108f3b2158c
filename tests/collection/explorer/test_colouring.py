from __future__ import annotations

from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from conftest import make_dialogue
from dial2vec.collection.explorer.colouring import GREY, MOST_NAMED, TIMES, _largest, _periods, _ranges, colourings
from dial2vec.errors import ArtifactError

from .conftest import dialogues_of


def write_clusters(folder, assignment, names):
    (folder / "clusters").mkdir()
    table = pa.table({"dialogue_id": list(assignment), "name": [names[one] for one in assignment.values()]})
    pq.write_table(table, folder / "clusters" / "assignment.parquet")


def test_labels_and_dates_colour_the_points(collection):
    by_label, by_time, *_ = colourings(collection, np.arange(40))
    assert (by_label.title, by_label.names, by_label.counts) == ("label", ("cards", "rooms"), (20, 20))
    assert by_label.codes.tolist() == [0, 1] * 20
    assert (by_time.title, by_time.names) == ("time", ("2026-01-01", "2026-02-01", "2026-03-01"))


def test_categories_and_numbers_of_the_metadata_colour_the_points(collection):
    by_channel, by_wait = colourings(collection, np.arange(40))[2:]
    assert (by_channel.title, by_channel.names) == ("channel", ("chat", "phone", "no channel"))
    assert by_channel.counts == (10, 10, 20)
    assert by_channel.codes[:4].tolist() == [1, 2, 0, 2]
    assert (by_wait.title, by_wait.names[0], by_wait.names[-2:]) == ("wait", "0 to 2", ("36 to 38", "no wait"))
    assert by_wait.counts == (2,) * 10 + (20,)
    assert by_wait.groups == by_channel.groups == ()
    assert [way.title for way in colourings(collection, np.array([1, 3]))] == ["label", "time"]


@given(st.lists(st.floats(-1e300, 1e300) | st.just(float("nan")) | st.integers(0, 3).map(float), min_size=1))
@settings(max_examples=50, deadline=None)
def test_ranges_are_few_and_in_order(numbers):
    numbers = np.array(numbers)
    assume(not np.isnan(numbers).all())
    ranges = _ranges("wait", numbers)
    assert sum(ranges.counts) == len(numbers)
    assert min(ranges.counts) > 0
    assert len(ranges.names) <= len(TIMES) + 1
    codes = ranges.codes[np.argsort(numbers, kind="stable")].tolist()
    assert codes == sorted(codes)


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
