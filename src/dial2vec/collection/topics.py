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
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from conversations.dialogue import write_dialogues
from conversations.files import atomic_path
from dial2vec.collection.adding import add
from dial2vec.collection.changes.over_time import Period, groups_over_time
from dial2vec.collection.clustering.clustering import cluster
from dial2vec.collection.clustering.clusters import stored_clusters
from dial2vec.collection.collection import Collection
from dial2vec.collection.collection_folder import MANIFEST, ROWS
from dial2vec.collection.look import clusters_of
from dial2vec.encoder.conversations import as_dialogues
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.names import GENERAL
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.vectorizer import DialogueTransformer
from dial2vec.errors import ArtifactError, CorpusError

if TYPE_CHECKING:
    import pandas as pd


class DialogueTopics(ClusterMixin, DialogueTransformer):
    """The topics of dialogues: the clusters of a collection, which does the work.

    Dialogues are what an encoder's `encode` takes: `Dialogue`s, lists of messages, texts, or a table.

    :param n_topics: number of topics; None finds it.
    :param model: name or folder of the encoder, see `dial2vec.load_encoder`.
    :param folder: folder of the collection; None is a temporary one, which goes with this object. `fit` adds to a
        collection that is there, and its topics keep their ids; give dialogues with ids of their own then, as texts
        are numbered from 0. What was added stays, even if `fit` raises.
    :param random_state: seed of the clusters.

    Attributes after `fit`: `topics_` and `labels_`, the topic id of each dialogue, int32 [n]; `belongs_`, False for
    those that are like no others, and only nearest to their topic, bool [n]; `names_`, the name of each topic by its
    id; `collection_`, the `Collection`; `encoder_`. A pickle predicts without the folder, which `save` keeps.
    """

    def __init__(
        self,
        n_topics: int | None = None,
        *,
        model: str | Path = GENERAL,
        folder: str | Path | None = None,
        random_state: int | np.random.RandomState | None = 1,
    ) -> None:
        self.n_topics = n_topics
        self.model = model
        self.folder = folder
        self.random_state = random_state

    def fit(self, dialogues: Any, y: object = None) -> DialogueTopics:
        """Make the collection and its topics; `y` is ignored.

        :raises CorpusError: if there are fewer than 2 dialogues, or one cannot be used, or two have the same id.
        :raises ArtifactError: if the folder is no collection, or one of another encoder.
        """
        given, encoder = as_dialogues(dialogues)[0], load_encoder(self.model)
        if len(given) < (least := 2 if self.folder is None else 1):
            raise CorpusError(f"found {len(given)} dialogues to group; expected at least {least}. Give more of them.")
        temporary = TemporaryDirectory(prefix="dial2vec-")
        folder, file = Path(self.folder or Path(temporary.name, "topics")), Path(temporary.name, "dialogues.jsonl")
        write_dialogues(file, dict.fromkeys(given))
        added = add(folder, file, encoder=encoder, progress=False, turns=False)
        if added.quarantine_file is not None:
            reason = json.loads(added.quarantine_file.read_text(encoding="utf-8").splitlines()[0])["reason"]
            raise CorpusError(f"{added.quarantine} of {len(given)} dialogues cannot be used: {reason}. Mend them.")
        collection = Collection(folder)
        # The folder goes with the last object that needs it.
        vars(collection)["temporary"] = temporary
        seed = self.random_state
        if not isinstance(seed, int):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        cluster(collection, k=self.n_topics, seed=seed)
        return self._take(collection, [collection.row(dialogue.dialogue_id) for dialogue in given])

    def _take(self, collection: Collection, rows: Sequence[int]) -> DialogueTopics:
        """Take over what a clustered collection says about its fitted rows."""
        self._rows, stored = np.array(rows), stored_clusters(collection)
        self.collection_, self.encoder_ = collection, load_encoder(collection.model)
        self.names_ = {topic.id: topic.name for topic in stored.clusters.clusters}
        self.labels_ = self.topics_ = np.array([*self.names_], dtype=np.int32)[stored.state.groups[self._rows]]
        self.belongs_ = stored.state.belongs[self._rows]
        self._centres, self._n_features_out = stored.state.centres, len(self.names_)
        return self

    def transform(self, dialogues: Any) -> NDArray[np.float32]:
        """Return the cosine of each dialogue to each topic's centre, float32 [n, topics], in the order of `names_`."""
        check_is_fitted(self)
        units = unit_rows(self.encoder_.encode(as_dialogues(dialogues)[0]))
        adaptation = self.collection_.adaptation
        return np.asarray((units if adaptation is None else adaptation(units)) @ self._centres.T)

    def fit_transform(self, dialogues: Any, y: object = None) -> NDArray[np.float32]:
        """Fit, and return the `transform` of the same dialogues, which are read once."""
        self.fit(dialogues)
        return np.asarray(self.collection_.adapted[self._rows] @ self._centres.T)

    def predict(self, dialogues: Any) -> NDArray[np.int32]:
        """Return the id of the topic nearest to each dialogue, int32 [n]; few of `topics_` differ."""
        nearest = self.transform(dialogues).argmax(axis=1)
        return np.array([*self.names_], dtype=np.int32)[nearest]

    def approximate_distribution(self, dialogues: Any, *, window: int = 4) -> NDArray[np.float32]:
        """Return the share of each topic in each dialogue, float32 [n, topics], in the order of `names_`.

        A row sums to 1. Every `window` consecutive turns count for the topic nearest to them, by their length.
        """
        given = as_dialogues(dialogues)[0]
        counts = [max(1, len(dialogue.turns) - window + 1) for dialogue in given]
        pieces = [
            replace(dialogue, turns=dialogue.turns[first : first + window])
            for dialogue, count in zip(given, counts, strict=True)
            for first in range(count)
        ]
        shares = np.zeros((len(given), len(self.names_)), dtype=np.float32)
        rows, nearest = np.repeat(np.arange(len(given)), counts), self.transform(pieces).argmax(axis=1)
        np.add.at(shares, (rows, nearest), [len(piece.text) for piece in pieces])
        return shares / shares.sum(axis=1, keepdims=True)

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
        check_is_fitted(self)
        dated = Collection(self.collection_.folder)
        if timestamps is not None:
            import pandas as pd

            times = pd.to_datetime(list(timestamps), utc=True).tz_localize(None)
            check_consistent_length(self._rows, times)
            own = np.full(len(dated), np.datetime64("NaT", "s"))
            own[self._rows] = times
            field = ROWS.field("date")
            dated.rows = dated.rows.set_column(ROWS.names.index("date"), field, pa.array(own).cast(field.type))
        return groups_over_time(dated, over)

    def save(self, folder: str | Path) -> None:
        """Write a copy of the collection, which `load` and every command open; atomic.

        :raises ArtifactError: if the folder holds anything but a collection.
        """
        check_is_fitted(self)
        if Path(folder).exists() and not Path(folder, MANIFEST).is_file():
            raise ArtifactError(f"{folder} is there and no collection; expected a new folder. Name another.")
        with atomic_path(Path(folder)) as temporary:
            shutil.copytree(self.collection_.folder, temporary, ignore=shutil.ignore_patterns(".lock"))

    @classmethod
    def load(cls, folder: str | Path) -> DialogueTopics:
        """Return the topics of any collection of at least 2 dialogues, as fitted on all of them."""
        collection = Collection(folder)
        clusters_of(collection)
        return cls(model=collection.model, folder=folder)._take(collection, range(len(collection)))
