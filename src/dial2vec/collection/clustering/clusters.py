"""Reading and writing clusters, in the folder `clusters` of a collection.

`clusters.json` is written last and names its file of centres and assignment. So a killed run leaves the old clusters.
It also holds the clusters before, which `restore_clusters` brings back.
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

from dial2vec.collection.clustering.levels import Area, FineTopic
from dial2vec.collection.clustering.partition import Groups, Vectors, assign
from dial2vec.collection.clustering.terms import Term
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.data.metadata import METADATA_PREFIX, typed_columns
from dial2vec.errors import ArtifactError
from dial2vec.files import atomic_path, folder_lock, read_json, write_json

FORMAT = 3
# Format 2 had no areas and no fine topics, but `considered`.
READABLE = (2, FORMAT)


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
    :param borderline: ids of the dialogues that are almost as close to another centre, or closer.
    :param area: id of its area.
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
    area: int = 0


@dataclass(frozen=True, slots=True)
class Clusters:
    """All clusters of a collection.

    :param fingerprint: fingerprint of the collection's encoder.
    :param by: "communities" or "k"; "density" in clusters of older versions.
    :param seed: random seed.
    :param agreement: mean adjusted Rand index with the clusters of halves, at most 1.
    :param seen: number of assigned dialogues, the first ones of the collection.
    :param settled: number of dialogues at the last clustering from scratch.
    :param next_id: id of the next new cluster.
    :param clusters: clusters in the order of their centres.
    :param news: changes since the last run, in sentences.
    :param areas: groups of clusters.
    :param fine: parts of clusters.
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
    areas: tuple[Area, ...] = ()
    fine: tuple[FineTopic, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterState:
    """Arrays of the clusters.

    :param centres: centres of the clusters, vectors of length 1, [k, d].
    :param groups: cluster of each dialogue, as its place in `Clusters.clusters`, int32 [seen].
    :param fine_centres: centres of the fine topics, [m, d].
    :param fine_parents: cluster of each fine topic, as its place, int32 [m].
    :param fine: fine topic of each dialogue, int32 [seen].
    """

    centres: Vectors
    groups: Groups
    fine_centres: Vectors
    fine_parents: Groups
    fine: Groups


def folder_of(collection: CollectionFolder) -> Path:
    """Return the folder with the clusters of a collection."""
    return collection.folder / "clusters"


def read_clusters(collection: CollectionFolder) -> tuple[Clusters, Vectors] | None:
    """Return the clusters of a collection and their centres [k, d].

    :return: None if there are no clusters, or only clusters of another encoder or format.
    :raises ArtifactError: if the clusters are damaged.
    """
    existing = read_with_state(collection)
    return None if existing is None else (existing[0], existing[1].centres)


def read_with_state(collection: CollectionFolder) -> tuple[Clusters, ClusterState] | None:
    """Return the clusters of a collection and their arrays, like `read_clusters`."""
    folder = folder_of(collection)
    if not (folder / "clusters.json").exists():
        return None
    try:
        record = read_json(folder / "clusters.json")
        if record.get("format") not in READABLE or record["fingerprint"] != collection.manifest.fingerprint:
            return None
        return _parsed(record, collection)
    except (ArtifactError, OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise ArtifactError(
            f"{folder} cannot be read ({error}). `dial2vec cluster {collection.folder} --anew` makes new ones."
        ) from error


def _parsed(record: dict[str, Any], collection: CollectionFolder) -> tuple[Clusters, ClusterState]:
    fields = {key: value for key, value in record.items() if key not in ("format", "state", "previous", "considered")}
    clusters = _from_record(fields)
    with np.load(folder_of(collection) / record["state"]) as arrays:
        centres: Vectors = arrays["centres"]
        ids = np.asarray(arrays["assignment"], dtype=np.int32)
        fine = [arrays[name] for name in ("fine_centres", "fine_parents", "fine") if name in arrays]
    if len(centres) != len(clusters.clusters) or not clusters.seen == len(ids) <= len(collection):
        raise ValueError("centres and clusters do not match")
    order = np.argsort([cluster.id for cluster in clusters.clusters])
    known = np.sort([cluster.id for cluster in clusters.clusters])
    groups = order[np.searchsorted(known, ids)].astype(np.int32)
    if not fine:
        fine = [centres, np.arange(len(centres), dtype=np.int32), groups]
    return clusters, ClusterState(centres, groups, *fine)


def _from_record(record: dict[str, Any]) -> Clusters:
    clusters = tuple(
        Cluster(**_with_terms(cluster) | {key: tuple(cluster[key]) for key in ("typical", "borderline")})
        for cluster in record["clusters"]
    )
    areas = tuple(Area(**_with_terms(area)) for area in record.get("areas", []))
    fine = tuple(FineTopic(**_with_terms(topic)) for topic in record.get("fine", []))
    news = tuple(record["news"])
    return Clusters(**record | {"clusters": clusters, "news": news, "areas": areas, "fine": fine})


def _with_terms(record: dict[str, Any]) -> dict[str, Any]:
    return record | {"terms": tuple(Term(**term) for term in record["terms"])}


def read_assignment(collection: CollectionFolder) -> Groups:
    """Return the cluster id of each assigned dialogue, int32 [seen]."""
    folder = folder_of(collection)
    with np.load(folder / read_json(folder / "clusters.json")["state"]) as state:
        return np.asarray(state["assignment"], dtype=np.int32)


def write_clusters(collection: CollectionFolder, clusters: Clusters, state: ClusterState) -> None:
    """Write `assignment.parquet`, `assignment.csv`, centres and clusters; atomic as a whole.

    The clusters before are kept for `restore_clusters`, unless they are the same.
    """
    folder = folder_of(collection)
    ids = np.array([cluster.id for cluster in clusters.clusters], dtype=np.int32)[state.groups]
    arrays = {name: getattr(state, name) for name in ("centres", "fine_centres", "fine_parents", "fine")}
    digest = hashlib.sha256(b"".join(array.tobytes() for array in (*arrays.values(), ids))).hexdigest()[:16]
    path = folder / f"centres-{digest}.npz"
    with atomic_path(path) as temporary, temporary.open("wb") as handle:
        np.savez(handle, assignment=ids, **arrays)
    record = {"format": FORMAT, "state": path.name} | asdict(clusters)
    _write_tables(collection, clusters, state)
    _write_record(folder, record, _previous(folder, record))


def restore_clusters(collection: CollectionFolder) -> Clusters:
    """Bring back the clusters before the last clustering, and return them; a second call undoes the first.

    :raises ArtifactError: if there are none, or they are damaged.
    """
    folder = folder_of(collection)
    with folder_lock(folder, "writes to"):
        record = read_json(folder / "clusters.json") if (folder / "clusters.json").exists() else {}
        before = record.pop("previous", None)
        if not before:
            raise ArtifactError(
                f"{folder} holds no earlier clusters; expected those before the last `dial2vec cluster`. "
                "There is nothing to undo."
            )
        try:
            clusters, state = _parsed(before, collection)
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise ArtifactError(
                f"the earlier clusters in {folder} cannot be read ({error}). Keep those of today."
            ) from error
        _write_tables(collection, clusters, state)
        _write_record(folder, before, record)
    return clusters


def _previous(folder: Path, record: dict[str, Any]) -> dict[str, Any] | None:
    """Return the record of the clusters to keep beside new ones; None if there are none."""
    try:
        now = read_json(folder / "clusters.json")
    except (ArtifactError, OSError):
        return None
    before: dict[str, Any] | None = now.pop("previous", None)
    return before if now["state"] == record["state"] else now


def _write_record(folder: Path, record: dict[str, Any], previous: dict[str, Any] | None) -> None:
    """Write `clusters.json`, and remove the arrays that it does not name."""
    write_json(folder / "clusters.json", record | {"previous": previous})
    named = {record["state"], (previous or {}).get("state")}
    for path in folder.glob("centres-*.npz"):
        if path.name not in named:
            path.unlink()


def _write_tables(collection: CollectionFolder, clusters: Clusters, state: ClusterState) -> None:
    """Write the assignment of the dialogues that the clusters have seen."""
    folder, seen = folder_of(collection), clusters.seen
    assignment = assign(collection.vectors[:seen], state.centres, known=state.groups)
    by_place = list(clusters.clusters)
    names, areas = {area.id: area.name for area in clusters.areas}, [cluster.area for cluster in by_place]
    places = pa.array(state.groups)
    table = pa.table(
        {
            "dialogue_id": collection.rows["dialogue_id"][:seen],
            "cluster": pa.array([cluster.id for cluster in by_place], pa.int32()).take(places),
            "similarity": assignment.similarity,
            "margin": assignment.margin,
            "name": pa.array([cluster.name for cluster in by_place], pa.string()).take(places),
            "area": pa.array([names.get(area) for area in areas], pa.string()).take(places),
        }
        | ({"fine": pa.array([topic.name for topic in clusters.fine]).take(state.fine)} if clusters.fine else {})
        | typed_columns(collection.rows["metadata"][:seen], collection.metadata_kinds)
    )
    with atomic_path(folder / "assignment.parquet") as temporary:
        pq.write_table(table, temporary)
    with atomic_path(folder / "assignment.csv") as temporary:
        pc.write_csv(_without_formulas(table), temporary)


def _without_formulas(table: pa.Table) -> pa.Table:
    """Put ' before texts of metadata that a spreadsheet would take for formulas, as the explorer does."""
    for place, column in enumerate(table.schema):
        if column.name.startswith(METADATA_PREFIX) and column.type == pa.string():
            safe = replace_substring_regex(table[place], r"\A([=+\-@\t\r])", r"'\1")
            table = table.set_column(place, column.name, safe)
    return table
