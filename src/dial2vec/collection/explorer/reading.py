"""What the reader shows beside the turns of a dialogue: segments, its group and why it is in it, and its note."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec.collection.clustering.clusters import Stored, folder_of, read_assigned, read_stored
from dial2vec.collection.clustering.decisions import read_decisions
from dial2vec.collection.clustering.notes import read_notes
from dial2vec.collection.clustering.speaking import speaking_turns, terms_said
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.segments.segments import segments_of
from dial2vec.errors import ArtifactError

# Turns that are named as reasons for a group, and terms that are named in them.
REASONS, NAMED = 3, 5


class ReaderContent:
    """What a collection knows about its dialogues beside their texts.

    Groups are read once, notes each time, because people write them while the page is open.

    :param collection: collection; dialogues that were added after clustering have no group, and so with segments.
    :raises ArtifactError: if the clusters are damaged.
    """

    def __init__(self, collection: CollectionFolder) -> None:
        self._collection = collection
        stored = read_stored(collection)
        self._groups = None if stored is None else _Groups(collection, stored)

    def of(self, rows: Sequence[int], dialogues: Iterable[Dialogue]) -> Iterator[dict[str, Any]]:
        """Yield what the reader shows beside the turns of each dialogue, for JSON.

        `segments` is a list of `first` and `last` (turns from 0) and `topic` (a name). `group` has the `id` and `name`
        of its `area`, `topic` and `fine` topic, the `similarity` to the topic's centre, in [-1, 1], the share of the
        topic's dialogues that are not `closer` to it, and the day on which people `moved` it there, or None; it is None
        for a dialogue that is in no group or in a hidden one. `reasons` are turns that speak for the group, and `terms`
        what they say of it; both may be empty. `note` has a `text` and a `date`, or is None.

        :param rows: rows of the collection.
        :raises ArtifactError: if notes or segments are damaged.
        """
        notes, dialogues = read_notes(self._collection.folder), list(dialogues)
        segments: dict[str, list[dict[str, Any]]] = {dialogue.dialogue_id: [] for dialogue in dialogues}
        # Segments of another encoder are not shown.
        with contextlib.suppress(ArtifactError):
            for part in segments_of(self._collection, [*segments]):
                shown = {"first": part["first_turn"], "last": part["last_turn"], "topic": part["topic_name"]}
                segments[part["dialogue_id"]].append(shown)
        for row, dialogue in zip(rows, dialogues, strict=True):
            note = notes.get(dialogue.dialogue_id)
            yield {
                "segments": segments[dialogue.dialogue_id],
                "group": None if self._groups is None else self._groups.of(row, dialogue.dialogue_id),
                **({"reasons": [], "terms": []} if self._groups is None else self._groups.reasons(row, dialogue)),
                "note": None if note is None else {"text": note.text, "date": note.date},
            }


class _Groups:
    """The groups of all dialogues."""

    def __init__(self, collection: CollectionFolder, stored: Stored) -> None:
        self.clusters, self.state = stored.clusters, stored.state
        self.areas = {area.id: area.name for area in self.clusters.areas}
        self.similarity = read_assigned(collection, ["similarity"])["similarity"].to_numpy()
        if len(self.similarity) != len(self.state.groups):
            raise ArtifactError(
                f"{folder_of(collection)} has {len(self.similarity)} rows for {len(self.state.groups)} dialogues. Make "
                "the clusters again, or remove them."
            )
        self.rank = _ranks(self.state.groups, self.similarity)
        made = read_decisions(collection.folder).made
        self.moved = {edit.dialogue: (edit.cluster, edit.date) for edit in made if edit.dialogue is not None}

    def of(self, row: int, dialogue_id: str) -> dict[str, Any] | None:
        if row >= len(self.state.groups):
            return None
        cluster = self.clusters.clusters[self.state.groups[row]]
        if cluster.hidden:
            return None
        fine = self.clusters.fine[self.state.fine[row]] if self.clusters.fine else None
        to, date = self.moved.get(dialogue_id, (None, None))
        return {
            "area": {"id": cluster.area, "name": self.areas.get(cluster.area, "")},
            "topic": {"id": cluster.id, "name": cluster.name},
            "fine": None if fine is None else {"id": fine.id, "name": fine.name},
            "similarity": round(float(self.similarity[row]), 4),
            "closer": round(float(self.rank[row]), 4),
            "moved": date if to == cluster.id else None,
        }

    def reasons(self, row: int, dialogue: Dialogue) -> dict[str, Any]:
        if row >= len(self.state.groups) or (cluster := self.clusters.clusters[self.state.groups[row]]).hidden:
            return {"reasons": [], "terms": []}
        terms_of = {
            place: terms_said(dialogue.turns[place].text, cluster.terms)
            for place in speaking_turns(dialogue, cluster.terms, n=REASONS)
        }
        all_terms = {term for terms in terms_of.values() for term in terms}
        return {
            "reasons": [place for place, terms in terms_of.items() if terms],
            "terms": [term.text for term in cluster.terms if term.text in all_terms][:NAMED],
        }


def _ranks(groups: NDArray[np.int32], similarity: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the share of the other dialogues of its group that are farther from the centre, [n]; 1 for one alone."""
    order = np.lexsort((similarity, groups))
    sizes = np.bincount(groups)
    begins = np.cumsum(sizes) - sizes
    ranks = np.empty(len(groups), dtype=np.float64)
    ranks[order] = np.arange(len(groups)) - begins[groups[order]]
    return np.where(sizes[groups] > 1, ranks / np.maximum(sizes[groups] - 1, 1), 1.0)
