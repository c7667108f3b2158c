"""A collection as tables for SQL and DataFrames, beside those of its segments and its lenses; docs/sql.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from conversations.files import atomic_path
from dial2vec.collection.clustering.clusters import read_assigned, stored_clusters
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.describing import read_descriptions
from dial2vec.collection.explorer.maps import read_map
from dial2vec.data.metadata import typed_columns
from dial2vec.errors import CorpusError

# Columns of the rows, and those of `assignment.parquet` with their names here.
OF_ROWS = ("dialogue_id", "date", "turns", "words", "speakers", "labels")
ASSIGNED = {"cluster": "topic_id", "name": "topic", "area": "area", "fine": "fine_topic", "similarity": "cosine"}
ASSIGNED |= {name: name for name in ("margin", "belongs")}


def tables_of(collection: CollectionFolder) -> dict[str, pa.Table]:
    """Return the tables of a collection by name, without texts of turns; docs/sql.md lists their columns.

    :raises ArtifactError: if the collection has no clusters, or a file is damaged.
    """
    clusters = stored_clusters(collection).clusters
    described = read_descriptions(collection) or {"clusters": {}, "areas": {}}
    shown = {cluster.id for cluster in clusters.shown}
    fine = [topic for topic in clusters.fine if topic.cluster in shown]
    return {
        "conversations": _conversations(collection),
        "topics": _groups(clusters.shown, described["clusters"], area="area_id", stability="stability"),
        "areas": _groups(clusters.areas, described["areas"]),
        "fine_topics": _groups(fine, {}, cluster="topic_id"),
    }


def write_tables(collection: CollectionFolder, folder: Path) -> dict[str, int]:
    """Write `tables_of` as Parquet files, which replace those in the folder as a whole; return their numbers of rows.

    :raises CorpusError: if the folder holds other files.
    """
    tables = tables_of(collection)
    own = {f"{name}.parquet" for name in tables}
    if folder.exists() and (not folder.is_dir() or not own >= {path.name for path in folder.iterdir()}):
        raise CorpusError(f"{folder} holds other files, which writing would remove. Give a new or an empty folder.")
    with atomic_path(folder) as temporary:
        temporary.mkdir()
        for name, table in tables.items():
            pq.write_table(table, temporary / f"{name}.parquet", write_page_checksum=True)
    return {name: len(table) for name, table in tables.items()}


def _conversations(collection: CollectionFolder) -> pa.Table:
    rows, assigned = collection.rows, read_assigned(collection, ["dialogue_id", *ASSIGNED])
    drawn = read_map(file, collection) if (file := collection.folder / "map" / "trained.npz").exists() else None
    # Dialogues that were added since have none.
    places = pc.index_in(rows["dialogue_id"], value_set=assigned["dialogue_id"])
    columns = {name: assigned[was].take(places) for was, name in ASSIGNED.items()}
    for place, name in enumerate("xy"):
        points = [] if drawn is None else drawn.points[:, place].tolist()
        columns[name] = pa.array(points + [None] * (len(rows) - len(points)), pa.float32())
    metadata = typed_columns(rows["metadata"], collection.metadata_kinds)
    return pa.table({name: rows[name] for name in OF_ROWS} | columns | metadata)


def _groups(groups: Sequence[Any], described: dict[str, Any], **more: str) -> pa.Table:
    """Return a row per group, with summaries of `read_descriptions`; `more` names columns of further attributes."""
    names = {"id": "id", "name": "name", "size": "size"} | more
    columns = {column: [getattr(group, name) for group in groups] for name, column in names.items()}
    terms = pa.array([[term.text for term in group.terms] for group in groups], pa.list_(pa.string()))
    summaries = [described.get(str(group.id), {}).get("summary") or None for group in groups]
    return pa.table(columns | {"terms": terms, "description": pa.array(summaries, pa.string())})
