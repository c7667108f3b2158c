"""The answer to a search on the explorer's page: by exact words, by single turns, or by whole dialogues."""

from __future__ import annotations

import base64
import binascii
import json
import threading
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from starlette.responses import JSONResponse, Response

from conversations.dialogue import Dialogue, Turn
from conversations.words import without_halves
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.explorer.texts import Texts, phrases_of
from dial2vec.collection.search.exact import unit_vector
from dial2vec.collection.search.filters import both
from dial2vec.collection.search.search import Asked, Search
from dial2vec.encoder.student import StudentEncoder
from dial2vec.errors import Dial2vecError

# Hits of a search by meaning, since every dialogue is similar to some degree.
HITS = 100
# Hits with marked turns, of exact words and of a dialogue that a transformer has to read again.
MARKED, READ = 200, 20
# Marked turns of a hit, and the part of the best one's contribution that each has at least.
TURNS, LEAST = 3, 0.5
MOST_CHARACTERS, MOST_UNLIKE = 10_000, 20
WAYS = ("auto", "moments", "themes", "exact")
EXPECTED = "expected an object with text, way, like, unlike and within"


class WrongRequestError(ValueError):
    """A request that cannot be answered; the message gives the reason in one sentence."""


@dataclass(frozen=True, slots=True)
class Question:
    """What the page asks for, checked.

    :param text: words to search for; "" for a search by a dialogue.
    :param way: one of `WAYS`.
    :param like: row of the dialogue that hits should be like; None for a search by words.
    :param unlike: rows of dialogues that hits should not be like.
    :param rows: rows that may be hits, ascending, int64 [m]; None allows all.
    """

    text: str
    way: str
    like: int | None
    unlike: tuple[int, ...]
    rows: NDArray[np.int64] | None


class Searching:
    """Answers the searches of the page; the encoder, and the texts, are read by the first that needs them."""

    def __init__(self, collection: CollectionFolder) -> None:
        self.collection = collection
        self._turn = threading.Lock()

    @cached_property
    def _texts(self) -> Texts:
        with self._turn:
            return Texts(self.collection)

    @cached_property
    def _search(self) -> Search:
        return Search(self.collection)

    def answer(self, body: bytes) -> Response:
        """Return {rows, way, close, turns} for the body of a request (`question_of`), the best hit first.

        `turns` has the numbers, from 0, of the turns that answer, the best first, for each of the first hits.

        :raises WrongRequestError: if the question cannot be read or answered.
        """
        question = question_of(body, len(self.collection))
        phrases, rest = phrases_of(question.text)
        if question.way == "exact" and rest:
            phrases, rest = [*phrases, rest], ""
        rows = question.rows
        if phrases:
            rows = both(rows, self._texts.rows_with(phrases))
        if rest and question.like is not None:
            raise WrongRequestError("found a text and a dialogue to be like; expected one of them. Leave one out.")
        try:
            if rest or question.like is not None:
                return self._by_meaning(question, rest, rows)
        except Dial2vecError as error:
            raise WrongRequestError(str(error)) from error
        if not phrases:
            other = "only dialogues not to be like" if question.unlike else "no words to search for"
            raise WrongRequestError(f"found {other}; expected words, or a dialogue that hits should be like.")
        hits = [] if rows is None else rows.tolist()
        return _json(hits, "exact", True, [self._texts.turns_with(phrases, row) for row in hits[:MARKED]])

    def _by_meaning(self, question: Question, text: str, rows: NDArray[np.int64] | None) -> Response:
        named = [row for row in (question.like, *question.unlike) if row is not None]
        dialogues = list(self.collection.dialogues(named))
        query: str | Dialogue = text or dialogues[0]
        unlike = dialogues if text else dialogues[1:]
        # What is taken off a query works by whole dialogues.
        way: Asked = "auto" if question.way == "exact" or unlike else cast(Asked, question.way)
        # One at a time, because an encoding uses every processor.
        with self._turn:
            answer = self._search.answer(query, HITS, rows=rows, n_turns=0, way=way, unlike=unlike)
            hits = [self.collection.row_of[hit.dialogue_id] for hit in answer.hits]
            turns = self._turns_of(query, hits)
        return _json(hits, answer.way, answer.close, turns)

    def _turns_of(self, query: str | Dialogue, hits: list[int]) -> list[list[int]]:
        search = self._search
        if search.moments is not None and isinstance(query, str):
            vector = search.moments.vector(query)
            return [_best(search.moments.of_turns(vector, row)) for row in hits]
        asked = query if isinstance(query, Dialogue) else Dialogue("", (Turn("query", query),))
        read = hits if isinstance(search.encoder, StudentEncoder) else hits[:READ]
        towards = unit_vector(search.encoder.encode(asked))
        shares = search.encoder.shares_of(list(self.collection.dialogues(read)), towards=towards)
        return [_best(of_turns) for of_turns in shares]


def body_json(body: bytes, expected: str) -> Any:
    """Return the JSON in the body of a request.

    :raises WrongRequestError: with what was expected, if it is none.
    """
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise WrongRequestError(f"the body is not JSON; {expected}.") from None


def question_of(body: bytes, n: int) -> Question:
    """Read the body of a request: JSON with text, way, like, unlike, and within.

    `like` is a row or null, `unlike` a list of rows. `within` is null, or base64 of a bit per row, the first row in the
    highest bit of the first byte (numpy.packbits): 1 if the row may be a hit.

    :raises WrongRequestError: if the body is something else.
    """
    asked = body_json(body, EXPECTED)
    if not isinstance(asked, dict):
        raise WrongRequestError(f"the body is no object; {EXPECTED}.")
    text, way, like, unlike = (asked.get(name) for name in ("text", "way", "like", "unlike"))
    text, unlike = "" if text is None else text, [] if unlike is None else unlike
    if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
        raise WrongRequestError(f"expected text of up to {MOST_CHARACTERS} characters to search for.")
    if way not in WAYS:
        raise WrongRequestError(f"found the way {str(way)[:40]!r}; expected one of {', '.join(WAYS)}.")
    if not isinstance(unlike, list) or len(unlike) > MOST_UNLIKE:
        raise WrongRequestError(f"expected a list of up to {MOST_UNLIKE} rows that hits should not be like.")
    if not all(type(row) is int and 0 <= row < n for row in [*([] if like is None else [like]), *unlike]):
        raise WrongRequestError(f"expected rows of the collection in like and unlike, whole numbers from 0 to {n - 1}.")
    return Question(
        without_halves(text).strip(), way, like, tuple(dict.fromkeys(unlike)), _rows_of(asked.get("within"), n)
    )


def _rows_of(within: object, n: int) -> NDArray[np.int64] | None:
    if within is None:
        return None
    size = -(-n // 8)
    try:
        bits = base64.b64decode(within, validate=True) if isinstance(within, str) else b""
    except (binascii.Error, ValueError):
        bits = b""
    if len(bits) != size:
        raise WrongRequestError(f"expected null in within, or base64 of {size} bytes with a bit for each row.")
    return np.flatnonzero(np.unpackbits(np.frombuffer(bits, np.uint8), count=n))


def _best(contributions: NDArray[np.float32]) -> list[int]:
    """Return the turns that contribute most; those with less than half of the best are left out."""
    order = np.argsort(-contributions, kind="stable")[:TURNS]
    best = contributions[order[0]]
    return [int(turn) for turn in order if contributions[turn] > 0 and contributions[turn] >= LEAST * best]


def _json(rows: list[int], way: str, close: bool, turns: list[list[int]]) -> Response:
    return JSONResponse({"rows": rows, "way": way, "close": close, "turns": turns})
