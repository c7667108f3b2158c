"""Clusters as they are kept beside a collection, in its folder `clusters`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from dial2vec.clustering.partition import Assignment, Groups, Vectors
from dial2vec.clustering.terms import Term
from dial2vec.collection import Collection
from dial2vec.errors import ArtifactError
from dial2vec.files import atomic_path, read_json, write_json

FORMAT = 1


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
        clusters = _from_record(record)
        centres = np.load(folder / "centres.npy")
        if len(centres) != len(clusters.clusters) or clusters.seen > len(collection):
            raise ValueError("centres and clusters do not fit each other")
    except (ArtifactError, OSError, ValueError, KeyError, TypeError) as error:
        raise ArtifactError(
            f"{folder} cannot be read ({error}). Remove it, and run `dial2vec cluster {collection.folder}`."
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
    return np.asarray(pq.read_table(folder_of(collection) / "assignment.parquet", columns=["cluster"])["cluster"])


def write_clusters(collection: Collection, clusters: Clusters, centres: Vectors, assignment: Assignment) -> None:
    """Write `clusters.json` and `centres.npy`, and who belongs where to `assignment.parquet` and `assignment.csv`."""
    folder = folder_of(collection)
    ids = np.array([cluster.id for cluster in clusters.clusters], dtype=np.int32)[assignment.groups]
    names = {cluster.id: cluster.name for cluster in clusters.clusters}
    table = pa.table(
        {
            "dialogue_id": collection.rows["dialogue_id"],
            "cluster": ids,
            "similarity": assignment.similarity,
            "margin": assignment.margin,
        }
    )
    with atomic_path(folder / "assignment.parquet") as temporary:
        pq.write_table(table, temporary)
    with atomic_path(folder / "assignment.csv") as temporary:
        named = table.append_column("name", pa.array([names[one] for one in ids.tolist()], pa.string()))
        pc.write_csv(named, temporary)
    with atomic_path(folder / "centres.npy") as temporary, temporary.open("wb") as handle:
        np.save(handle, centres)
    write_json(folder / "clusters.json", {"format": FORMAT} | asdict(clusters))
