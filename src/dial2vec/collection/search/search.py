"""Search for a query: encode it, find its nearest dialogues and the turns that contribute most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.search.approximate import open_index
from dial2vec.collection.search.contrast import without
from dial2vec.collection.search.exact import nearest_rows, unit_vector
from dial2vec.collection.search.filters import Filters
from dial2vec.dialogue import NO_METADATA, Dialogue, Turn, Value
from dial2vec.encoder.contribution import shares_of
from dial2vec.encoder.loading import load_encoder


@dataclass(frozen=True, slots=True)
class SpeakingTurn:
    """A turn of a hit.

    :param number: number of the turn, from 0.
    :param contribution: part of the cosine that comes from this turn (`dial2vec.encoder.contribution.shares_of`).
    """

    number: int
    speaker: str
    text: str
    contribution: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A dialogue found by a search.

    :param cosine: cosine of its vector and the query's, in [-1, 1].
    :param date: start of the dialogue, ISO 8601; None if unknown.
    :param turns: turns that contribute most to the cosine, the highest contribution first.
    """

    dialogue_id: str
    cosine: float
    labels: tuple[str, ...]
    date: str | None
    turns: tuple[SpeakingTurn, ...]
    metadata: Mapping[str, Value] = NO_METADATA


class Search:
    """Search in a collection, with the collection's copy of the encoder.

    :param collection: open collection; dialogues added later are not found.
    """

    def __init__(self, collection: CollectionFolder) -> None:
        self.collection = collection
        self.encoder = load_encoder(collection.model)
        self.approximate = open_index(collection)

    def find(
        self,
        query: str | Dialogue,
        k: int = 10,
        *,
        filters: Filters | None = None,
        exact: bool = False,
        n_turns: int = 3,
        unlike: Sequence[str | Dialogue] = (),
    ) -> list[Hit]:
        """Return the dialogues most similar to the query, best first.

        :param query: text, read as a dialogue of one turn, or a dialogue. A dialogue of the collection, with the same
            id and words, is not its own hit.
        :param k: number of hits; fewer if fewer dialogues pass the filters.
        :param exact: compare all vectors even if there is an index. A search with filters always does.
        :param n_turns: number of turns per hit.
        :param unlike: texts or dialogues whose meaning is taken off the query (`dial2vec.collection.search.contrast`);
            they are no hits either. The cosine of a hit is then the one with what is left of the query.
        :raises CorpusError: if a filter is invalid, or nothing is left of the query.
        """
        asked = [_as_dialogue(given) for given in (query, *unlike)]
        vectors = [unit_vector(self.encoder.encode(dialogue)) for dialogue in asked]
        vector = without(vectors[0], np.stack(vectors[1:])) if unlike else vectors[0]
        own = {row for dialogue in asked if (row := self._own(dialogue)) is not None}
        rows = (filters or Filters()).rows(self.collection)
        hits = zip(*self._nearest(vector, k + len(own), rows, exact=exact), strict=True)
        best = [(int(row), float(cosine)) for row, cosine in hits if row not in own][:k]
        dialogues = list(self.collection.dialogues([row for row, _ in best]))
        # All at once: read singly by a transformer, they would take most of the time of a query.
        shares = shares_of(self.encoder, dialogues, towards=vector)
        return [
            Hit(hit.dialogue_id, cosine, hit.labels, hit.date, _speaking(hit, contributions, n_turns), hit.metadata)
            for hit, contributions, (_, cosine) in zip(dialogues, shares, best, strict=True)
        ]

    def _own(self, dialogue: Dialogue) -> int | None:
        """Return the row with the same id and turns; None if there is no such dialogue."""
        row = self.collection.row_of.get(dialogue.dialogue_id)
        return row if row is not None and next(self.collection.dialogues([row])).turns == dialogue.turns else None

    def _nearest(
        self, vector: NDArray[np.float32], k: int, rows: NDArray[np.int64] | None, *, exact: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        vectors = self.collection.vectors
        if rows is None and self.approximate is not None and not exact:
            hits = self.approximate.nearest(vectors, vector, k)
            if len(hits[0]) >= min(k, len(vectors)):
                return hits
        return nearest_rows(vectors, vector, k, rows=rows)


def _as_dialogue(query: str | Dialogue) -> Dialogue:
    return Dialogue("", (Turn("query", query),)) if isinstance(query, str) else query


def _speaking(dialogue: Dialogue, contributions: NDArray[np.float32], n: int) -> tuple[SpeakingTurn, ...]:
    order = np.argsort(-contributions, kind="stable")[:n]
    return tuple(
        SpeakingTurn(int(at), dialogue.turns[at].speaker, dialogue.turns[at].text, float(contributions[at]))
        for at in order
    )
