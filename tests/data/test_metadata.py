from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dial2vec.data.metadata import kinds_of, packed_metadata, typed, typed_columns, with_fact

VALUES = st.text(min_size=1) | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
ROWS = st.lists(st.dictionaries(st.sampled_from("abc"), VALUES | st.booleans()), max_size=8)


def column_of(*values):
    column = pa.chunked_array([packed_metadata([{} if value is None else {"k": value} for value in values])])
    return column, kinds_of([column]).get("k")


@pytest.mark.parametrize(
    ("values", "kind", "type"),
    [
        ([3, 1, None, 5], "number", pa.int64()),
        ([3, 1.5], "number", pa.float64()),
        (["12", "-7.25", 0], "number", pa.float64()),
        (["0171", "12"], "text", pa.string()),
        (["1" * 16], "text", pa.string()),
        ([True, False], "category", pa.bool_()),
        ([True, 1, True, 1], "category", pa.string()),
        (["phone", "chat", "phone", "phone"], "category", pa.string()),
        (["phone", "chat"], "text", pa.string()),
        ([f"team {n % 101}" for n in range(1000)], "text", pa.string()),
        (["2026-03-04", "2026-03-04T10:15:00+01:00"], "time", pa.timestamp("us", tz="UTC")),
        (["20260304", "20260305"], "number", pa.int64()),
        (["2026-03-04", "soon"], "text", pa.string()),
    ],
)
def test_the_kind_follows_from_all_values(values, kind, type):
    _, evidence = column_of(*values)
    assert (evidence.kind, evidence.type) == (kind, type)


def test_values_are_converted_to_the_type_of_their_key():
    moment = datetime(2026, 3, 4, 9, 15, tzinfo=UTC)
    for values, converted in [
        (["12", None, -7.5], [12.0, None, -7.5]),
        ([2**60 + 1, 0.5], [float(2**60), 0.5]),
        (["2026-03-04T10:15:00+01:00"], [moment]),
        ([True, 4, "x y", 1.5], ["true", "4", "x y", "1.5"]),
    ]:
        column, evidence = column_of(*values)
        assert typed(column, "k", evidence).to_pylist() == converted


@given(ROWS, ROWS)
def test_every_value_gets_a_column_whatever_it_is(first, second):
    parts = [packed_metadata(first), packed_metadata(second)]
    whole = pa.chunked_array([part.slice(1) for part in parts])
    kinds = kinds_of([whole])
    rows = first[1:] + second[1:]
    assert set(kinds) == {key for row in rows for key in row}
    assert all(kinds[key].count == sum(key in row for row in rows) for key in kinds)
    table = pa.table({"row": range(len(rows))} | typed_columns(whole, kinds))
    for key in kinds:
        assert [value is not None for value in table[f"metadata.{key}"].to_pylist()] == [key in row for row in rows]


def test_the_most_frequent_key_comes_first():
    column = pa.chunked_array([packed_metadata([{"b": 1, "a": 2}, {"c": 1}, {"c": 2}])])
    assert list(kinds_of([column])) == ["c", "a", "b"]


def test_one_more_key_joins_those_of_each_dialogue():
    parts = [{"a": 1}, {}, {"b": "x", "a": 2}, {"c": "own"}]
    # In two chunks, the second one sliced: both have offsets of their own.
    packed = packed_metadata(parts)
    column = pa.chunked_array([packed.slice(0, 1), packed.slice(1)])
    grown = with_fact(column, "c", pa.array(["yes", "no", None, "other"]))
    facts = packed_metadata([{"a": 1, "c": "yes"}, {"c": "no"}, {"b": "x", "a": 2}, {"c": "own"}])
    assert grown.to_pylist() == facts.to_pylist()
    assert typed(grown, "c", kinds_of([grown])["c"]).to_pylist() == ["yes", "no", None, "own"]
    assert with_fact(column.slice(0, 0), "c", pa.array([], pa.string())).to_pylist() == []
