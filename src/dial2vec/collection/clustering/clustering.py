"""Clustering a collection from scratch, or adding new dialogues to existing clusters."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection.clustering.appearing import LEVEL, appearing
from dial2vec.collection.clustering.clusters import (
    Clusters,
    ClusterState,
    Stored,
    folder_of,
    none_split_off,
    read_stored,
    swap_clusters,
)
from dial2vec.collection.clustering.decided import decided_clusters, pinned_rows, write_decided
from dial2vec.collection.clustering.decisions import read_decisions
from dial2vec.collection.clustering.describing import Undescribed, describe_clusters
from dial2vec.collection.clustering.judging import judging_vectors
from dial2vec.collection.clustering.levels import TENTHS, areas_of_topics, assign_fine, divide_topics
from dial2vec.collection.clustering.partition import (
    Groups,
    Vectors,
    assign,
    centres_of,
    centres_of_groups,
)
from dial2vec.collection.clustering.stability import HALVES, LEAST, SAMPLE, match_groups
from dial2vec.collection.clustering.tree import find_levels
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.errors import ArtifactError, CorpusError
from dial2vec.files import folder_lock

# Share of new dialogues far from every cluster that is worth a sentence; five times `FAR_SHARE`.
MANY_FAR = 0.1


def cluster(
    collection: CollectionFolder,
    *,
    k: int | None = None,
    seed: int = 1,
    from_scratch: bool = False,
    level: float = LEVEL,
    done: Callable[[int], object] = lambda _: None,
) -> Clusters:
    """Cluster a collection, write the clusters into its folder, and return them.

    Clusters are cuts of Ward's tree, whose number comes from the dialogues, or k groups by k-means.
    Existing clusters keep their dialogues and centres, and new dialogues are assigned to them. A group of new dialogues
    that the past does not explain becomes a cluster, and `news` reports a cluster that splits. With `from_scratch` or
    `k`, all dialogues are clustered from scratch; a cluster gets the id of the old one that shares most dialogues with
    it. `restore_clusters` brings the clusters before back.

    :param k: number of clusters, by k-means; None chooses it.
    :param level: chance of a group of new dialogues at any place, below which it becomes a cluster.
    :param done: called with 1 after each of at most `clustering_steps()` steps.
    :raises CorpusError: if there are fewer dialogues than clusters, or too many clusters to measure their stability.
    :raises ArtifactError: if existing clusters are damaged and `from_scratch` is False.
    :raises BusyError: if another run clusters the collection.
    """
    _check_sizes(collection, k)
    with folder_lock(folder_of(collection), "writes to"):
        before = _before(collection, from_scratch=from_scratch)
        decisions = read_decisions(collection.folder)
        grown = before is not None and not from_scratch and k is None
        if before is not None and grown:
            new = _onto(before, collection, level)
        else:
            pins = pinned_rows(before, decisions) if before else {}
            new = _from_scratch(collection, k, seed, done, pins)
            if before is not None:
                new = _with_ids_of(new, before, set(pins))
        lineage = before.base.lineage if before else _lineage(new.state)
        old = before.base if before else None
        base = describe_clusters(collection, new, seed, old, done, lineage=lineage)
        stored, _ = decided_clusters(collection, base, new.state, decisions)
        write_decided(collection, stored)
    return stored.clusters


def restore_clusters(collection: CollectionFolder) -> Clusters:
    """Bring back the clusters before the last clustering, and return them; a second call undoes the first.

    People's decisions of today hold for them, too.

    :raises ArtifactError: if there are none, or they are damaged.
    """
    with folder_lock(folder_of(collection), "writes to"):
        stored, decisions = swap_clusters(collection), read_decisions(collection.folder)
        stored, _ = decided_clusters(collection, stored.base, stored.base_state, decisions, before=stored)
        write_decided(collection, stored, decided=True)
    return stored.clusters


def clustering_steps() -> int:
    """Return the largest number of times that `cluster` calls `done`."""
    return 1 + TENTHS + HALVES


def _check_sizes(collection: CollectionFolder, k: int | None) -> None:
    if len(collection) < 2:
        raise CorpusError(f"{collection.folder} has {len(collection)} dialogues; expected at least 2. Add some.")
    if (k or 0) > (most := min(SAMPLE, len(collection))):
        raise CorpusError(f"found --k {k}; expected at most {most:,}. Take fewer clusters.")


def _before(collection: CollectionFolder, *, from_scratch: bool) -> Stored | None:
    try:
        return read_stored(collection)
    except ArtifactError:
        if from_scratch:
            return None
        raise


def _lineage(state: ClusterState) -> str:
    return hashlib.sha256(state.centres.tobytes()).hexdigest()[:12]


def _from_scratch(
    collection: CollectionFolder,
    k: int | None,
    seed: int,
    done: Callable[[int], object],
    pins: Mapping[int, NDArray[np.int64]],
) -> Undescribed:
    """Cluster all dialogues; pinned clusters come last and have their ids, the others are numbered."""
    units, plain = collection.adapted, judging_vectors(collection)
    levels = find_levels(units, plain, seed=seed)
    done(1)
    if k is None:
        groups = levels.topics
        centres = centres_of_groups(units, groups)
    else:
        centres = centres_of(units, k, seed=seed)
        # The largest cluster comes first.
        order = np.argsort(-np.bincount(assign(units, centres).groups, minlength=k), kind="stable")
        centres = centres[order]
        groups = assign(units, centres).groups
    if pins:
        groups = keep_together(groups, list(pins.values()))
        centres = centres_of_groups(units, groups)
    fine_centres, parents = divide_topics(units, plain, groups, len(centres), seed=seed, done=done)
    fine = assign_fine(units, groups, fine_centres, parents)
    state = ClusterState(centres, groups, fine_centres, parents, fine, none_split_off(len(parents)))
    by, ids = "tree" if k is None else "k", [*range(len(centres) - len(pins)), *pins]
    areas = areas_of_topics(groups, levels, len(centres))
    return Undescribed(state, areas, ids, by, len(units), len(ids), [], {})


def keep_together(groups: Groups, pins: Sequence[NDArray[np.int64]]) -> Groups:
    """Give each pinned set of vectors a group of its own, the last ones; no number is left out.

    A group that mostly holds vectors of one pin joins it whole; from other groups only the pinned vectors are taken.

    :param groups: group of each vector, int32 [n], from 0.
    :param pins: rows of each pin; no row is in two of them.
    """
    k, pin_of = int(groups.max()) + 1, np.full(len(groups), -1, dtype=np.int32)
    for number, rows in enumerate(pins):
        pin_of[rows] = number
    free, joined = pin_of < 0, pin_of.copy()
    sizes = np.bincount(groups, minlength=k)
    for number, rows in enumerate(pins):
        mostly = 2 * np.bincount(groups[rows], minlength=k) > sizes
        joined[free & mostly[groups]] = number
    moved = np.where(joined < 0, groups, k + joined)
    return np.unique(moved, return_inverse=True)[1].astype(np.int32)


def _with_ids_of(new: Undescribed, before: Stored, pinned: set[int]) -> Undescribed:
    """Give new clusters the ids of the old clusters that they match; pinned ones have theirs."""
    old, k, seen = before.base_state, len(new.ids), before.base.seen
    known = [cluster.id for cluster in before.base.clusters]
    same = match_groups(old.groups, new.state.groups[:seen], len(known), k)
    ids = [known[same[place]] if place in same else -1 for place in range(k - len(pinned))]
    ids = [-1 if id in pinned else id for id in ids] + new.ids[k - len(pinned) :]
    # What was split off may be a cluster by itself now.
    parts = match_groups(old.fine, new.state.groups[:seen], len(old.split_off), k)
    for place in (place for place, id in enumerate(ids) if id < 0 and place in parts):
        part = int(old.split_off[parts[place], 0])
        ids[place] = part if part not in ids else -1
    next_id = before.clusters.next_id
    for place in (place for place, id in enumerate(ids) if id < 0):
        ids[place], next_id = next_id, next_id + 1
    gone = [cluster for cluster in before.clusters.clusters if cluster.id in known and cluster.id not in ids]
    news = [*new.news, *(f"Cluster {cluster.id} ({cluster.name}) is gone." for cluster in gone)]
    state = replace(new.state, split_off=_split_again(old, new.state, seen, ids))
    return replace(new, state=state, ids=ids, next_id=next_id, news=news)


def _split_again(old: ClusterState, new: ClusterState, seen: int, ids: list[int]) -> Groups:
    """Give new fine topics what splits gave to the old ones that they match, int32 [m, 2]."""
    split_off = none_split_off(len(new.fine_parents))
    if (old.split_off >= 0).any():
        same = match_groups(old.fine, new.fine[:seen], len(old.split_off), len(split_off))
        for after, was in same.items():
            split_off[after] = old.split_off[was] if old.split_off[was, 0] not in ids else -1
    return split_off


def _onto(before: Stored, collection: CollectionFolder, level: float) -> Undescribed:
    """Keep the clusters, and add one for each group of new dialogues that the past does not explain."""
    clusters, old = before.base, before.base_state
    units, n_old, next_id = collection.adapted, len(old.centres), before.clusters.next_id
    known, limits = old.groups[: clusters.settled], _limits(clusters)
    added, perhaps = appearing(
        units, collection.days, old.centres, known, close=float(np.median(limits)), level=level, seed=clusters.seed
    )
    ids = [cluster.id for cluster in clusters.clusters] + [next_id + at for at in range(len(added))]
    centres = np.stack([*old.centres, *added])
    nearest = assign(units, centres, known=known)
    groups = nearest.groups
    # A cluster that has appeared has no limit of its own yet.
    limits = np.append(limits, np.full(len(added), np.median(limits)))
    sizes = np.bincount(groups, minlength=len(centres))[n_old:].tolist()
    news = [f"Cluster {id} has appeared, with {n:,} new dialogues." for id, n in zip(ids[n_old:], sizes, strict=True)]
    news += _still_far(nearest.similarity[clusters.settled :] < limits[groups[clusters.settled :]])
    fine_centres = np.concatenate([old.fine_centres, centres[n_old:]])
    parents = np.concatenate([old.fine_parents, np.arange(n_old, len(centres), dtype=np.int32)])
    # A cluster without a dialogue at the last clustering has no fine topic.
    missing = np.setdiff1d(np.arange(len(centres), dtype=np.int32), parents)
    fine_centres, parents = np.concatenate([fine_centres, centres[missing]]), np.concatenate([parents, missing])
    fine = assign_fine(units, groups, fine_centres, parents)
    areas = _areas_with(clusters, old.centres, centres[n_old:])
    names = {cluster.id: cluster.name for cluster in clusters.clusters}
    split_off = np.concatenate([old.split_off, none_split_off(len(parents) - len(old.split_off))])
    state = ClusterState(centres, groups, fine_centres, parents, fine, split_off)
    return Undescribed(
        state,
        areas,
        ids,
        clusters.by,
        clusters.settled,
        next_id + len(added),
        news,
        names,
        tuple(tuple(group.rows.tolist()) for group in perhaps),
    )


def _limits(clusters: Clusters) -> Vectors:
    """Return the cosine to its centre below which a dialogue is far from a cluster, float64 [k]."""
    return np.array([cluster.far for cluster in clusters.clusters])


def _still_far(far: NDArray[np.bool_]) -> list[str]:
    """Return a sentence if many more new dialogues are far from every cluster than of those that made the clusters.

    They may be a new topic that is too loose, or too near another, to become a cluster beside the known ones.
    """
    if far.sum() < LEAST or far.mean() < MANY_FAR:
        return []
    return [
        f"{far.sum():,} of {len(far):,} new dialogues are far from every cluster, perhaps of a new topic: clustering "
        "everything from scratch may find it (--from-scratch)."
    ]


def _areas_with(clusters: Clusters, centres: Vectors, added: Vectors) -> Groups:
    """Return the area of each cluster, int32 [k]; a new cluster joins the area of the nearest old one."""
    areas = np.array([cluster.area for cluster in clusters.clusters], dtype=np.int32)
    return np.concatenate([areas, areas[(added @ centres.T).argmax(axis=1)]]) if len(added) else areas
