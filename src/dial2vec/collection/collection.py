"""A collection with what people do with it, as tables of pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from html import escape
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from conversations.dialogue import Dialogue
from dial2vec.collection.clustering.clustering import cluster
from dial2vec.collection.clustering.clusters import Clusters, read_clusters
from dial2vec.collection.collection_folder import CollectionFolder, sampled
from dial2vec.collection.describing import read_descriptions
from dial2vec.collection.search.filters import Filters
from dial2vec.collection.search.search import Asked, Search
from dial2vec.errors import ArtifactError

if TYPE_CHECKING:
    import pandas as pd

    from dial2vec.collection.changes import GroupChanges
    from dial2vec.collection.lenses import Lens


class Collection(CollectionFolder):
    """Dialogues with their vectors. Open the collection again to see dialogues that were added since.

    :param folder: folder made by `dial2vec.collection.add`.
    :raises ArtifactError: if the folder is no collection.
    """

    @cached_property
    def _search(self) -> Search:
        return Search(self)

    def search(
        self,
        query: str | Dialogue,
        k: int = 10,
        *,
        filters: Filters | None = None,
        way: Asked = "auto",
        unlike: Sequence[str | Dialogue] = (),
    ) -> pd.DataFrame:
        """Find the dialogues most similar to a query, best first; the encoder is loaded at the first call.

        :param query: text, or a dialogue.
        :param k: number of dialogues; fewer if fewer pass the filters.
        :param way: "moments" finds by single turns, "themes" by whole dialogues; "auto" chooses.
        :param unlike: texts or dialogues whose meaning to avoid.
        :return: one row per dialogue: `dialogue_id`, `cosine`, `labels`, `date`, and the turn that answers
            best: `turn` (its number, from 0), `speaker`, `text`.
        :raises CorpusError: if a filter names an unknown label, speaker or key, or is invalid.
        """
        import pandas as pd

        rows = [
            {"dialogue_id": hit.dialogue_id, "cosine": hit.cosine, "labels": hit.labels, "date": hit.date}
            | {"turn": hit.turns[0].number, "speaker": hit.turns[0].speaker, "text": hit.turns[0].text}
            for hit in self._search.find(query, k, filters=filters, n_turns=1, way=way, unlike=unlike)
        ]
        columns = ["dialogue_id", "cosine", "labels", "date", "turn", "speaker", "text"]
        return pd.DataFrame(rows, columns=columns)

    def groups(self, *, k: int | None = None, seed: int = 1, from_scratch: bool = False) -> pd.DataFrame:
        """Return the clusters that are not hidden, largest first; they are made if needed, or if dialogues were added.

        The parameters and errors are those of `dial2vec.collection.clustering.cluster`, which writes the clusters.

        :return: one row per cluster, indexed by `id`: `name`, `size`, `share` of all dialogues, `stability`, `area`
            (its name), `fine` (names of its fine topics), `typical` (ids of dialogues); with descriptions of
            `dial2vec describe` also `described`, the language model's name, and `summary`, missing where it gave none.
        """
        import pandas as pd

        existing = None if k is not None or from_scratch else read_clusters(self)
        if existing is not None and existing[0].seen == len(self):
            clusters = existing[0]
        else:
            clusters = cluster(self, k=k, seed=seed, from_scratch=from_scratch)
        return (
            pd.DataFrame(_rows_of(clusters, read_descriptions(self)))
            .set_index("id")
            .sort_values("size", ascending=False, kind="stable")
        )

    def compare(
        self,
        other: CollectionFolder | None = None,
        *,
        before: str | None = None,
        after: str | None = None,
        filters: Filters | None = None,
    ) -> GroupChanges:
        """Return what changed between two periods, or from this collection to another, as tables.

        The errors are those of `dial2vec.collection.changes.compare_groups`, which has more parameters.

        :param other: collection by the same encoder.
        :param before: end of the first period, exclusive, an ISO date; None means `after`.
        :param after: start of the second period; None means `before`.
        :param filters: conditions that the dialogues of both sides must meet.
        :return: DataFrames `groups`, `metadata` and `terms`, the surest change first, and `dialogues` that show them.
        """
        from dial2vec.collection.changes import compare_groups

        return compare_groups(self, other, before=before, after=after, filters=filters)

    def segments(self, *, seed: int = 1) -> pd.DataFrame:
        """Return the segments of all dialogues; they are found first if there are none, or dialogues were added.

        :return: one row per segment: the columns of `dial2vec.collection.segments.segments_table`.
        :raises CorpusError: if the collection has fewer than 2 dialogues.
        """
        from dial2vec.collection.segments import find_segments, read_segments, segments_table

        try:
            seen = read_segments(self).seen
        except ArtifactError:
            seen = 0
        if seen != len(self):
            find_segments(self, seed=seed)
        return segments_table(self)

    def lens(
        self, name: str, labels: Mapping[str, str | Sequence[str]], examples: Mapping[str, str] = MappingProxyType({})
    ) -> Lens:
        """Give each dialogue one of a few labels, or none of them, and write them into the collection.

        Errors and the choice between learning and comparing are those of `dial2vec.collection.lenses.lens`.

        :param name: name of the lens, a key of the metadata from then on.
        :param labels: sentences that describe each label, such as `{"solved": "great, that works now"}`.
        :param examples: label by dialogue id; "none" for a dialogue that has none of them. They are added to those that
            the lens has.
        :return: the lens, with a row per dialogue in `table` and how good it is in `quality`.
        """
        from dial2vec.collection.lenses import LensLabel, lens
        from dial2vec.collection.lenses.examples import examples_file, read_examples

        examples = read_examples(examples_file(self.folder, name)) | dict(examples)
        given = {label: (text,) if isinstance(text, str) else tuple(text) for label, text in labels.items()}
        return lens(self, name, [LensLabel(label, texts) for label, texts in given.items()], examples)

    def show(self, *, height: int = 700, most: int = 2_000) -> Any:
        """Return the page of `dial2vec explore` for a cell of a notebook; missing groups and maps are made first.

        :param height: height of the page, in pixels.
        :param most: largest number of dialogues on the page, drawn at random.
        :return: with anywidget, a widget whose `selection` is the ids of the dialogues that are selected on the page;
            else HTML.
        """
        html = self._framed(height, most)
        if find_spec("anywidget") is None:
            from IPython.display import HTML

            return HTML(f"<div>{html}</div>")
        from dial2vec.collection.notebook import PageWidget

        return PageWidget(html=html)

    def _repr_html_(self) -> str | None:
        """Return the page if nothing is missing for it: a cell that only names a collection must not take minutes."""
        stored = read_clusters(self)
        ready = stored is not None and stored[0].seen == len(self) and (self.folder / "map" / "trained.npz").exists()
        return self._framed(700, 2_000) if ready else None

    def _framed(self, height: int, most: int) -> str:
        from dial2vec.collection.explorer.content import whole_content
        from dial2vec.collection.explorer.explorer_page import render_explorer, title_of
        from dial2vec.collection.explorer.maps import SEED, maps_of
        from dial2vec.collection.explorer.packing import packed
        from dial2vec.collection.look import clusters_of

        clusters_of(self)
        content = whole_content(self, maps_of(self, progress=False), sampled(len(self), most, SEED))
        page = escape(render_explorer(title_of(self.folder), content=packed(content)))
        # Without the notebook's origin: what was said in a dialogue must never become code in it.
        style = f"width: 100%; height: {height}px; box-sizing: border-box; border: 1px solid #8888"
        return f'<iframe sandbox="allow-scripts allow-downloads" style="{style}" srcdoc="{page}"></iframe>'


def _rows_of(clusters: Clusters, descriptions: dict[str, Any] | None) -> list[dict[str, object]]:
    areas = {area.id: area.name for area in clusters.areas}
    return [
        {"id": group.id, "name": group.name, "size": group.size, "share": group.size / max(1, clusters.seen)}
        | {"stability": group.stability, "area": areas[group.area]}
        | {"fine": [topic.name for topic in clusters.fine if topic.cluster == group.id], "typical": list(group.typical)}
        | ({} if descriptions is None else _described(descriptions["clusters"].get(str(group.id), {})))
        for group in clusters.shown
    ]


def _described(record: dict[str, Any]) -> dict[str, object]:
    """Return a language model's name and summary of a group, None without its answer."""
    answered = record.get("by") == "model"
    return {"described": record["name"] if answered else None, "summary": record["summary"] if answered else None}
