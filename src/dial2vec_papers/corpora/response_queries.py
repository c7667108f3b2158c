"""A context with its candidate responses: the one format of response selection, as JSON Lines.

A line is `{"query_id": "test/7", "context": [{"speaker": "user", "text": "Hi"}], "speaker": "system",
"responses": ["Hello", "Bye"], "correct": [0]}`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conversations.dialogue import RecordError, Turn, dialogue_from_record
from conversations.files import numbered_lines, write_json_lines
from dial2vec.errors import CorpusError, described


@dataclass(frozen=True, slots=True)
class ResponseQuery:
    """A context with the responses among which its own is to be found.

    :param query_id: Id, unique within a file.
    :param context: Turns before the response, at least 1, with their speakers.
    :param speaker: Speaker of the response, "" if unknown.
    :param responses: Texts of at least 2 candidates, none blank.
    :param correct: Places of the right candidates in `responses`, ascending, at least 1.
    """

    query_id: str
    context: tuple[Turn, ...]
    speaker: str
    responses: tuple[str, ...]
    correct: tuple[int, ...]

    def to_record(self) -> dict[str, Any]:
        """Return the JSON form; `query_from_record` is the inverse."""
        return {
            "query_id": self.query_id,
            "context": [{"speaker": turn.speaker, "text": turn.text} for turn in self.context],
            "speaker": self.speaker,
            "responses": list(self.responses),
            "correct": list(self.correct),
        }


def query_from_record(record: object) -> ResponseQuery:
    """Convert a decoded JSON object: strip texts, drop blank turns of the context.

    :raises RecordError: if the object is no such query, a response is blank, or no response is right.
    """
    if not isinstance(record, dict):
        raise RecordError(
            f"expected an object with 'query_id', 'context', 'responses' and 'correct', found {described(record)}"
        )
    for key in ("query_id", "context", "responses", "correct"):
        if key not in record:
            raise RecordError(f"the key '{key}' is missing")
    # The checks of a dialogue are those of a context.
    context = dialogue_from_record({"dialogue_id": record["query_id"], "turns": record["context"]})
    responses, correct, speaker = record["responses"], record["correct"], record.get("speaker", "")
    if not isinstance(responses, list) or not all(isinstance(text, str) for text in responses):
        raise RecordError(f"'responses' must be a list of strings, found {described(responses)}")
    texts = tuple(text.strip() for text in responses)
    if len(texts) < 2:
        raise RecordError(f"'responses' must have at least 2 candidates, found {len(texts)}")
    if not all(texts):
        raise RecordError(f"response {texts.index('') + 1} is blank")
    if not isinstance(speaker, str):
        raise RecordError(f"'speaker' must be a string, found {described(speaker)}")
    if not isinstance(correct, list) or not all(type(place) is int and 0 <= place < len(texts) for place in correct):
        raise RecordError(f"'correct' must be a list of numbers from 0 to {len(texts) - 1}, found {correct!r}")
    if not correct:
        raise RecordError("none of its responses is right")
    return ResponseQuery(context.dialogue_id, context.turns, speaker.strip(), texts, tuple(sorted(set(correct))))


def read_queries(path: Path) -> Iterator[ResponseQuery]:
    """Stream the queries of a JSON Lines file (`.jsonl` or `.jsonl.gz`).

    :raises CorpusError: if the file is missing, unreadable or empty, or a line is no query or repeats an id.
    """
    seen: set[str] = set()
    for number, line in numbered_lines(path):
        try:
            query = query_from_record(json.loads(line))
            if query.query_id in seen:
                raise RecordError(f"the id {query.query_id!r} came before in this file")
        except (ValueError, RecursionError) as error:
            raise CorpusError(
                f"{path}:{number}: {error}. Expected a context with candidates; `dial2vec papers queries` writes it."
            ) from error
        seen.add(query.query_id)
        yield query
    if not seen:
        raise CorpusError(f"{path} is empty; expected JSON Lines, one query per line. Write it again.")


def write_queries(path: Path, queries: Iterable[ResponseQuery]) -> int:
    """Write queries as JSON Lines, atomically, and return their number."""
    return write_json_lines(path, (query.to_record() for query in queries))
