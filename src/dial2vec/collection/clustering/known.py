"""Topics that are known beforehand: `topics.yaml` in the folder of a collection, and the dialogues near to each."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import yaml
from numpy.typing import NDArray

from dial2vec.collection.clustering.clusters import Stored
from dial2vec.collection.clustering.partition import Groups, Vectors, assign, centres_of_groups
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.lenses.likeness import EXAMPLES, FITTED, HALF, likeness, moved_by_examples, scores_of
from dial2vec.collection.search.turns import complete_turns
from dial2vec.encoder.nearest import unit_rows
from dial2vec.errors import ArtifactError

TOPICS = "topics.yaml"
# At the level of lenses, most dialogues of a hundred other topics would be near to one of a few (docs/clusters.md).
NEAR = replace(FITTED, none=1.85)
# Description, which may be blank, and examples of each topic, by its name.
Topics = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Known:
    """Known topics, and the dialogues that are near enough to one.

    :param names: name of each topic, by the id of its cluster.
    :param of: id of each dialogue's topic, int32 [n]; -1 for none.
    :param nearest: row of the dialogue that is nearest to each topic, by id.
    :param content: hash of the topics; "" without any.
    """

    names: Mapping[int, str]
    of: Groups
    nearest: Mapping[int, int]
    content: str = ""

    def centres(self, units: Vectors, ids: Sequence[int]) -> Vectors:
        """Return the centres of some topics, [ids, d]; one without dialogues has that of the nearest dialogue."""
        rows = [own if len(own := np.flatnonzero(self.of == id)) else np.array([self.nearest[id]]) for id in ids]
        means = [centres_of_groups(units[own], np.zeros(len(own), dtype=np.int32)) for own in rows]
        return np.concatenate([np.zeros((0, units.shape[1]), dtype=np.float32), *means])

    def groups(
        self,
        units: Vectors,
        centres: Vectors,
        ids: Sequence[int],
        kept: Groups,
        least: NDArray[np.float64] | None = None,
    ) -> Groups:
        """Return the cluster of each dialogue, as its place in `ids`, int32 [n].

        Dialogues of no known topic stay where they are, or go to the nearest cluster that is no known topic.

        :param kept: clusters so far, int32 [n]; -1 for a dialogue without one.
        :param least: cosine below which a dialogue goes to another cluster, float64 [ids].
        """
        places = np.array([place for place, id in enumerate(ids) if id not in self.names] or range(len(ids)))
        own = None if least is None else least[places]
        groups = np.where(np.isin(kept, places), kept, places[assign(units, centres[places], least=own).groups])
        for place, id in enumerate(ids):
            if id in self.names:
                groups[self.of == id] = place
        return groups.astype(np.int32)


def find_known(
    collection: CollectionFolder, before: Stored | None, pins: Mapping[int, NDArray[np.int64]], *, grown: bool
) -> Known:
    """Read the known topics, and find the dialogues that are near enough to one, by the scores of lenses.

    :param before: clusters before; a topic has the id of the cluster with its name, or a new one.
    :param pins: rows of pinned clusters, by id, which stay there.
    :param grown: True if the dialogues of these clusters stay as they are while `topics.yaml` is the same.
    :raises ArtifactError: if the file cannot be used.
    """
    topics = read_topics(collection.folder / TOPICS)
    if not topics:
        return Known({}, np.full(len(collection), -1, dtype=np.int32), {})
    content = hashlib.sha256(repr(topics).encode()).hexdigest()[:12]
    ids, scores = _ids(topics, before), _scores(collection, topics)
    of = np.array([*ids, -1], dtype=np.int32)[scores.argmax(axis=1)]
    if before is not None and grown and before.base.topics == content:
        was = np.array([cluster.id for cluster in before.base.clusters], dtype=np.int32)[before.base_state.groups]
        of[: len(was)] = np.where(np.isin(was, ids) & before.base_state.belongs, was, -1)
    of = of[collection.originals]
    for id, rows in pins.items():
        of[rows] = id if id in ids else -1
    nearest = scores.argmax(axis=0).tolist()
    return Known(dict(zip(ids, topics, strict=True)), of, dict(zip(ids, nearest, strict=False)), content)


def _ids(topics: Topics, before: Stored | None) -> list[int]:
    if before is None:
        return list(range(len(topics)))
    base = {cluster.known or cluster.name: cluster.id for cluster in before.base.clusters}
    shown = {cluster.name: cluster.id for cluster in before.clusters.clusters if cluster.id in base.values()}
    return [(shown | base).get(name, before.clusters.next_id + place) for place, name in enumerate(topics)]


def _scores(collection: CollectionFolder, topics: Topics) -> NDArray[np.float64]:
    """Return the score of each topic and, last, of none of them, float64 [n, topics + 1]; an example has the highest.

    An example that is no id of a dialogue is a sentence; sentences alone stand for the description.
    """
    turns, row_of, units = complete_turns(collection), collection.row_of, []
    for name, (description, *examples) in topics.items():
        sentences = [text for text in examples if text not in row_of]
        begin = description or name * (not sentences)
        own = unit_rows(turns.encoder.encode_utterances([begin, *sentences]))
        weight = EXAMPLES / (len(sentences) + HALF) if begin else 1
        units.append(own[0] * bool(begin) + weight * own[1:].sum(axis=0))
    rows = [[row_of[text] for text in examples if text in row_of] for _, *examples in topics.values()]
    moved = moved_by_examples(unit_rows(np.array(units, dtype=np.float32)), turns.vectors, turns.starts, rows)
    scores = scores_of(likeness(turns.vectors, turns.starts, moved), NEAR)
    for place, of_topic in enumerate(rows):
        scores[of_topic, place] = np.inf
    return scores


def read_topics(path: Path) -> Topics:
    """Read known topics from a file; none if there is no file.

    :raises ArtifactError: if the file cannot be read, or an entry is no topic.
    """
    topics = Topics()
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else None
        for number, entry in enumerate(entries or [], start=1):
            topic = {"name": "", "description": "", "examples": []} | dict(entry)
            name, description, examples = (topic.pop(key) for key in ("name", "description", "examples"))
            texts = [name, description, *examples] if isinstance(examples, list) else []
            # An id may be a number.
            words = [str(text).strip() for text in texts if isinstance(text, str | int)]
            if topic or len(words) < max(2, len(texts)) or not words[0] or not any(words[1:]) or words[0] in topics:
                raise ValueError(f"topic {number} is {entry!r}")
            topics[words[0]] = words[1:]
    except (OSError, ValueError, TypeError, yaml.YAMLError) as error:
        raise ArtifactError(
            f"{path} cannot be read ({' '.join(str(error).split())}); expected a list of topics, each with a name of "
            "its own, and a description, a list of examples or both. Mend it."
        ) from error
    return topics
