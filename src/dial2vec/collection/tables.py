"""A collection as tables for SQL and DataFrames: conversations, topics, areas, fine topics, segments, answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from conversations.files import atomic_path
from dial2vec.collection.clustering.clusters import folder_of, stored_clusters
from dial2vec.collection.collection_folder import FACETS, CollectionFolder, readable
from dial2vec.collection.describing import read_descriptions
from dial2vec.collection.explorer.maps import stored_map
from dial2vec.collection.segments.segments import read_segments, segments_folder
from dial2vec.data.metadata import typed_columns
from dial2vec.errors import CorpusError

# Columns of `assignment.parquet` that have other names here, and those that keep theirs.
RENAMED = {"cluster": "topic_id", "name": "topic", "fine": "fine_topic", "similarity": "cosine"}
KEPT = ("area", "margin", "belongs")
OF_ROWS = ("dialogue_id", "date", "turns", "words", "speakers", "labels")
ANSWER = ("dialogue_id", "value", "probability", "turn", "speaker")


def tables_of(collection: CollectionFolder) -> dict[str, pa.Table]:
    """Return the tables of a collection by name; docs/sql.md lists their columns.

    There is no text of a turn in them. Hidden topics are left out. Places on the map are null until `dial2vec explore`
    has drawn it; `segments` and `answers` are there once `dial2vec segments` and `dial2vec facet` have run.

    :raises ArtifactError: if the collection has no clusters, or a file is damaged.
    """
    clusters = stored_clusters(collection).clusters
    described = read_descriptions(collection) or {"clusters": {}, "areas": {}}
    fine = [topic for topic in clusters.fine if topic.cluster in {shown.id for shown in clusters.shown}]
    tables = {
        "conversations": _conversations(collection),
        "topics": _groups(clusters.shown, described["clusters"], area="area_id", stability="stability"),
        "areas": _groups(clusters.areas, described["areas"]),
        "fine_topics": _groups(fine, {}, cluster="topic_id"),
    }
    if (segments_folder(collection) / "topics.json").exists():
        read_segments(collection)
        tables["segments"] = pq.read_table(segments_folder(collection) / "segments.parquet")
    answers = []
    for path in sorted((collection.folder / FACETS).glob("*.parquet")):
        answer = pq.read_table(path, columns=list(ANSWER))
        answers.append(answer.add_column(1, "question", pa.array([path.stem] * len(answer), pa.string())))
    return tables | ({"answers": pa.concat_tables(answers)} if answers else {})


def write_tables(collection: CollectionFolder, folder: Path) -> dict[str, int]:
    """Write `tables_of` as Parquet files, which replace those in the folder as a whole; return their numbers of rows.

    :raises CorpusError: if the folder holds other files.
    """
    if folder.exists() and (not folder.is_dir() or any(path.suffix != ".parquet" for path in folder.iterdir())):
        raise CorpusError(f"{folder} holds other files, which writing would remove. Give a new or an empty folder.")
    tables = tables_of(collection)
    with atomic_path(folder) as temporary:
        temporary.mkdir()
        for name, table in tables.items():
            pq.write_table(table, temporary / f"{name}.parquet")
    return {name: len(table) for name, table in tables.items()}


def _conversations(collection: CollectionFolder) -> pa.Table:
    rows, path, drawn = collection.rows, folder_of(collection) / "assignment.parquet", stored_map(collection)
    columns = {name: rows[name] for name in OF_ROWS}
    with readable(path, f"; expected the topic of each dialogue. Run `dial2vec cluster {collection.folder}`."):
        assigned = pq.read_table(path)
        # Dialogues that were added since have none.
        places = pc.index_in(rows["dialogue_id"], value_set=assigned["dialogue_id"])
        columns |= {RENAMED.get(name, name): assigned[name].take(places) for name in (*RENAMED, *KEPT)}
    for place, name in enumerate("xy"):
        points = [] if drawn is None else drawn.points[:, place].tolist()
        columns[name] = pa.array(points + [None] * (len(rows) - len(points)), pa.float32())
    return pa.table(columns | typed_columns(rows["metadata"], collection.metadata_kinds))


def _groups(groups: Sequence[Any], described: dict[str, Any], **more: str) -> pa.Table:
    """Return a row for each topic, area or fine topic.

    :param described: records of `read_descriptions` by id.
    :param more: names of the columns of further attributes, by attribute.
    """
    names = {"id": "id", "name": "name", "size": "size"} | more
    columns = {column: [getattr(group, name) for group in groups] for name, column in names.items()}
    terms = pa.array([[term.text for term in group.terms] for group in groups], pa.list_(pa.string()))
    records = [described.get(str(group.id), {}) for group in groups]
    summaries = [record["summary"] if record.get("by") == "model" else None for record in records]
    return pa.table(columns | {"terms": terms, "description": pa.array(summaries, pa.string())})
