"""Clusters as they are kept beside a collection, in its folder `clusters`.

`clusters.json` is written last and names the file of centres and assignment that it belongs to, so a killed run leaves
what was there before.
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

from dial2vec.collection import Collection
from dial2vec.collection.clustering.partition import Assignment, Groups, Vectors
from dial2vec.collection.clustering.terms import Term
from dial2vec.errors import ArtifactError
from dial2vec.files import atomic_path, read_json, write_json

FORMAT = 2


@dataclass(frozen=True, slots=True)
class Cluster:
    """A group of dialogues.

    :param id: stays with the cluster as long as it is there, from 0.
    :param name: its first terms; it stays, too.
    :param terms: most characteristic first.
    :param size: dialogues, possibly none.
    :param stability: mean largest Jaccard index with a cluster of half the dialogues, in [0, 1].
    :param halves: how surely it falls into two, in [-1, 1]: the agreement of `stability.Stability` for two clusters.
    :param far: cosine to the centre that 2 % of its dialogues are below; a new one below it is far away.
    :param typical: ids of the dialogues next to the centre.
    :param borderline: ids of those that are about as near to another one.
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

    :param fingerprint: of the collection's encoder.
    :param by: "k" or "density".
    :param seed: of every draw.
    :param agreement: mean adjusted Rand index with the clusters of halves, at most 1.
    :param seen: dialogues that were assigned, the first ones of the collection.
    :param settled: dialogues that were there when all were last clustered from scratch.
    :param next_id: of the next cluster that appears.
    :param clusters: in the order of their centres.
    :param news: what has changed since the last time, in sentences.
    :param considered: pairs of a number of clusters and its agreement, where the number was chosen.
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


def folder_of(collection: Collection) -> Path:
    """Return where the clusters of a collection are."""
    return collection.folder / "clusters"


def read_clusters(collection: Collection) -> tuple[Clusters, Vectors] | None:
    """Return the clusters of a collection and their centres [k, d]; None where it has none, or some of another encoder.

    :raises ArtifactError: when they are damaged.
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
            raise ValueError("centres and clusters do not fit each other")
    except (ArtifactError, OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise ArtifactError(
            f"{folder} cannot be read ({error}). `dial2vec cluster {collection.folder} --anew` makes all of it anew."
        ) from error
    return clusters, centres


def _from_record(record: dict[str, Any]) -> Clusters:
    clusters = tuple(
        Cluster(
            **one
            | {"terms": tuple(Term(**term) for term in one["terms"])}
            | {key: tuple(one[key]) for key in ("typical", "borderline")}
        )
        for one in record["clusters"]
    )
    pairs = tuple((int(k), float(agreement)) for k, agreement in record["considered"])
    return Clusters(**record | {"clusters": clusters, "news": tuple(record["news"]), "considered": pairs})


def read_assignment(collection: Collection) -> Groups:
    """Return the cluster id of each dialogue that was assigned, int32 [seen]."""
    folder = folder_of(collection)
    with np.load(folder / read_json(folder / "clusters.json")["state"]) as state:
        return np.asarray(state["assignment"], dtype=np.int32)


def write_clusters(collection: Collection, clusters: Clusters, centres: Vectors, assignment: Assignment) -> None:
    """Write who belongs where to `assignment.parquet` and `assignment.csv`, and all else; atomic as a whole."""
    folder = folder_of(collection)
    ids = np.array([cluster.id for cluster in clusters.clusters], dtype=np.int32)[assignment.groups]
    names = {cluster.id: cluster.name for cluster in clusters.clusters}
    table = pa.table(
        {
            "dialogue_id": collection.rows["dialogue_id"],
            "cluster": ids,
            "similarity": assignment.similarity,
            "margin": assignment.margin,
            "name": pa.array([names[one] for one in ids.tolist()], pa.string()),
        }
    )
    digest = hashlib.sha256(centres.tobytes() + ids.tobytes()).hexdigest()[:16]
    state = folder / f"centres-{digest}.npz"
    with atomic_path(state) as temporary, temporary.open("wb") as handle:
        np.savez(handle, centres=centres, assignment=ids)
    with atomic_path(folder / "assignment.parquet") as temporary:
        pq.write_table(table, temporary)
    with atomic_path(folder / "assignment.csv") as temporary:
        pc.write_csv(table, temporary)
    write_json(folder / "clusters.json", {"format": FORMAT, "state": state.name} | asdict(clusters))
    for older in folder.glob("centres-*.npz"):
        if older != state:
            older.unlink()
