"""Clustering a collection from scratch, or adding new dialogues to existing clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection.clustering.clusters import (
    Cluster,
    Clusters,
    folder_of,
    read_assignment,
    read_clusters,
    write_clusters,
)
from dial2vec.collection.clustering.partition import (
    Assignment,
    Vectors,
    assign,
    centres_of,
    dense_centres,
)
from dial2vec.collection.clustering.stability import LEAST, SAMPLE, match_groups, measure_stability, propose_number
from dial2vec.collection.clustering.terms import READ, READ_WORDS, Term, characteristic_terms, names_of
from dial2vec.collection.collection_folder import CollectionFolder, sampled
from dial2vec.encoder.nearest import unit_rows
from dial2vec.errors import ArtifactError, CorpusError
from dial2vec.files import folder_lock

SHOWN = 3
# Share of a cluster's own dialogues that counts as far from its centre.
FAR_SHARE = 0.02
# A cluster splits if random halves of it agree this well on the same two parts, and the smaller part has this share.
SPLITS, SMALLEST_HALF = 0.9, 0.25


@dataclass(frozen=True, slots=True)
class Centres:
    """Centres of clusters with their ids. The other fields are those of `Clusters`.

    :param centres: vectors of length 1, [k, d].
    :param names: names to keep, by id.
    """

    centres: Vectors
    ids: list[int]
    by: str
    settled: int
    next_id: int
    news: list[str]
    names: dict[int, str]
    considered: tuple[tuple[int, float], ...] = ()


def cluster(
    collection: CollectionFolder,
    *,
    k: int | None = None,
    by: str | None = None,
    seed: int = 1,
    from_scratch: bool = False,
    done: Callable[[int], object] = lambda _: None,
) -> Clusters:
    """Cluster a collection, write the clusters into its folder, and return them.

    Existing clusters keep their centres, and new dialogues are assigned to them. A group of new dialogues that is far
    from all clusters becomes a cluster, and `news` reports a cluster that splits. With `from_scratch`, `k` or `by`, all
    dialogues are clustered from scratch; a cluster gets the id of the old one that shares most dialogues with it.

    :param k: number of clusters; None chooses the number by stability.
    :param by: "k", or "density", which finds the number itself; None repeats the last choice, at first "k".
    :param done: called with 1 after each number of clusters tried.
    :raises CorpusError: if there are fewer dialogues than clusters, or too many clusters to measure their stability.
    :raises ArtifactError: if existing clusters are damaged and `from_scratch` is False.
    :raises BusyError: if another run clusters the collection.
    """
    _check_sizes(collection, k, by)
    with folder_lock(folder_of(collection), "writes to"):
        before = _before(collection, from_scratch=from_scratch)
        if before is None or from_scratch or k is not None or by is not None:
            as_before = before[0].by if before is not None and k is None else "k"
            new = _from_scratch(collection, k, by or as_before, seed, done)
            if before is not None:
                new = _with_ids_of(new, before[0], collection)
        else:
            new = _onto(before, collection)
        assignment = assign(collection.vectors, new.centres)
        clusters = _described(collection, new, assignment, seed, before[0] if before else None)
        write_clusters(collection, clusters, new.centres, assignment)
    return clusters


def _check_sizes(collection: CollectionFolder, k: int | None, by: str | None) -> None:
    needed = max(2, k or 0, LEAST if by == "density" else 0)
    if len(collection) < needed:
        raise CorpusError(f"{collection.folder} has {len(collection)} dialogues; expected at least {needed}. Add some.")
    if (k or 0) > SAMPLE:
        raise CorpusError(f"found --k {k}; expected at most {SAMPLE:,}. Take fewer clusters.")


def _before(collection: CollectionFolder, *, from_scratch: bool) -> tuple[Clusters, Vectors] | None:
    try:
        return read_clusters(collection)
    except ArtifactError:
        if from_scratch:
            return None
        raise


def _from_scratch(
    collection: CollectionFolder, k: int | None, by: str, seed: int, done: Callable[[int], object]
) -> Centres:
    units, news = collection.vectors, list[str]()
    considered: tuple[tuple[int, float], ...] = ()
    if by == "density":
        smallest = max(LEAST, len(units) // 200)
        centres, outside = dense_centres(units, smallest=smallest, seed=seed)
        if not len(centres):
            centres = centres_of(units, 1, seed=seed)
        news.append(f"{outside:.0%} lie in no dense region; each is in the cluster with the nearest centre.")
    else:
        if k is None:
            k, results = propose_number(units, seed=seed, done=done)
            considered = tuple((result.k, result.agreement) for result in results)
        centres = centres_of(units, k, seed=seed)
    # The largest cluster comes first.
    order = np.argsort(-np.bincount(assign(units, centres).groups, minlength=len(centres)), kind="stable")
    return Centres(centres[order], list(range(len(centres))), by, len(units), len(centres), news, {}, considered)


def _with_ids_of(new: Centres, before: Clusters, collection: CollectionFolder) -> Centres:
    """Give new clusters the ids of the old clusters that they match."""
    old = read_assignment(collection)
    known = [cluster.id for cluster in before.clusters]
    places = np.searchsorted(np.sort(known), old)
    old_groups = np.argsort(known)[places].astype(np.int32)
    groups = assign(collection.vectors[: before.seen], new.centres).groups
    same = match_groups(old_groups, groups, len(known), len(new.centres))
    ids, next_id = [], before.next_id
    for group in range(len(new.centres)):
        ids.append(known[same[group]] if group in same else next_id)
        next_id += group not in same
    gone = [cluster for cluster in before.clusters if cluster.id not in ids]
    news = [*new.news, *(f"Cluster {cluster.id} ({cluster.name}) is gone." for cluster in gone)]
    return replace(new, ids=ids, next_id=next_id, news=news)


def _onto(before: tuple[Clusters, Vectors], collection: CollectionFolder) -> Centres:
    """Keep the centres, and add one for each group of new dialogues that is far from all centres.

    All dialogues since the last clustering from scratch count as new. So a topic that grows by a few a night is found.
    """
    clusters, centres = before
    ids, next_id, news = [cluster.id for cluster in clusters.clusters], clusters.next_id, []
    new = np.asarray(collection.vectors[clusters.settled :])
    nearest, limits = assign(new, centres), np.array([cluster.far for cluster in clusters.clusters])
    far = new[nearest.similarity < limits[nearest.groups]]
    # A group has to be as close together as the dialogues at the rim of other clusters.
    close = float(np.median(limits))
    enough = len(far) >= LEAST
    dense = dense_centres(far, smallest=LEAST, seed=clusters.seed, single=True)[0] if enough else centres[:0]
    for centre in dense:
        own = far[far @ centre > (far @ centres.T).max(axis=1)]
        if len(own) >= LEAST and _closeness(own) >= close:
            centres = np.concatenate([centres, centre[None]])
            ids.append(next_id)
            news.append(
                f"Cluster {next_id} has appeared, with {len(own)} new dialogues that were far from all other clusters."
            )
            next_id += 1
    names = {cluster.id: cluster.name for cluster in clusters.clusters}
    return Centres(centres, ids, clusters.by, clusters.settled, next_id, news, names, clusters.considered)


def _closeness(units: Vectors) -> float:
    """Return the mean cosine of each vector to the mean of the others; about 0 for random directions."""
    others = units.sum(axis=0) - units
    return float((units * unit_rows(others)).sum(axis=1).mean())


def _described(
    collection: CollectionFolder, new: Centres, assignment: Assignment, seed: int, before: Clusters | None
) -> Clusters:
    """Return the clusters with names, terms, sizes and stability."""
    k, units = len(new.centres), collection.vectors
    stability = measure_stability(units, new.centres, seed=seed)
    terms = _terms(collection, assignment.groups, k, seed)
    names = [new.names.get(id, name) for id, name in zip(new.ids, names_of(terms, new.ids), strict=True)]
    was = {cluster.id: cluster for cluster in before.clusters} if before else {}
    news, clusters = list(new.news), []
    for group, (id, name) in enumerate(zip(new.ids, names, strict=True)):
        rows = np.flatnonzero(assignment.groups == group)
        halves = _halves(units, rows, seed)
        if id in was and was[id].halves < SPLITS <= halves:
            news.append(f"Cluster {id} ({name}) splits into two now; --anew clusters all dialogues from scratch.")
        if id in was and was[id].size and not len(rows):
            news.append(f"Cluster {id} ({name}) has no dialogues any more.")
        far = float(np.quantile(assignment.similarity[rows], FAR_SHARE)) if len(rows) else 1.0
        if id in new.names:
            # The limit stays: dialogues beyond it are in the cluster too, and must not widen it.
            far = was[id].far
        typical, borderline = (_ids(collection, rows, value) for value in (-assignment.similarity, assignment.margin))
        stable = stability.clusters[group]
        clusters.append(Cluster(id, name, tuple(terms[group]), len(rows), stable, halves, far, typical, borderline))
    return Clusters(
        collection.manifest.fingerprint, new.by, seed, stability.agreement, len(units), new.settled, new.next_id,
        tuple(clusters), tuple(news), new.considered,
    )  # fmt: skip


def _terms(collection: CollectionFolder, groups: NDArray[np.int32], k: int, seed: int) -> list[list[Term]]:
    rows = sampled(len(collection), READ, seed)
    # Meetings have so many terms that 20,000 of them would take gigabytes.
    words = np.cumsum(np.asarray(collection.rows["words"])[rows])
    if words[-1] > READ_WORDS:
        rows = np.sort(np.random.default_rng(seed).permutation(rows)[: max(1, int(len(rows) * READ_WORDS / words[-1]))])
    return characteristic_terms(collection.dialogues(rows.tolist()), groups[rows].tolist(), k)


def _halves(units: Vectors, rows: NDArray[np.int64], seed: int) -> float:
    """Return the stability of a split into two; -1 if there are too few dialogues, or one part is too small."""
    if len(rows) < 4 * LEAST:
        return -1.0
    own = np.asarray(units[rows[sampled(len(rows), 2000, seed)]])
    centres = centres_of(own, 2, seed=seed)
    share = assign(own, centres).groups.mean()
    if not SMALLEST_HALF <= share <= 1 - SMALLEST_HALF:
        return -1.0
    return measure_stability(own, centres, seed=seed).agreement


def _ids(collection: CollectionFolder, rows: NDArray[np.int64], value: NDArray[np.float32]) -> tuple[str, ...]:
    """Return the ids of the dialogues with the lowest values."""
    first = rows[np.argsort(value[rows], kind="stable")[:SHOWN]]
    return tuple(collection.rows["dialogue_id"].take(first).to_pylist())
