"""The topics of dialogues in scikit-learn's manner: `DialogueTopics().fit(dialogues).names_`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from conversations.dialogue import write_dialogues
from conversations.files import atomic_path
from conversations.words import words
from dial2vec.collection.adding import add
from dial2vec.collection.changes.grouped import read_groups
from dial2vec.collection.clustering.clustering import cluster
from dial2vec.collection.clustering.clusters import stored_clusters
from dial2vec.collection.collection import Collection
from dial2vec.collection.collection_folder import MANIFEST, ROWS
from dial2vec.encoder.conversations import as_dialogues
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.names import GENERAL
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.protocol import Encoder
from dial2vec.errors import ArtifactError, CorpusError

if TYPE_CHECKING:
    import pandas as pd

    from dial2vec.collection.changes.over_time import Period

# Turns that are read together for a distribution.
WINDOW = 4
# Names of temporary folders, and of the collection in one, which is the title of its page.
PREFIX, TOPICS = "dial2vec-", "topics"


class DialogueTopics(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """The topics of dialogues, which are the clusters of a collection; the collection does the work.

    Dialogues are whatever an encoder's `encode` takes: `Dialogue`s, lists of messages, texts, or a table of pandas,
    polars, Arrow or datasets.

    :param n_topics: number of topics; None finds it.
    :param model: name or folder of the encoder, see `dial2vec.load_encoder`.
    :param folder: folder of the collection; None is a temporary one, which goes with this object. `fit` adds to a
        collection that is there, and its topics keep their ids.
    :param adapted: whether the vectors are adapted to the dialogues.
    :param random_state: seed of the clusters.
    :param verbose: whether to show a progress bar while the dialogues are read.

    Attributes after `fit`: `topics_` and `labels_`, the topic id of each dialogue, int32 [n]; `belongs_`, False for
    those that are only nearest to their topic and like no others, bool [n]; `names_`, the name of each topic by its
    id; `collection_`, the `Collection`; `encoder_`. A pickle predicts without the folder; `save` keeps that, too.
    """

    def __init__(
        self,
        n_topics: int | None = None,
        *,
        model: str | Path = GENERAL,
        folder: str | Path | None = None,
        adapted: bool = True,
        random_state: int = 1,
        verbose: bool = False,
    ) -> None:
        self.n_topics = n_topics
        self.model = model
        self.folder = folder
        self.adapted = adapted
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, dialogues: Any, y: object = None) -> DialogueTopics:
        """Make the collection and its topics; `y` is ignored.

        :raises CorpusError: if there are fewer than 2 dialogues, or one cannot be used, or two have the same id.
        :raises ArtifactError: if the folder is no collection, or one of another encoder.
        """
        given, encoder = as_dialogues(dialogues)[0], load_encoder(self.model)
        temporary = None if self.folder is not None else TemporaryDirectory(prefix=PREFIX)
        folder = Path(temporary.name, TOPICS) if temporary else Path(self.folder or "")
        with TemporaryDirectory(prefix=PREFIX) as work:
            write_dialogues(file := Path(work) / "dialogues.jsonl", dict.fromkeys(given))
            added = add(folder, file, encoder=encoder, progress=self.verbose, turns=False, adapted=self.adapted)
        if added.quarantine_file is not None:
            first = json.loads(added.quarantine_file.read_text(encoding="utf-8").splitlines()[0])
            raise CorpusError(
                f"{added.quarantine} of {len(given)} dialogues cannot be used, the first, {first['dialogue_id']!r}, "
                f"because {first['reason']}. Leave them out."
            )
        collection = Collection(folder)
        cluster(collection, k=self.n_topics, seed=self.random_state)
        # The folder goes when the last of both objects does.
        vars(collection)["temporary"] = temporary
        return self._take(collection, encoder, [collection.row(dialogue.dialogue_id) for dialogue in given])

    def _take(self, collection: Collection, encoder: Encoder, rows: Sequence[int]) -> DialogueTopics:
        """Take over what a collection with clusters says about some of its rows."""
        stored, grouped = stored_clusters(collection), read_groups(collection)
        self.collection_, self.encoder_ = collection, encoder
        self._rows, self._centres = np.asarray(rows, dtype=np.int64), stored.state.centres
        self.names_ = {topic.id: topic.name for topic in stored.clusters.clusters}
        self.labels_ = self.topics_ = grouped.ids[grouped.groups[self._rows]]
        later = np.ones(len(collection) - len(stored.state.belongs), dtype=bool)
        self.belongs_ = np.concatenate([stored.state.belongs, later])[self._rows]
        self._n_features_out = len(self._centres)
        return self

    def transform(self, dialogues: Any) -> NDArray[np.float32]:
        """Return the cosine of each dialogue to each topic's centre, float32 [n, topics], in the order of `names_`."""
        check_is_fitted(self)
        collection = self.collection_
        units = unit_rows(self.encoder_.encode(as_dialogues(dialogues)[0]))
        units = units if collection.adaptation is None else collection.adaptation(units)
        return np.asarray(units @ self._centres.T)

    def fit_transform(self, dialogues: Any, y: object = None) -> NDArray[np.float32]:
        """Fit, and return the `transform` of the same dialogues, which are read once."""
        self.fit(dialogues)
        return np.asarray(self.collection_.adapted[self._rows] @ self._centres.T)

    def predict(self, dialogues: Any) -> NDArray[np.int64]:
        """Return the id of the topic whose centre is nearest to each dialogue, int64 [n].

        Few of the fitted dialogues are nearer to another topic than to their own, which `topics_` gives.
        """
        nearest = self.transform(dialogues).argmax(axis=1)
        return np.array([*self.names_], dtype=np.int64)[nearest]

    def approximate_distribution(self, dialogues: Any, *, window: int = WINDOW) -> NDArray[np.float32]:
        """Return the share of each topic in each dialogue, float32 [n, topics], in the order of `names_`.

        A row sums to 1. Every `window` consecutive turns count for the topic nearest to them, by their words.
        """
        check_is_fitted(self)
        given = as_dialogues(dialogues)[0]
        pieces = [
            (place, replace(dialogue, turns=dialogue.turns[first : first + window]))
            for place, dialogue in enumerate(given)
            for first in range(max(1, len(dialogue.turns) - window + 1))
        ]
        shares = np.zeros((len(given), len(self.names_)), dtype=np.float32)
        if pieces:
            nearest = self.transform([piece for _, piece in pieces]).argmax(axis=1)
            weights = [1 + sum(len(words(turn.text)) for turn in piece.turns) for _, piece in pieces]
            np.add.at(shares, ([place for place, _ in pieces], nearest), weights)
            shares /= shares.sum(axis=1, keepdims=True)
        return shares

    def get_topic_info(self) -> pd.DataFrame:
        """Return one row per topic, the largest first: the columns of `Collection.groups`."""
        check_is_fitted(self)
        return self.collection_.groups()

    def topics_over_time(self, timestamps: Any = None, *, over: Period = "week") -> pd.DataFrame:
        """Return the share of each topic in each period, and whether it differs from all earlier ones.

        :param timestamps: time of each fitted dialogue, whatever `pandas.to_datetime` takes; None takes their dates.
        :param over: "day", "week" or "month".
        :return: the columns of `dial2vec.collection.changes.groups_over_time`.
        :raises CorpusError: if no dialogue has a date.
        :raises ValueError: if there are not as many timestamps as dialogues.
        """
        from dial2vec.collection.changes.over_time import groups_over_time

        check_is_fitted(self)
        dated = Collection(self.collection_.folder)
        if timestamps is not None:
            import pandas as pd
            import pyarrow as pa

            times = pd.DatetimeIndex(pd.to_datetime(list(timestamps), utc=True)).tz_localize(None)
            check_consistent_length(self._rows, times)
            own = np.full(len(dated), np.datetime64("NaT", "s"))
            own[self._rows] = times.to_numpy().astype("datetime64[s]")
            field = ROWS.field("date")
            dated.rows = dated.rows.set_column(ROWS.names.index("date"), field, pa.array(own).cast(field.type))
        return groups_over_time(dated, over)

    def save(self, folder: str | Path) -> None:
        """Write a copy of the collection, which `load` and every command open; atomic.

        :raises ArtifactError: if the folder holds anything but a collection.
        """
        check_is_fitted(self)
        if Path(folder).exists() and not (Path(folder) / MANIFEST).is_file() and any(Path(folder).iterdir()):
            raise ArtifactError(f"{folder} holds something else than a collection, which would go. Name a new folder.")
        with atomic_path(Path(folder)) as temporary:
            shutil.copytree(self.collection_.folder, temporary, ignore=shutil.ignore_patterns(".lock"))

    @classmethod
    def load(cls, folder: str | Path) -> DialogueTopics:
        """Return the topics of any collection that has clusters, as fitted on all of its dialogues.

        :raises ArtifactError: if the folder is no collection, or has no clusters.
        """
        collection = Collection(folder)
        encoder = load_encoder(collection.model)
        return cls(model=collection.model, folder=folder)._take(collection, encoder, range(len(collection)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags
