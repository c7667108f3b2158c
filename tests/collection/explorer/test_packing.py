"""Dialogues and numbers of a page without a server: packing.py makes them small, unpacking.js reads them."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dial2vec.collection.explorer.packing import dense, packed, packed_column, packed_dialogues, packed_numbers

from .conftest import EVIL, dialogues_of
from .page import Script

SLOW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
NAMES = st.sampled_from(["a", "b", "__proto__", "1", "", "toString"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(alphabet='<&"a\u2028', max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def script() -> Script:
    return Script("unpacking")


@given(content=st.binary(max_size=40))
@SLOW
def test_any_bytes_are_read_back_from_text_that_is_safe_in_html(script, content):
    text = dense(content)
    assert not set(text) & set("<>&\"'\\")
    assert bytes(script.value("Array.from(denseBytes(text))", text=text)) == content


def test_data_is_gzipped_json_without_half_a_surrogate_pair():
    text = packed({"text": f"{EVIL} é \ud800"})
    assert "<" not in text
    back = base64.b85decode(text.translate(str.maketrans(",:.", "<>&")))
    assert json.loads(gzip.decompress(back)) == {"text": f"{EVIL} é ?"}


@given(values=st.lists(VALUES, max_size=8))
@SLOW
def test_a_column_has_the_values_it_was_made_of(script, values):
    packing = json.loads(json.dumps(packed_column(values)))
    # As JSON, in which the order of keys shows; JavaScript puts a key such as "1" first.
    assert json.loads(script.value("JSON.stringify(valuesOf(packing))", packing=packing)) == values


def test_a_frequent_value_and_a_key_are_there_once():
    column = packed_column(
        [{"channel": "phone"}, {"channel": "phone"}, {"channel": "chat"}, None, {"channel": "phone"}]
    )
    assert column["columns"] == {"channel": {"values": ["phone", "chat"], "codes": [0, 0, 1, -1, 0]}}
    assert column["keys"]["values"] == [["channel"]]
    assert packed_column([1, True, 1.0, 1, 1, 1]) == {"values": [1, True, 1.0], "codes": [0, 1, 2, 0, 0, 0]}


def test_records_are_those_of_the_dialogues(script):
    dialogues = dialogues_of(range(12))
    records = script.value("JSON.stringify(recordsOf(packing))", packing=packed_dialogues(dialogues))
    assert records == json.dumps([one.to_record() for one in dialogues], ensure_ascii=False, separators=(",", ":"))


@given(rows=st.integers(0, 4), columns=st.integers(1, 3), data=st.data())
@SLOW
def test_numbers_are_read_back(script, rows, columns, data):
    codes = data.draw(st.lists(st.integers(-16_383, 16_383), min_size=rows * columns, max_size=rows * columns))
    text = packed_numbers(np.array(codes, dtype=np.int64).reshape(rows, columns))
    inflated = list(zlib.decompress(base64.b64decode(text)))
    expression = "Array.from(matrixOf(Uint8Array.from(inflated), columns))"
    assert script.value(expression, inflated=inflated, columns=columns) == codes


def raw(packing: Any) -> Any:
    """Return packed data with numbers that are not deflated, because V8 alone cannot inflate."""
    if isinstance(packing, dict):
        return {
            key: base64.b64encode(zlib.decompress(base64.b64decode(value))).decode()
            if key in ("vectors", "rows", "factors")
            else raw(value)
            for key, value in packing.items()
        }
    return packing
