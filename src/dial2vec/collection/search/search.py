"""Search for a query: by themes, the vectors of whole dialogues, or by moments, their turns, or by both."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import NO_METADATA, Dialogue, Turn, Value
from conversations.words import without_halves
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.search.calibration import read_calibration
from dial2vec.collection.search.exact import nearest_rows, unit_vector, without
from dial2vec.collection.search.filters import Filters, both
from dial2vec.collection.search.moments import Moments, how_to_get_turns, open_moments
from dial2vec.encoder.inputs import check_name
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.protocol import Encoder
from dial2vec.encoder.text_reader import LONGEST, text_reader
from dial2vec.errors import ArtifactError, Dial2vecError

Way: TypeAlias = Literal["moments", "themes"]
Asked: TypeAlias = Literal["auto", "moments", "themes"]
log = logging.getLogger(__name__)
_NONE = np.zeros(0, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class SpeakingTurn:
    """A turn of a hit.

    :param number: number of the turn, from 0.
    :param contribution: the turn's own cosine with the query if that is a text and turns were indexed, unless themes
        were asked for; else the part of the cosine that comes from this turn (`Encoder.shares_of`).
    """

    number: int
    speaker: str
    text: str
    contribution: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A dialogue found by a search.

    :param cosine: cosine of the query with its vector, if found by themes, or with its nearest turn, if by moments.
        Hits of a text are ordered by a score in which turns, dialogues and words count; cosines may not descend.
    :param date: start of the dialogue, ISO 8601; None if unknown.
    :param turns: turns that answer, the highest contribution first.
    """

    dialogue_id: str
    cosine: float
    labels: tuple[str, ...]
    date: str | None
    turns: tuple[SpeakingTurn, ...]
    metadata: Mapping[str, Value] = NO_METADATA
    way: Way = "themes"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question.

    :param hits: dialogues, best first.
    :param way: "moments" or "themes".
    :param close: False if random questions come as near to the collection as this one; True if this was not measured.
    """

    hits: tuple[Hit, ...]
    way: Way
    close: bool


@dataclass(frozen=True, slots=True)
class _Query:
    """What both ways of searching need; parameters of `Search.answer`, and `own`, rows that are no hits."""

    vector: NDArray[np.float32]
    own: set[int]
    k: int
    rows: NDArray[np.int64] | None
    exact: bool
    n_turns: int

    @property
    def most(self) -> int:
        """Number of rows among which there are k hits."""
        return self.k + len(self.own)

    def best(self, rows: NDArray[np.int64], cosines: NDArray[np.float32]) -> list[tuple[int, float]]:
        """Return the first k rows that may be hits, with their cosines."""
        pairs = zip(rows.tolist(), cosines.tolist(), strict=True)
        return [(row, cosine) for row, cosine in pairs if row not in self.own][: self.k]


class Search:
    """Search in a collection, with the collection's copy of the encoder.

    :param collection: open collection; dialogues added later are not found.
    """

    def __init__(self, collection: CollectionFolder) -> None:
        self.collection = collection
        self._reader = text_reader(collection.model)
        if self._reader is None:
            self.encoder = load_encoder(collection.model)
        self.moments = open_moments(collection)
        self.calibration = read_calibration(collection)
        if self.moments is not None and self.calibration is None and self.moments.words.vocabulary:
            log.warning("It is unknown what is close in %s; `dial2vec index` measures it.", collection.folder)
        if self.moments is not None and self.moments.turns.record.fingerprint == collection.manifest.fingerprint:
            # Loaded once if one encoder reads dialogues and turns.
            self.moments.read = (self._reader or self.encoder).encode_utterances

    @cached_property
    def encoder(self) -> Encoder:
        """The collection's copy of the encoder, loaded when texts alone are not enough."""
        return load_encoder(self.collection.model)

    def find(
        self,
        query: str | Dialogue,
        k: int = 10,
        *,
        filters: Filters | None = None,
        exact: bool = False,
        n_turns: int = 3,
        way: Asked = "auto",
        unlike: Sequence[str | Dialogue] = (),
    ) -> list[Hit]:
        """Return the hits of `answer`, whose parameters and errors these are."""
        answer = self.answer(query, k, filters=filters, exact=exact, n_turns=n_turns, way=way, unlike=unlike)
        return list(answer.hits)

    def answer(
        self,
        query: str | Dialogue,
        k: int = 10,
        *,
        filters: Filters | None = None,
        rows: NDArray[np.int64] | None = None,
        exact: bool = False,
        n_turns: int = 3,
        way: Asked = "auto",
        unlike: Sequence[str | Dialogue] = (),
    ) -> Answer:
        """Return the dialogues that answer a query, best first.

        :param query: text, read as a dialogue of one turn, or a dialogue. A dialogue of the collection, with the same
            id and words, is not its own hit.
        :param k: number of hits; fewer if fewer dialogues pass the filters.
        :param rows: rows of the collection that may be hits, ascending, int64 [m]; None allows all.
        :param exact: compare the turns of all dialogues even if there are many.
        :param n_turns: number of turns per hit; with 0 the dialogues of themes are not read again.
        :param way: "moments" finds dialogues by single turns and their words; "themes" by the vector of the whole
            dialogue; "auto" weighs both for a text, and takes themes for a dialogue or if turns were not indexed.
        :param unlike: texts or dialogues whose meaning is taken off the query (`dial2vec.collection.search.exact`),
            which is then searched for by themes; they are no hits either. The cosine of a hit is the one with what is
            left of the query.
        :raises ArtifactError: if moments are asked for, and the turns of the collection were not indexed.
        :raises CorpusError: if a filter is invalid, or nothing is left of the query.
        :raises Dial2vecError: if moments are asked for with `unlike`.
        """
        check_name("way", way, get_args(Asked))
        if unlike and way == "moments":
            raise Dial2vecError("found --not with --moments; expected --themes, which it works by. Leave one out.")
        asked = [_as_dialogue(given) for given in (query, *unlike)]
        vectors = [unit_vector(self._vector(given)) for given in (query, *unlike)]
        vector = without(vectors[0], np.stack(vectors[1:])) if unlike else vectors[0]
        own = {row for dialogue in asked if (row := self._own(dialogue)) is not None}
        rows = both(rows, (filters or Filters()).rows(self.collection))
        sought = _Query(vector, own, k, rows, exact, n_turns)
        if way == "moments" and self.moments is None:
            raise ArtifactError(how_to_get_turns(self.collection))
        if self.moments is None or way == "themes" or (way == "auto" and not isinstance(query, str)) or unlike:
            answer = self._by_themes(sought)
            # What is left of a query is not comparable with random questions.
            return replace(answer, close=True) if unlike else answer
        text = " ".join(turn.text for turn in asked[0].turns)
        return self._by_moments(self.moments, sought, text, auto=way == "auto")

    def _vector(self, given: str | Dialogue) -> NDArray[np.float32]:
        if self._reader is not None and isinstance(given, str) and len(given) <= LONGEST:
            return self._reader.encode_dialogue(without_halves(given))
        return self.encoder.encode(_as_dialogue(given))

    def _by_themes(self, sought: _Query) -> Answer:
        rows, cosines = nearest_rows(self.collection.vectors, sought.vector, sought.most, rows=sought.rows)
        best = sought.best(rows, cosines)
        close = self.calibration is None or not best or best[0][1] > self.calibration.theme
        return Answer(self._hits(best, sought), "themes", close)

    def _by_moments(self, moments: Moments, sought: _Query, text: str, *, auto: bool) -> Answer:
        themes = np.asarray(self.collection.vectors @ sought.vector, dtype=np.float32)
        scored = moments.score(text, themes, rows=sought.rows, auto=auto, exact=sought.exact)
        rows = scored.rows[: sought.most]
        best = sought.best(rows, themes[rows])
        close = self.calibration is None or not best or self.calibration.is_close(scored.turn, scored.theme)
        way: Way = "themes" if scored.themes > 1 else "moments"
        hits = []
        for dialogue, (row, cosine) in zip(self.collection.dialogues([row for row, _ in best]), best, strict=True):
            own = moments.of_turns(scored.vector, row)
            hits.append(_hit(dialogue, cosine if way == "themes" else float(own.max()), own, sought.n_turns, way))
        return Answer(tuple(hits), way, close)

    def _hits(self, best: list[tuple[int, float]], sought: _Query) -> tuple[Hit, ...]:
        dialogues = list(self.collection.dialogues([row for row, _ in best]))
        # All at once: read singly by a transformer, they would take most of the time of a query.
        n = sought.n_turns
        shares = self.encoder.shares_of(dialogues, towards=sought.vector) if n else [_NONE] * len(dialogues)
        scored = zip(dialogues, shares, best, strict=True)
        return tuple(_hit(dialogue, cosine, own, n, "themes") for dialogue, own, (_, cosine) in scored)

    def _own(self, dialogue: Dialogue) -> int | None:
        """Return the row with the same id and turns; None if there is no such dialogue."""
        if not dialogue.dialogue_id:
            return None
        row = self.collection.row_of.get(dialogue.dialogue_id)
        return row if row is not None and next(self.collection.dialogues([row])).turns == dialogue.turns else None


def _as_dialogue(query: str | Dialogue) -> Dialogue:
    return Dialogue("", (Turn("query", without_halves(query)),)) if isinstance(query, str) else query


def _hit(dialogue: Dialogue, cosine: float, contributions: NDArray[np.float32], n_turns: int, way: Way) -> Hit:
    turns = tuple(
        SpeakingTurn(int(at), dialogue.turns[at].speaker, dialogue.turns[at].text, float(contributions[at]))
        for at in np.argsort(-contributions, kind="stable")[:n_turns]
    )
    return Hit(dialogue.dialogue_id, cosine, dialogue.labels, dialogue.date, turns, dialogue.metadata, way)
