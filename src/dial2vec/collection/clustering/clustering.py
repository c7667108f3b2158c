"""Clustering a collection: from scratch, or onto yesterday's clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection import Collection
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
    sampled,
)
from dial2vec.collection.clustering.stability import LEAST, SAMPLE, match_groups, measure_stability, propose_number
from dial2vec.collection.clustering.terms import READ, READ_WORDS, Term, characteristic_terms, names_of
from dial2vec.encoder.nearest import unit_rows
from dial2vec.errors import ArtifactError, CorpusError
from dial2vec.files import folder_lock

SHOWN = 3
# Of a cluster's own dialogues so many are further from its centre than what counts as far.
FAR_SHARE = 0.02
# A cluster falls into two when halves of it agree so well on the same two, and neither is a fringe.
SPLITS, SMALLEST_HALF = 0.9, 0.25


@dataclass(frozen=True, slots=True)
class Found:
    """Centres with their ids, and how they came about.

    :param settled: dialogues that were there when all were last clustered from scratch.
    :param names: those that stay, by id.
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
    collection: Collection,
    *,
    k: int | None = None,
    by: str | None = None,
    seed: int = 1,
    anew: bool = False,
    done: Callable[[int], object] = lambda _: None,
) -> Clusters:
    """Cluster a collection, write the clusters beside it, and return them.

    Where it has clusters already, new dialogues are assigned to them, and those stay what they are: a group of new
    dialogues that is far from all of them becomes a cluster, and one that falls into two is told. With `anew` all are
    clustered from scratch, and a cluster gets the id of the one that it shares most dialogues with.

    :param k: number of clusters; None takes the one that stability speaks for.
    :param by: "k", or "density", which finds the number itself; None is as before, at first "k".
    :param done: called with 1 after each number of clusters that was tried.
    :raises CorpusError: when there are fewer dialogues than clusters, or too many clusters to say how stable they are.
    :raises ArtifactError: when the clusters that are there are damaged, and not all is to be clustered `anew`.
    :raises BusyError: when another run clusters the collection.
    """
    _check_sizes(collection, k, by)
    with folder_lock(folder_of(collection), "writes to"):
        before = _before(collection, anew=anew)
        if before is None or anew or k is not None or by is not None:
            as_before = before[0].by if before is not None and k is None else "k"
            found = _from_scratch(collection, k, by or as_before, seed, done)
            if before is not None:
                found = _with_ids_of(found, before[0], collection)
        else:
            found = _onto(before, collection)
        assignment = assign(collection.vectors, found.centres)
        clusters = _described(collection, found, assignment, seed, before[0] if before else None)
        write_clusters(collection, clusters, found.centres, assignment)
    return clusters


def _check_sizes(collection: Collection, k: int | None, by: str | None) -> None:
    least = max(2, k or 0, LEAST if by == "density" else 0)
    if len(collection) < least:
        raise CorpusError(f"{collection.folder} has {len(collection)} dialogues; expected at least {least}. Add some.")
    if (k or 0) > SAMPLE:
        raise CorpusError(f"found --k {k}; expected at most {SAMPLE:,}. Take fewer clusters.")


def _before(collection: Collection, *, anew: bool) -> tuple[Clusters, Vectors] | None:
    try:
        return read_clusters(collection)
    except ArtifactError:
        if anew:
            return None
        raise


def _from_scratch(collection: Collection, k: int | None, by: str, seed: int, done: Callable[[int], object]) -> Found:
    units, news = collection.vectors, list[str]()
    considered: tuple[tuple[int, float], ...] = ()
    if by == "density":
        least = max(LEAST, len(units) // 200)
        centres, outside = dense_centres(units, least=least, seed=seed)
        if not len(centres):
            centres = centres_of(units, 1, seed=seed)
        news.append(f"{outside:.0%} lie in no dense region; each is in the cluster that it is nearest to.")
    else:
        if k is None:
            k, fared = propose_number(units, seed=seed, done=done)
            considered = tuple((one.k, one.agreement) for one in fared)
        centres = centres_of(units, k, seed=seed)
    # The largest comes first.
    order = np.argsort(-np.bincount(assign(units, centres).groups, minlength=len(centres)), kind="stable")
    return Found(centres[order], list(range(len(centres))), by, len(units), len(centres), news, {}, considered)


def _with_ids_of(found: Found, before: Clusters, collection: Collection) -> Found:
    """Give clusters the ids of those that they were before."""
    old = read_assignment(collection)
    known = [one.id for one in before.clusters]
    places = np.searchsorted(np.sort(known), old)
    old_groups = np.argsort(known)[places].astype(np.int32)
    groups = assign(collection.vectors[: before.seen], found.centres).groups
    same = match_groups(old_groups, groups, len(known), len(found.centres))
    ids, next_id = [], before.next_id
    for group in range(len(found.centres)):
        ids.append(known[same[group]] if group in same else next_id)
        next_id += group not in same
    gone = [one for one in before.clusters if one.id not in ids]
    news = [*found.news, *(f"Cluster {one.id} ({one.name}) is gone." for one in gone)]
    return replace(found, ids=ids, next_id=next_id, news=news)


def _onto(before: tuple[Clusters, Vectors], collection: Collection) -> Found:
    """Keep the centres, and add one for each group of newer dialogues that is far from all of them.

    Looked at is all that came since the clusters were made, so that a topic which grows by a few a night is found.
    """
    clusters, centres = before
    ids, next_id, news = [one.id for one in clusters.clusters], clusters.next_id, []
    new = np.asarray(collection.vectors[clusters.settled :])
    nearest, limits = assign(new, centres), np.array([one.far for one in clusters.clusters])
    far = new[nearest.similarity < limits[nearest.groups]]
    # Where nothing is far it is as it was; a group has to be as close as the dialogues at the rim of other clusters.
    close = float(np.median(limits))
    found = dense_centres(far, least=LEAST, seed=clusters.seed, one=True)[0] if len(far) >= LEAST else centres[:0]
    for centre in found:
        own = far[far @ centre > (far @ centres.T).max(axis=1)]
        if len(own) >= LEAST and _closeness(own) >= close:
            centres = np.concatenate([centres, centre[None]])
            ids.append(next_id)
            news.append(f"Cluster {next_id} has appeared, with {len(own)} new dialogues that were far from all others.")
            next_id += 1
    names = {one.id: one.name for one in clusters.clusters}
    return Found(centres, ids, clusters.by, clusters.settled, next_id, news, names, clusters.considered)


def _closeness(units: Vectors) -> float:
    """Return the mean cosine of each vector to the mean of the others: of random directions about 0."""
    others = units.sum(axis=0) - units
    return float((units * unit_rows(others)).sum(axis=1).mean())


def _described(
    collection: Collection, found: Found, assignment: Assignment, seed: int, before: Clusters | None
) -> Clusters:
    """Return the clusters with all that is told of them."""
    k, units = len(found.centres), collection.vectors
    fared = measure_stability(units, found.centres, seed=seed)
    terms = _terms(collection, assignment.groups, k, seed)
    names = [found.names.get(id, name) for id, name in zip(found.ids, names_of(terms, found.ids), strict=True)]
    was = {one.id: one for one in before.clusters} if before else {}
    news, clusters = list(found.news), []
    for group, (id, name) in enumerate(zip(found.ids, names, strict=True)):
        rows = np.flatnonzero(assignment.groups == group)
        halves = _halves(units, rows, seed)
        if id in was and was[id].halves < SPLITS <= halves:
            news.append(f"Cluster {id} ({name}) falls into two now; --anew clusters everything from scratch.")
        if id in was and was[id].size and not len(rows):
            news.append(f"Cluster {id} ({name}) has no dialogues any more.")
        far = float(np.quantile(assignment.similarity[rows], FAR_SHARE)) if len(rows) else 1.0
        if id in found.names:
            # What is far stays so: what was far and came all the same must not stretch it.
            far = was[id].far
        typical, borderline = (_ids(collection, rows, value) for value in (-assignment.similarity, assignment.margin))
        told = fared.clusters[group]
        clusters.append(Cluster(id, name, tuple(terms[group]), len(rows), told, halves, far, typical, borderline))
    return Clusters(
        collection.manifest.fingerprint, found.by, seed, fared.agreement, len(units), found.settled, found.next_id,
        tuple(clusters), tuple(news), found.considered,
    )  # fmt: skip


def _terms(collection: Collection, groups: NDArray[np.int32], k: int, seed: int) -> list[list[Term]]:
    rows = sampled(len(collection), READ, seed)
    # Meetings have so many terms that 20,000 of them would take gigabytes.
    said = np.cumsum(np.asarray(collection.rows["words"])[rows])
    if said[-1] > READ_WORDS:
        rows = np.sort(np.random.default_rng(seed).permutation(rows)[: max(1, int(len(rows) * READ_WORDS / said[-1]))])
    return characteristic_terms(collection.dialogues(rows.tolist()), groups[rows].tolist(), k)


def _halves(units: Vectors, rows: NDArray[np.int64], seed: int) -> float:
    """Return how surely a cluster's dialogues are two groups; -1 where they are too few, or one half is a fringe."""
    if len(rows) < 4 * LEAST:
        return -1.0
    own = np.asarray(units[rows[sampled(len(rows), 2000, seed)]])
    centres = centres_of(own, 2, seed=seed)
    share = assign(own, centres).groups.mean()
    if not SMALLEST_HALF <= share <= 1 - SMALLEST_HALF:
        return -1.0
    return measure_stability(own, centres, seed=seed).agreement


def _ids(collection: Collection, rows: NDArray[np.int64], value: NDArray[np.float32]) -> tuple[str, ...]:
    """Return the ids of the dialogues with the least of a value."""
    first = rows[np.argsort(value[rows], kind="stable")[:SHOWN]]
    return tuple(collection.rows["dialogue_id"].take(first).to_pylist())
