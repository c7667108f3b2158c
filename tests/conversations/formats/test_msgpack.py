"""MessagePack: values of each length, objects as their fields, and bytes that are something else."""

from __future__ import annotations

import pytest

from conversations.formats.msgpack import unpacked_bytes


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"\x82\xa1a\x01\xa1b\xff", {"a": 1, "b": -1}),
        (b"\x81\xa1a\x93\xc0\xc2\xc3", {"a": [None, False, True]}),
        (b"\x81\xa1a\xd9\x03\xe4\xbd\xa0", {"a": "你"}),
        (b"\x81\xa1a\xcb?\xf8\x00\x00\x00\x00\x00\x00", {"a": 1.5}),
        (b"\x81\xa1a\xcd\x01\x00", {"a": 256}),
        (b"\x81\xa1a\xd1\xff\x00", {"a": -256}),
        (b"\x81\xa1a\xdc\x00\x01\xc4\x01x", {"a": ["x"]}),
        (b"\xde\x00\x01\xa1a\xdd\x00\x00\x00\x01\x05", {"a": [5]}),
        (b"\x81\xa1a\xda\x00\x01x", {"a": "x"}),
        (b"\x81\xa1m\xc7\x0e\x05\x93\xa1m\xa1C\x81\xa4text\xa2hi", {"m": {"text": "hi"}}),
        (b"\x81\xa1m\xd4\x00\x07", {"m": 7}),
    ],
)
def test_a_value_is_unpacked(data, value):
    assert unpacked_bytes(data) == value


@pytest.mark.parametrize(
    "data", [b"", b"text", b"{}", b"\x81\xa1a", b"\x80 and more", b"\x81\xa1a\xc1", b"\x81" * 9000]
)
def test_other_bytes_are_no_map(data):
    assert unpacked_bytes(data) is None
