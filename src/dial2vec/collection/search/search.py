"""A question to a collection: encoded once, its nearest dialogues found, and the turns named that speak for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection import Collection
from dial2vec.collection.search.approximate import open_index
from dial2vec.collection.search.exact import nearest_rows, unit_vector
from dial2vec.collection.search.filters import Filters
from dial2vec.dialogue import Dialogue, Turn
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.contribution import shares
from dial2vec.encoder.turns import ReadTurns
from dial2vec.encoder.windows import windows_of


@dataclass(frozen=True, slots=True)
class SpeakingTurn:
    """A turn of a found dialogue.

    :param number: from 0.
    :param contribution: what it adds to the cosine, `dial2vec.encoder.contribution.turn_shares`.
    """

    number: int
    speaker: str
    text: str
    contribution: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A dialogue that was found.

    :param cosine: of its vector and the query's, in [-1, 1].
    :param date: when it began, ISO 8601; None where that is not known.
    :param turns: those that speak most for it, most first.
    """

    dialogue_id: str
    cosine: float
    labels: tuple[str, ...]
    date: str | None
    turns: tuple[SpeakingTurn, ...]


class Search:
    """Searches a collection by its own copy of the encoder.

    :param collection: opened; what is added later is not found.
    """

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self.encoder = DialogueEncoder.from_pretrained(collection.model)
        self.approximate = open_index(collection)

    def find(
        self,
        query: str | Dialogue,
        k: int = 10,
        *,
        filters: Filters | None = None,
        exact: bool = False,
        n_turns: int = 3,
    ) -> list[Hit]:
        """Return the dialogues that are most like the query, best first.

        :param query: a text, read as a dialogue of one turn, or a dialogue. One that is in the collection, by its id
            and its words, is not its own hit.
        :param k: how many; there are as many, where so many pass the filters.
        :param exact: look at every vector, also where there is an index. With filters every one that passes always is.
        :param n_turns: turns named for each.
        """
        dialogue = Dialogue("", (Turn("query", query),)) if isinstance(query, str) else query
        vector = unit_vector(self.encoder.encode(dialogue))
        own = self._own(dialogue)
        rows = (filters or Filters()).rows(self.collection)
        found, cosines = self._nearest(vector, k + (own is not None), rows, exact=exact)
        best = [(int(row), float(c)) for row, c in zip(found, cosines, strict=True) if row != own][:k]
        dialogues = list(self.collection.dialogues([row for row, _ in best]))
        # All at once: one after the other they would take most of the time of a query.
        reads = self.encoder.read_turns(windows_of(self.encoder.tokens, dialogues), batch_size=32)
        return [
            Hit(one.dialogue_id, cosine, one.labels, one.date, self._speaking(one, read, vector, n_turns))
            for one, read, (_, cosine) in zip(dialogues, reads, best, strict=True)
        ]

    def _own(self, dialogue: Dialogue) -> int | None:
        """Return the row of this very dialogue; another one may have its id."""
        row = self.collection.row_of.get(dialogue.dialogue_id)
        return row if row is not None and next(self.collection.dialogues([row])).turns == dialogue.turns else None

    def _nearest(
        self, vector: NDArray[np.float32], k: int, rows: NDArray[np.int64] | None, *, exact: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        vectors = self.collection.vectors
        if rows is None and self.approximate is not None and not exact:
            found = self.approximate.nearest(vectors, vector, k)
            if len(found[0]) >= min(k, len(vectors)):
                return found
        return nearest_rows(vectors, vector, k, rows=rows)

    def _speaking(
        self, dialogue: Dialogue, read: ReadTurns, vector: NDArray[np.float32], n: int
    ) -> tuple[SpeakingTurn, ...]:
        found = shares(self.encoder, read, towards=vector)
        order = np.argsort(-found, kind="stable")[:n]
        return tuple(
            SpeakingTurn(int(at), dialogue.turns[at].speaker, dialogue.turns[at].text, float(found[at])) for at in order
        )
