"""Reading and writing clusters, in the folder `clusters` of a collection.

`clusters.json` is written last and names its file of centres and assignment. So a killed run leaves the old clusters,
at worst beside new tables. It also holds the clusters before, which `dial2vec cluster --undo` brings back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from conversations.files import atomic_path, read_json, write_checked_json
from dial2vec.collection.clustering.levels import Area, FineTopic
from dial2vec.collection.clustering.partition import Groups, Vectors, assign, centres_of_groups
from dial2vec.collection.collection_folder import CollectionFolder, checked_table, readable
from dial2vec.collection.formulas import write_table
from dial2vec.data.metadata import typed_columns
from dial2vec.data.terms import Term
from dial2vec.errors import ArtifactError

FORMAT = 3
NOT_FIELDS = ("format", "state", "previous", "base")
# Arrays of a state in its file, beside `assignment`, the id of the cluster of each dialogue.
ARRAYS = ("centres", "fine_centres", "fine_parents", "fine", "split_off", "belongs")
# Share of a cluster's own dialogues that counts as far from its centre.
FAR_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class Cluster:
    """A group of dialogues.

    :param id: number from 0, which stays the same as long as the cluster exists.
    :param name: a phrase that its dialogues say, or its first terms; the name stays the same, too.
    :param terms: terms of the cluster, the most characteristic first.
    :param size: number of dialogues, possibly 0.
    :param stability: mean largest Jaccard index with a cluster of half the dialogues, in [0, 1].
    :param halves: agreement of `stability.Stability` if the cluster is split into two, in [-1, 1].
    :param far: 2 % quantile of its dialogues' cosines to the centre; a new dialogue below it is far away.
    :param typical: ids of the dialogues closest to the centre.
    :param borderline: ids of the dialogues that are almost as close to another centre, or closer.
    :param speaking: turns of each typical dialogue that speak for the cluster, from 0.
    :param hidden: True if people decided not to see it.
    :param unclear: True if nothing but names of people and places tells its dialogues from others.
    :param known: its name in `topics.yaml`; empty for a cluster that was found.
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
    speaking: tuple[tuple[int, ...], ...] = ()
    hidden: bool = False
    unclear: bool = False
    known: str = ""


@dataclass(frozen=True, slots=True)
class Clusters:
    """All clusters of a collection.

    :param by: "tree", "k", or "communities" in collections of earlier versions.
    :param agreement: mean adjusted Rand index with the clusters of halves, at most 1.
    :param seen: number of assigned dialogues, the first ones of the collection.
    :param settled: number of dialogues at the last clustering from scratch.
    :param next_id: id of the next new cluster.
    :param clusters: clusters in the order of their centres.
    :param news: changes since the last run, in sentences.
    :param areas: groups of clusters.
    :param fine: parts of clusters.
    :param lineage: name of the first clustering, after which ids went on.
    :param adapted: name of the adaptation of the vectors that the centres belong to; empty for plain vectors.
    :param emerging: rows of new dialogues of groups that may become clusters, but may be chance.
    :param topics: hash of the topics of `topics.yaml`; empty without any.
    :param outside: share of the dialogues that belong to nothing, in [0, 1].
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
    lineage: str = ""
    adapted: str = ""
    emerging: tuple[tuple[int, ...], ...] = ()
    topics: str = ""
    outside: float = 0.0

    @property
    def limits(self) -> NDArray[np.float64]:
        """The cosine to its centre below which a dialogue is far from a cluster, float64 [k]."""
        return np.array([cluster.far for cluster in self.clusters])

    @property
    def shown(self) -> tuple[Cluster, ...]:
        """The clusters that are not hidden."""
        return tuple(cluster for cluster in self.clusters if not cluster.hidden)


@dataclass(frozen=True, slots=True)
class ClusterState:
    """Arrays of the clusters.

    :param centres: centres of the clusters, vectors of length 1, [k, d].
    :param groups: cluster of each dialogue, as its place in `Clusters.clusters`, int32 [seen].
    :param fine_centres: centres of the fine topics, [m, d].
    :param fine_parents: cluster of each fine topic, as its place, int32 [m].
    :param fine: fine topic of each dialogue, int32 [seen].
    :param split_off: id and decision of each fine topic that was split off, as in `decisions.Decided`, int32 [m, 2].
    :param belongs: False for dialogues that belong to nothing and are only in the nearest cluster, bool [seen].
    """

    centres: Vectors
    groups: Groups
    fine_centres: Vectors
    fine_parents: Groups
    fine: Groups
    split_off: Groups
    belongs: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Stored:
    """The clusters of a collection on disk.

    :param clusters: clusters after people's decisions, with their arrays.
    :param base: clusters as they were found, with their arrays; the same ones without decisions.
    """

    clusters: Clusters
    state: ClusterState
    base: Clusters
    base_state: ClusterState


def none_split_off(m: int) -> Groups:
    """Return `ClusterState.split_off` of m fine topics of which none was."""
    return np.full((m, 2), -1, dtype=np.int32)


def folder_of(collection: CollectionFolder) -> Path:
    """Return the folder with the clusters of a collection."""
    return collection.folder / "clusters"


def read_clusters(collection: CollectionFolder) -> tuple[Clusters, Vectors] | None:
    """Return the clusters of a collection and their centres [k, d].

    :return: None if there are no clusters, or only clusters of another encoder or format.
    :raises ArtifactError: if the clusters are damaged.
    """
    existing = read_stored(collection)
    return None if existing is None else (existing.clusters, existing.state.centres)


def read_stored(collection: CollectionFolder) -> Stored | None:
    """Return the clusters of a collection with their arrays, after and before decisions, like `read_clusters`."""
    folder = folder_of(collection)
    if not (folder / "clusters.json").exists():
        return None
    with readable(folder, f". `dial2vec cluster {collection.folder} --from-scratch` makes new ones."):
        record = read_json(folder / "clusters.json")
        if record.get("format") != FORMAT or record["fingerprint"] != collection.manifest.fingerprint:
            return None
        return _stored(record, collection)


def stored_clusters(collection: CollectionFolder) -> Stored:
    """Return the clusters of a collection like `read_stored`; without any, raise `ArtifactError`."""
    if (existing := read_stored(collection)) is None:
        again = f"those of `dial2vec cluster {collection.folder}`. Run that first."
        raise ArtifactError(f"{collection.folder} has no groups; expected {again}")
    return existing


def _stored(record: dict[str, Any], collection: CollectionFolder) -> Stored:
    now = _parsed(record, collection)
    return Stored(*now, *(_parsed(record["base"], collection) if record.get("base") else now))


def _parsed(record: dict[str, Any], collection: CollectionFolder) -> tuple[Clusters, ClusterState]:
    clusters = from_record({key: value for key, value in record.items() if key not in NOT_FIELDS})
    with np.load(folder_of(collection) / record["state"]) as arrays:
        ids = np.asarray(arrays["assignment"], dtype=np.int32)
        if not {"assignment", *ARRAYS} >= set(arrays.files):
            raise ValueError("unknown arrays")
        # Earlier versions wrote no `belongs`.
        centres, *fine = (arrays[name] if name in arrays else np.ones(len(ids), dtype=bool) for name in ARRAYS)
    if len(centres) != len(clusters.clusters) or not clusters.seen == len(ids) <= len(collection):
        raise ValueError("centres and clusters do not match")
    known = np.array([cluster.id for cluster in clusters.clusters])
    order = np.argsort(known)
    groups = order[np.searchsorted(known, ids, sorter=order)].astype(np.int32)
    return _adapted(collection, clusters, ClusterState(centres, groups, *fine))


def _adapted(collection: CollectionFolder, clusters: Clusters, state: ClusterState) -> tuple[Clusters, ClusterState]:
    """Return clusters whose centres and limits belong to today's adaptation of the vectors."""
    name = "" if collection.adaptation is None else collection.adaptation.name
    if clusters.adapted == name:
        return clusters, state
    units = collection.adapted[: clusters.seen]
    centres = centres_of_groups(units, state.groups, len(state.centres))
    # A cluster without dialogues keeps its centre: a centre of zeros would be near to all that are far from the others.
    centres = np.where(centres.any(axis=1, keepdims=True), centres, state.centres)
    fine_centres = centres_of_groups(units, state.fine, len(state.fine_centres))
    state = replace(state, centres=centres, fine_centres=fine_centres)
    similarity, settled = assign(units, state.centres, known=state.groups).similarity, clusters.settled
    kept = tuple(
        replace(cluster, far=far_limit(similarity[:settled][state.groups[:settled] == place]))
        for place, cluster in enumerate(clusters.clusters)
    )
    return replace(clusters, clusters=kept, adapted=name), state


def least_cosines(limits: NDArray[np.float64], settled: Groups) -> NDArray[np.float64]:
    """Return the cosine below which no dialogue joins a cluster, float64 [k]: that of a cluster that has appeared.

    Beside a few large topics, the centre of a small new one is the nearest for dialogues that are far from all.

    :param limits: `Clusters.limits`, [k].
    :param settled: cluster of the dialogues that were clustered from scratch.
    """
    appeared = (np.bincount(settled, minlength=len(limits)) == 0) & (len(settled) > 0)
    return np.where(appeared, limits, -1.0)


def far_limit(similarity: Vectors) -> float:
    """Return the cosine to its centre below which a dialogue is far from a cluster, from those of its dialogues."""
    return float(np.quantile(similarity, FAR_SHARE)) if len(similarity) else 1.0


def from_record(record: dict[str, Any]) -> Clusters:
    """Return clusters from their fields in JSON."""
    clusters = tuple(
        Cluster(
            **_with_terms(cluster)
            | {key: tuple(cluster[key]) for key in ("typical", "borderline")}
            | {"speaking": tuple(map(tuple, cluster["speaking"]))}
        )
        for cluster in record["clusters"]
    )
    areas = tuple(Area(**_with_terms(area)) for area in record["areas"])
    fine = tuple(FineTopic(**_with_terms(topic)) for topic in record["fine"])
    lists = {"news": tuple(record["news"]), "emerging": tuple(map(tuple, record.get("emerging", ())))}
    return Clusters(**record | lists | {"clusters": clusters, "areas": areas, "fine": fine})


def _with_terms(record: dict[str, Any]) -> dict[str, Any]:
    return record | {"terms": tuple(Term(**term) for term in record["terms"])}


def read_assigned(collection: CollectionFolder, columns: Sequence[str]) -> pa.Table:
    """Return columns of `assignment.parquet`, a row for each dialogue that the clusters have seen.

    :raises ArtifactError: if it cannot be read, or lacks a column.
    """
    path = folder_of(collection) / "assignment.parquet"
    with readable(path, f"; expected the topic of each dialogue. Run `dial2vec cluster {collection.folder}`."):
        return checked_table(path, columns).select(columns)


def read_assignment(collection: CollectionFolder) -> Groups:
    """Return the cluster id of each assigned dialogue, int32 [seen]."""
    folder = folder_of(collection)
    with np.load(folder / read_json(folder / "clusters.json")["state"]) as state:
        return np.asarray(state["assignment"], dtype=np.int32)


def write_clusters(
    collection: CollectionFolder,
    clusters: Clusters,
    state: ClusterState,
    *,
    base: tuple[Clusters, ClusterState] | None = None,
    decided: bool = False,
) -> None:
    """Write centres, `assignment.parquet`, `assignment.csv` and last the clusters, each file atomically.

    The clusters before are kept for `swap_clusters`, unless they are the same.

    :param base: the clusters as they were found, if people decided otherwise.
    :param decided: True if nothing was clustered; the clusters to come back then stay those before.
    """
    folder = folder_of(collection)
    record = {"format": FORMAT, "state": _write_arrays(folder, clusters, state)} | asdict(clusters)
    if base is not None:
        record["base"] = {"state": _write_arrays(folder, *base)} | asdict(base[0])
    _write_tables(collection, clusters, state)
    _write_record(folder, record, _previous(folder, record, decided=decided))


def _write_arrays(folder: Path, clusters: Clusters, state: ClusterState) -> str:
    """Write the arrays into a file that is named by their content, and return its name."""
    ids = np.array([cluster.id for cluster in clusters.clusters], dtype=np.int32)[state.groups]
    arrays = {name: getattr(state, name) for name in ARRAYS}
    digest = hashlib.sha256(b"".join(array.tobytes() for array in (*arrays.values(), ids))).hexdigest()[:16]
    path = folder / f"centres-{digest}.npz"
    with atomic_path(path) as temporary, temporary.open("wb") as handle:
        np.savez(handle, assignment=ids, **arrays)
    return path.name


def swap_clusters(collection: CollectionFolder) -> Stored:
    """Bring back the clusters before the last clustering, and return them; a second call undoes the first.

    :raises ArtifactError: if there are none, or they are damaged.
    """
    folder = folder_of(collection)
    record = read_json(folder / "clusters.json") if (folder / "clusters.json").exists() else {}
    before = record.pop("previous", None)
    if not before:
        raise ArtifactError(
            f"{folder} holds no earlier clusters; expected those before the last `dial2vec cluster`. "
            "There is nothing to undo."
        )
    with readable(f"the earlier clusters in {folder}", ". Keep those of today."):
        stored = _stored(before, collection)
    _write_tables(collection, stored.clusters, stored.state)
    _write_record(folder, before, record)
    return stored


def _previous(folder: Path, record: dict[str, Any], *, decided: bool) -> dict[str, Any] | None:
    """Return the record of the clusters to keep beside new ones; None if there are none."""
    try:
        now = read_json(folder / "clusters.json")
    except (ArtifactError, OSError):
        return None
    before: dict[str, Any] | None = now.pop("previous", None)
    return before if decided or _base_file(now) == _base_file(record) else now


def _base_file(record: dict[str, Any]) -> str:
    return str((record.get("base") or record)["state"])


def _write_record(folder: Path, record: dict[str, Any], previous: dict[str, Any] | None) -> None:
    """Write `clusters.json`, and remove the arrays that it does not name."""
    write_checked_json(folder / "clusters.json", record | {"previous": previous})
    records = [kept for kept in (record, previous) if kept]
    named = {name for kept in records for name in (kept["state"], _base_file(kept))}
    for path in folder.glob("centres-*.npz"):
        if path.name not in named:
            path.unlink()


def _write_tables(collection: CollectionFolder, clusters: Clusters, state: ClusterState) -> None:
    """Write the assignment of the dialogues that the clusters have seen."""
    folder, seen = folder_of(collection), clusters.seen
    assignment = assign(collection.adapted[:seen], state.centres, known=state.groups)
    by_place, places = clusters.clusters, pa.array(state.groups)
    areas = {area.id: area.name for area in clusters.areas}
    # A hidden cluster leaves the cells of its dialogues empty.
    columns = {
        "cluster": pa.array([None if cluster.hidden else cluster.id for cluster in by_place], pa.int32()),
        "name": pa.array([None if cluster.hidden else cluster.name for cluster in by_place], pa.string()),
        "area": pa.array([None if cluster.hidden else areas.get(cluster.area) for cluster in by_place], pa.string()),
    }
    hidden = {cluster.id for cluster in by_place if cluster.hidden}
    fine = pa.array([None if topic.cluster in hidden else topic.name for topic in clusters.fine], pa.string())
    table = pa.table(
        {
            "dialogue_id": collection.rows["dialogue_id"][:seen],
            "cluster": columns["cluster"].take(places),
            "similarity": assignment.similarity,
            "margin": assignment.margin,
            "name": columns["name"].take(places),
            "area": columns["area"].take(places),
        }
        | ({"fine": fine.take(state.fine)} if clusters.fine else {})
        | {"belongs": state.belongs}
        | typed_columns(collection.rows["metadata"][:seen], collection.metadata_kinds)
    )
    with atomic_path(folder / "assignment.parquet") as temporary:
        pq.write_table(table, temporary, write_page_checksum=True)
    with atomic_path(folder / "assignment.csv") as temporary:
        write_table(table, temporary)
