"""A collection with what people do with it, as tables of pandas."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from dial2vec.collection.clustering.clustering import cluster
from dial2vec.collection.clustering.clusters import Clusters, read_clusters
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.search.filters import Filters
from dial2vec.collection.search.search import Search
from dial2vec.dialogue import Dialogue

if TYPE_CHECKING:
    import pandas as pd


class Collection(CollectionFolder):
    """Dialogues with their vectors. Open the collection again to see dialogues that were added since.

    :param folder: folder made by `dial2vec.collection.add`.
    :raises ArtifactError: if the folder is no collection.
    """

    @cached_property
    def _search(self) -> Search:
        return Search(self)

    def search(self, query: str | Dialogue, k: int = 10, *, filters: Filters | None = None) -> pd.DataFrame:
        """Find the dialogues most similar to a query, best first; the encoder is loaded at the first call.

        :param query: text, or a dialogue.
        :param k: number of dialogues; fewer if fewer pass the filters.
        :return: one row per dialogue: `dialogue_id`, `cosine`, `labels`, `date`, and the turn that contributes most to
            the cosine: `turn` (its number, from 0), `speaker`, `text`.
        :raises CorpusError: if a filter names an unknown label, speaker or key, or is invalid.
        """
        import pandas as pd

        rows = [
            {"dialogue_id": hit.dialogue_id, "cosine": hit.cosine, "labels": hit.labels, "date": hit.date}
            | {"turn": hit.turns[0].number, "speaker": hit.turns[0].speaker, "text": hit.turns[0].text}
            for hit in self._search.find(query, k, filters=filters, n_turns=1)
        ]
        columns = ["dialogue_id", "cosine", "labels", "date", "turn", "speaker", "text"]
        return pd.DataFrame(rows, columns=columns)

    def groups(self, *, k: int | None = None, seed: int = 1, from_scratch: bool = False) -> pd.DataFrame:
        """Return the clusters, largest first; dialogues are clustered if there are none, or dialogues were added.

        The parameters and errors are those of `dial2vec.collection.clustering.cluster`, which writes the clusters.

        :return: one row per cluster, indexed by `id`: `name`, `size`, `share` of all dialogues, `stability`, `area`
            (its name), `fine` (names of its fine topics), `typical` (ids of dialogues).
        """
        import pandas as pd

        existing = None if k is not None or from_scratch else read_clusters(self)
        if existing is not None and existing[0].fine and existing[0].seen == len(self):
            clusters = existing[0]
        else:
            clusters = cluster(self, k=k, seed=seed, from_scratch=from_scratch)
        return pd.DataFrame(_rows_of(clusters)).set_index("id").sort_values("size", ascending=False, kind="stable")


def _rows_of(clusters: Clusters) -> list[dict[str, object]]:
    areas = {area.id: area.name for area in clusters.areas}
    return [
        {"id": group.id, "name": group.name, "size": group.size, "share": group.size / max(1, clusters.seen)}
        | {"stability": group.stability, "area": areas[group.area]}
        | {"fine": [topic.name for topic in clusters.fine if topic.cluster == group.id], "typical": list(group.typical)}
        for group in clusters.clusters
    ]
