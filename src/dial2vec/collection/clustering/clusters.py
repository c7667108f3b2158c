"""Reading and writing clusters, in the folder `clusters` of a collection.

`clusters.json` is written last and names its file of centres and assignment. So a killed run leaves the old clusters.
"""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
from pyarrow.compute import replace_substring_regex

from dial2vec.collection.clustering.partition import Assignment, Groups, Vectors
from dial2vec.collection.clustering.terms import Term
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.data.metadata import METADATA_PREFIX, typed_columns
from dial2vec.errors import ArtifactError
from dial2vec.files import atomic_path, read_json, write_json

FORMAT = 2


@dataclass(frozen=True, slots=True)
class Cluster:
    """A group of dialogues.

    :param id: number from 0, which stays the same as long as the cluster exists.
    :param name: first terms of the cluster; the name stays the same, too.
    :param terms: terms of the cluster, the most characteristic first.
    :param size: number of dialogues, possibly 0.
    :param stability: mean largest Jaccard index with a cluster of half the dialogues, in [0, 1].
    :param halves: agreement of `stability.Stability` if the cluster is split into two, in [-1, 1].
    :param far: 2 % quantile of its dialogues' cosines to the centre; a new dialogue below it is far away.
    :param typical: ids of the dialogues closest to the centre.
    :param borderline: ids of the dialogues that are almost as close to another centre.
    """

    id: int
    name: str
    terms: tuple[Term, ...]
    size: int
    stability: float
    halves: float
    far: float
    typical: tuple[str, ...]
    borderline: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Clusters:
    """All clusters of a collection.

    :param fingerprint: fingerprint of the collection's encoder.
    :param by: "k" or "density".
    :param seed: random seed.
    :param agreement: mean adjusted Rand index with the clusters of halves, at most 1.
    :param seen: number of assigned dialogues, the first ones of the collection.
    :param settled: number of dialogues at the last clustering from scratch.
    :param next_id: id of the next new cluster.
    :param clusters: clusters in the order of their centres.
    :param news: changes since the last run, in sentences.
    :param considered: pairs of number of clusters and agreement, if the number was chosen by stability.
    """

    fingerprint: str
    by: str
    seed: int
    agreement: float
    seen: int
    settled: int
    next_id: int
    clusters: tuple[Cluster, ...]
    news: tuple[str, ...] = ()
    considered: tuple[tuple[int, float], ...] = ()


def folder_of(collection: CollectionFolder) -> Path:
    """Return the folder with the clusters of a collection."""
    return collection.folder / "clusters"


def read_clusters(collection: CollectionFolder) -> tuple[Clusters, Vectors] | None:
    """Return the clusters of a collection and their centres [k, d].

    :return: None if there are no clusters, or only clusters of another encoder or format.
    :raises ArtifactError: if the clusters are damaged.
    """
    folder = folder_of(collection)
    if not (folder / "clusters.json").exists():
        return None
    try:
        record = read_json(folder / "clusters.json")
        if record.pop("format") != FORMAT or record["fingerprint"] != collection.manifest.fingerprint:
            return None
        with np.load(folder / record.pop("state")) as state:
            centres: Vectors = state["centres"]
        clusters = _from_record(record)
        if len(centres) != len(clusters.clusters) or clusters.seen > len(collection):
            raise ValueError("centres and clusters do not match")
    except (ArtifactError, OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise ArtifactError(
            f"{folder} cannot be read ({error}). `dial2vec cluster {collection.folder} --anew` makes new ones."
        ) from error
    return clusters, centres


def _from_record(record: dict[str, Any]) -> Clusters:
    clusters = tuple(
        Cluster(
            **cluster
            | {"terms": tuple(Term(**term) for term in cluster["terms"])}
            | {key: tuple(cluster[key]) for key in ("typical", "borderline")}
        )
        for cluster in record["clusters"]
    )
    pairs = tuple((int(k), float(agreement)) for k, agreement in record["considered"])
    return Clusters(**record | {"clusters": clusters, "news": tuple(record["news"]), "considered": pairs})


def read_assignment(collection: CollectionFolder) -> Groups:
    """Return the cluster id of each assigned dialogue, int32 [seen]."""
    folder = folder_of(collection)
    with np.load(folder / read_json(folder / "clusters.json")["state"]) as state:
        return np.asarray(state["assignment"], dtype=np.int32)


def write_clusters(collection: CollectionFolder, clusters: Clusters, centres: Vectors, assignment: Assignment) -> None:
    """Write `assignment.parquet`, `assignment.csv`, centres and clusters; atomic as a whole."""
    folder = folder_of(collection)
    ids = np.array([cluster.id for cluster in clusters.clusters], dtype=np.int32)[assignment.groups]
    names = {cluster.id: cluster.name for cluster in clusters.clusters}
    table = pa.table(
        {
            "dialogue_id": collection.rows["dialogue_id"],
            "cluster": ids,
            "similarity": assignment.similarity,
            "margin": assignment.margin,
            "name": pa.array([names[id] for id in ids.tolist()], pa.string()),
        }
        | typed_columns(collection.rows["metadata"], collection.metadata_kinds)
    )
    digest = hashlib.sha256(centres.tobytes() + ids.tobytes()).hexdigest()[:16]
    state = folder / f"centres-{digest}.npz"
    with atomic_path(state) as temporary, temporary.open("wb") as handle:
        np.savez(handle, centres=centres, assignment=ids)
    with atomic_path(folder / "assignment.parquet") as temporary:
        pq.write_table(table, temporary)
    with atomic_path(folder / "assignment.csv") as temporary:
        pc.write_csv(_without_formulas(table), temporary)
    write_json(folder / "clusters.json", {"format": FORMAT, "state": state.name} | asdict(clusters))
    for older in folder.glob("centres-*.npz"):
        if older != state:
            older.unlink()


def _without_formulas(table: pa.Table) -> pa.Table:
    """Put ' before texts of metadata that a spreadsheet would take for formulas, as the explorer does."""
    for place, column in enumerate(table.schema):
        if column.name.startswith(METADATA_PREFIX) and column.type == pa.string():
            safe = replace_substring_regex(table[place], r"\A([=+\-@\t\r])", r"'\1")
            table = table.set_column(place, column.name, safe)
    return table
