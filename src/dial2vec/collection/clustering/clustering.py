"""Clustering a collection from scratch, or adding new dialogues to existing clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dial2vec.collection.clustering.clusters import (
    Clusters,
    ClusterState,
    folder_of,
    read_with_state,
    write_clusters,
)
from dial2vec.collection.clustering.communities import centres_of_groups, communities, steps
from dial2vec.collection.clustering.describing import Undescribed, describe_clusters
from dial2vec.collection.clustering.levels import areas_of, assign_fine, divide_topics
from dial2vec.collection.clustering.partition import Groups, Vectors, assign, centres_of, dense_centres
from dial2vec.collection.clustering.stability import HALVES, LEAST, SAMPLE, match_groups
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.encoder.nearest import unit_rows
from dial2vec.errors import ArtifactError, CorpusError
from dial2vec.files import folder_lock


def cluster(
    collection: CollectionFolder,
    *,
    k: int | None = None,
    seed: int = 1,
    from_scratch: bool = False,
    done: Callable[[int], object] = lambda _: None,
) -> Clusters:
    """Cluster a collection, write the clusters into its folder, and return them.

    Clusters are communities of the neighbour graph, whose number comes from the dialogues, or k groups by k-means.
    Existing clusters keep their dialogues and centres, and new dialogues are assigned to them. A group of new dialogues
    that is far from all clusters becomes a cluster, and `news` reports a cluster that splits. With `from_scratch` or
    `k`, all dialogues are clustered from scratch; a cluster gets the id of the old one that shares most dialogues with
    it. `restore_clusters` brings the clusters before back.

    :param k: number of clusters, by k-means; None finds communities.
    :param done: called with 1 after each of at most `clustering_steps()` steps.
    :raises CorpusError: if there are fewer dialogues than clusters, or too many clusters to measure their stability.
    :raises ArtifactError: if existing clusters are damaged and `from_scratch` is False.
    :raises BusyError: if another run clusters the collection.
    """
    _check_sizes(collection, k)
    with folder_lock(folder_of(collection), "writes to"):
        before = _before(collection, from_scratch=from_scratch)
        if before is None or from_scratch or k is not None or not before[0].fine:
            new = _from_scratch(collection, k, seed, done)
            if before is not None:
                new = _with_ids_of(new, *before)
        else:
            new = _onto(before, collection)
        clusters = describe_clusters(collection, new, seed, before[0] if before else None, done)
        write_clusters(collection, clusters, new.state)
    return clusters


def clustering_steps() -> int:
    """Return the largest number of times that `cluster` calls `done`."""
    return steps() + HALVES


def _check_sizes(collection: CollectionFolder, k: int | None) -> None:
    needed = max(2, k or 0)
    if len(collection) < needed:
        raise CorpusError(f"{collection.folder} has {len(collection)} dialogues; expected at least {needed}. Add some.")
    if (k or 0) > SAMPLE:
        raise CorpusError(f"found --k {k}; expected at most {SAMPLE:,}. Take fewer clusters.")


def _before(collection: CollectionFolder, *, from_scratch: bool) -> tuple[Clusters, ClusterState] | None:
    try:
        return read_with_state(collection)
    except ArtifactError:
        if from_scratch:
            return None
        raise


def _from_scratch(collection: CollectionFolder, k: int | None, seed: int, done: Callable[[int], object]) -> Undescribed:
    units = collection.vectors
    if k is None:
        groups = communities(units, seed=seed, done=done)
        centres = centres_of_groups(units, groups)
    else:
        centres = centres_of(units, k, seed=seed)
        # The largest cluster comes first.
        order = np.argsort(-np.bincount(assign(units, centres).groups, minlength=k), kind="stable")
        centres = centres[order]
        groups = assign(units, centres).groups
    fine_centres, parents = divide_topics(units, groups, len(centres), seed=seed)
    fine = assign_fine(units, groups, fine_centres, parents)
    state = ClusterState(centres, groups, fine_centres, parents, fine)
    by, ids = "communities" if k is None else "k", list(range(len(centres)))
    return Undescribed(state, areas_of(centres), ids, by, len(units), len(ids), [], {})


def _with_ids_of(new: Undescribed, before: Clusters, old: ClusterState) -> Undescribed:
    """Give new clusters the ids of the old clusters that they match."""
    known = [cluster.id for cluster in before.clusters]
    same = match_groups(old.groups, new.state.groups[: before.seen], len(known), len(new.ids))
    ids, next_id = [], before.next_id
    for group in range(len(new.ids)):
        ids.append(known[same[group]] if group in same else next_id)
        next_id += group not in same
    gone = [cluster for cluster in before.clusters if cluster.id not in ids]
    news = [*new.news, *(f"Cluster {cluster.id} ({cluster.name}) is gone." for cluster in gone)]
    return replace(new, ids=ids, next_id=next_id, news=news)


def _onto(before: tuple[Clusters, ClusterState], collection: CollectionFolder) -> Undescribed:
    """Keep the clusters, and add one for each group of new dialogues that is far from all centres.

    All dialogues since the last clustering from scratch count as new. So a topic that grows by a few a night is found.
    """
    clusters, old = before
    units, n_old = collection.vectors, len(old.centres)
    added = _appeared(clusters, old.centres, np.asarray(units[clusters.settled :]))
    ids = [cluster.id for cluster in clusters.clusters] + [clusters.next_id + at for at in range(len(added))]
    centres = np.concatenate([old.centres, *(centre[None] for centre, _ in added)])
    news = [
        f"Cluster {id} has appeared, with {size} new dialogues that were far from all other clusters."
        for id, (_, size) in zip(ids[n_old:], added, strict=True)
    ]
    groups = assign(units, centres, known=old.groups[: clusters.settled]).groups
    fine_centres = np.concatenate([old.fine_centres, centres[n_old:]])
    parents = np.concatenate([old.fine_parents, np.arange(n_old, len(centres), dtype=np.int32)])
    # A cluster without a dialogue at the last clustering has no fine topic.
    missing = np.setdiff1d(np.arange(len(centres), dtype=np.int32), parents)
    fine_centres, parents = np.concatenate([fine_centres, centres[missing]]), np.concatenate([parents, missing])
    fine = assign_fine(units, groups, fine_centres, parents)
    areas = _areas_with(clusters, old.centres, centres[n_old:])
    names = {cluster.id: cluster.name for cluster in clusters.clusters}
    state = ClusterState(centres, groups, fine_centres, parents, fine)
    next_id = clusters.next_id + len(added)
    return Undescribed(state, areas, ids, clusters.by, clusters.settled, next_id, news, names)


def _appeared(clusters: Clusters, centres: Vectors, new: Vectors) -> list[tuple[Vectors, int]]:
    """Return centre [d] and size of each group of new dialogues that is far from all centres."""
    limits = np.array([cluster.far for cluster in clusters.clusters])
    nearest = assign(new, centres)
    far = new[nearest.similarity < limits[nearest.groups]]
    if len(far) < LEAST:
        return []
    # A group has to be as close together as the dialogues at the rim of other clusters.
    close, added = float(np.median(limits)), list[tuple[Vectors, int]]()
    for centre in dense_centres(far, smallest=LEAST, seed=clusters.seed, single=True):
        own = far[far @ centre > (far @ centres.T).max(axis=1)]
        if len(own) >= LEAST and _closeness(own) >= close:
            centres = np.concatenate([centres, centre[None]])
            added.append((centre, len(own)))
    return added


def _areas_with(clusters: Clusters, centres: Vectors, added: Vectors) -> Groups:
    """Return the area of each cluster, int32 [k]; a new cluster joins the area of the nearest old one."""
    areas = np.array([cluster.area for cluster in clusters.clusters], dtype=np.int32)
    return np.concatenate([areas, areas[(added @ centres.T).argmax(axis=1)]]) if len(added) else areas


def _closeness(units: Vectors) -> float:
    """Return the mean cosine of each vector to the mean of the others; about 0 for random directions."""
    others = units.sum(axis=0) - units
    return float((units * unit_rows(others)).sum(axis=1).mean())
