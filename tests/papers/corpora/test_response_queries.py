from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conversations.dialogue import RecordError, Turn
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.response_queries import ResponseQuery, query_from_record, read_queries, write_queries

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1).map(str.strip).filter(bool)
RECORD: dict[str, Any] = {
    "query_id": "test/1",
    "context": [{"speaker": "a", "text": " Hi "}, {"speaker": "b", "text": ""}],
    "speaker": "b",
    "responses": ["Hello", " Bye "],
    "correct": [1],
}


@st.composite
def queries(draw: st.DrawFn) -> ResponseQuery:
    responses = draw(st.lists(TEXTS, min_size=2, max_size=5))
    correct = draw(st.sets(st.integers(0, len(responses) - 1), min_size=1))
    turns = draw(st.lists(st.builds(Turn, TEXTS, TEXTS), min_size=1, max_size=4))
    return ResponseQuery(draw(TEXTS), tuple(turns), draw(TEXTS), tuple(responses), tuple(sorted(correct)))


@settings(deadline=None)
@given(queries())
def test_query_survives_its_json_form(query: ResponseQuery):
    assert query_from_record(query.to_record()) == query


def test_file_keeps_order_and_speakers(tmp_path: Path):
    query = query_from_record(RECORD)
    assert query == ResponseQuery("test/1", (Turn("a", "Hi"),), "b", ("Hello", "Bye"), (1,))
    other = query_from_record(RECORD | {"query_id": "test/2"})
    assert write_queries(tmp_path / "q.jsonl", [other, query]) == 2
    assert list(read_queries(tmp_path / "q.jsonl")) == [other, query]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"responses": ["Hello"]}, "'responses' must have at least 2 candidates, found 1"),
        ({"responses": ["Hello", " "]}, "response 2 is blank"),
        ({"responses": "Hello"}, "'responses' must be a list of strings"),
        ({"correct": []}, "none of its responses is right"),
        ({"correct": [2]}, "'correct' must be a list of numbers from 0 to 1"),
        ({"correct": [True]}, "'correct' must be a list of numbers"),
        ({"context": []}, "it has no turns"),
        ({"speaker": 3}, "'speaker' must be a string"),
    ],
)
def test_what_is_no_query_is_refused_with_its_reason(tmp_path: Path, change: dict[str, Any], reason: str):
    with pytest.raises(RecordError, match=reason):
        query_from_record(RECORD | change)
    for key in change:
        if key != "speaker":
            with pytest.raises(RecordError, match=f"the key '{key}' is missing"):
                query_from_record({name: value for name, value in RECORD.items() if name != key})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("{}\n", ":1: the key 'query_id' is missing"),
        ("{half\n", r":1: .*`dial2vec papers queries` writes"),
    ],
)
def test_file_of_something_else_is_refused_by_line(tmp_path: Path, content: str, message: str):
    path = tmp_path / "q.jsonl"
    path.write_text(content)
    with pytest.raises(CorpusError, match=message):
        list(read_queries(path))
