import io
from collections.abc import Iterator
from typing import Any

import pytest

from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.source_files import entries_of, open_zip
from tests.data.corpora.archives import zipped


def stream(content: str | bytes, *, below: str = "") -> Iterator[tuple[str, Any]]:
    packed = zipped({"top/data.json": content})
    with open_zip(io.BytesIO(packed), "corpus.zip", again="Remove the archive and run it again.") as [file]:
        yield from entries_of(file, below=below)


def found(content: str | bytes, *, below: str = "") -> list[tuple[str, Any]]:
    return list(stream(content, below=below))


def test_entries_are_yielded_in_order_repeated_keys_too():
    assert found('{"b": [1, {"x": null}], "a": {}, "b": true}') == [("b", [1, {"x": None}]), ("a", {}), ("b", True)]


def test_key_may_be_empty_or_hold_dots():
    assert found('{"": {"a": {"b": 1}}, "a.b": {"": 2}}') == [("", {"a": {"b": 1}}), ("a.b", {"": 2})]


def test_object_below_a_key_is_found_wherever_it_stands():
    assert found('{"version": 1, "data": {"a": 1}, "more": {"b": 2}}', below="data") == [("a", 1)]
    assert found('{"version": 1, "data": []}', below="data") == []


@pytest.mark.parametrize("content", ["[]", "{}", "3", '[{"a": 1}]'])
def test_member_without_entries_is_refused(content: str):
    with pytest.raises(CorpusError, match=r"corpus.zip/top/data.json is no JSON object with entries"):
        found(content)


@pytest.mark.parametrize(
    "content", ["", "{", '{"a": 1', '{"a": 1} x', '{"a": nope}', b'{"a": "\xff"}', "{'a': 1}", '{"a": ' + "9" * 5000]
)
def test_what_is_no_json_is_refused_in_one_sentence(content: str | bytes):
    with pytest.raises(CorpusError, match=r"^corpus.zip/top/data.json is not JSON \(.*\). Remove the archive and run "):
        found(content)


def test_byte_order_mark_is_skipped():
    assert found(b'\xef\xbb\xbf{"a": 1}') == [("a", 1)]


def test_numbers_that_python_writes_and_json_has_not_are_read_and_no_entry_is_lost_or_doubled():
    content = '{"x": {"a": [1], "b": NaN, "c": 123456789012345678901234567890, "d": "last"}}'
    first, second, *rest = found(content, below="x")
    assert (first, second[0], second[1] != second[1]) == (("a", [1]), "b", True)
    assert rest == [("c", 123456789012345678901234567890), ("d", "last")]
    assert found('{"y": NaN}', below="x") == found("[NaN]", below="x") == []


def test_deep_nesting_raises_nothing_but_a_corpus_error():
    with pytest.raises(CorpusError):
        found('{"a": ' + "[" * 2_000)


def test_what_came_before_the_damage_is_yielded():
    entries = stream('{"a": 1, "b": ' + " " * 100_000 + "x")
    assert next(entries) == ("a", 1)
    with pytest.raises(CorpusError, match="not JSON"):
        next(entries)
