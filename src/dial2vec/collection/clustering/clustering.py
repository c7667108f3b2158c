"""Clustering a collection from scratch, or adding new dialogues to existing clusters."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection.clustering.appearing import LEVEL, appearing, own_topics
from dial2vec.collection.clustering.belonging import belonging
from dial2vec.collection.clustering.clusters import (
    Clusters,
    ClusterState,
    Stored,
    folder_of,
    least_cosines,
    none_split_off,
    read_stored,
    swap_clusters,
)
from dial2vec.collection.clustering.decided import decided_clusters, pinned_rows, write_decided
from dial2vec.collection.clustering.decisions import read_decisions
from dial2vec.collection.clustering.describing import Undescribed, describe_clusters
from dial2vec.collection.clustering.judging import judging_vectors
from dial2vec.collection.clustering.known import Known, find_known
from dial2vec.collection.clustering.levels import TENTHS, areas_of_topics, assign_fine, divide_topics
from dial2vec.collection.clustering.partition import Groups, Vectors, assign, centres_of, centres_of_groups
from dial2vec.collection.clustering.stability import HALVES, LEAST, SAMPLE, match_groups
from dial2vec.collection.clustering.topics_file import load_topics
from dial2vec.collection.clustering.tree import SMALLEST, find_levels
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.errors import ArtifactError, CorpusError
from dial2vec.files import folder_lock

# Share of new dialogues far from every cluster that is worth a sentence, five times `FAR_SHARE`; and its words.
MANY_FAR, FAR = 0.1, "new dialogues are far from every cluster"


def cluster(
    collection: CollectionFolder,
    *,
    k: int | None = None,
    seed: int = 1,
    from_scratch: bool = False,
    level: float = LEVEL,
    topics: Path | None = None,
    done: Callable[[int], object] = lambda _: None,
) -> Clusters:
    """Cluster a collection, write the clusters into its folder, and return them.

    Dialogues that are near to a topic of `topics.yaml` get it. Clusters of the others are cuts of Ward's tree, whose
    number comes from the dialogues, or k groups by k-means.
    Existing clusters keep their dialogues and centres, and new dialogues are assigned to them. A group of new dialogues
    that the past does not explain becomes a cluster, and `news` reports a cluster that splits. With `from_scratch` or
    `k`, all dialogues are clustered from scratch; a cluster gets the id of the old one that shares most dialogues with
    it. `restore_clusters` brings the clusters before back.

    :param k: number of clusters, by k-means; None chooses it.
    :param topics: file of `save_topics`, whose topics take the place of the clusters; dialogues that are far from all
        of them may become clusters beside them.
    :param level: chance of a group of new dialogues at any place, below which it becomes a cluster.
    :param done: called with 1 after each of at most `clustering_steps()` steps.
    :raises CorpusError: if there are fewer dialogues than clusters, or too many clusters to measure their stability.
    :raises ArtifactError: if existing clusters are damaged and `from_scratch` is False, or `topics.yaml` is no list of
        topics.
    :raises BusyError: if another run clusters the collection.
    """
    _check_sizes(collection, k)
    with folder_lock(folder_of(collection), "writes to"):
        own = find_levels(collection.adapted, judging_vectors(collection), seed=seed).topics if topics else None
        before = load_topics(collection, topics) if topics else _before(collection, from_scratch=from_scratch)
        decisions = read_decisions(collection.folder)
        grown = before is not None and not from_scratch and k is None
        pins = pinned_rows(before, decisions) if before else {}
        known = find_known(collection, before, pins, grown=grown)
        if before is not None and grown:
            new = _onto(before, collection, known, level, own)
        else:
            pins = {id: rows for id, rows in pins.items() if id not in known.names}
            new = _from_scratch(collection, k, seed, done, pins, known)
            if before is not None:
                new = _with_ids_of(new, before, {*pins, *known.names})
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
    known: Known,
) -> Undescribed:
    """Cluster all dialogues; pinned clusters and known topics come last with their ids, the others are numbered."""
    units, plain, rest = collection.adapted, judging_vectors(collection), np.flatnonzero(known.of < 0)
    own, judging = (np.asarray(units[rest]), judging_vectors(collection, rest)) if known.names else (units, plain)
    whole = np.full(len(units), -1, dtype=np.int32)
    # A few are no topic. They go to the nearest, and do not belong to it.
    centres, areas = np.zeros((0, units.shape[1]), dtype=np.float32), np.zeros(0, dtype=np.int32)
    if len(rest) >= SMALLEST or not known.names:
        levels = find_levels(own, judging, seed=seed)
        groups, centres = levels.topics, centres_of_groups(own, levels.topics)
        if k is not None:
            groups, centres = _largest_first(own, min(k, len(rest)), seed)
        if pins:
            groups = keep_together(groups, [np.searchsorted(rest, rows) for rows in pins.values()])
            centres = centres_of_groups(own, groups)
        whole[rest], areas = groups, areas_of_topics(groups, levels, len(centres))
    done(1)
    first = max(known.names, default=-1) + 1
    ids = [*range(first, first + len(centres) - len(pins)), *pins, *known.names]
    added = known.centres(units, [*known.names])
    areas, centres = _areas_with(areas, centres, added), np.concatenate([centres, added])
    groups = known.groups(units, centres, ids, whole)
    fine_centres, parents = divide_topics(units, plain, groups, len(centres), seed=seed, done=done)
    fine_centres, parents = _without_gaps(fine_centres, parents, centres)
    split_off, fine = none_split_off(len(parents)), assign_fine(units, groups, fine_centres, parents)
    belongs = belonging(collection.vectors, np.arange(len(units)), seed=seed) & (whole >= 0) | (known.of >= 0)
    state = ClusterState(centres, groups, fine_centres, parents, fine, split_off, belongs)
    return Undescribed(state, areas, ids, "k" if k else "tree", len(units), max(ids) + 1, [], {}, known)


def _largest_first(units: Vectors, k: int, seed: int) -> tuple[Groups, Vectors]:
    """Return k groups by k-means and their centres, the largest first."""
    centres = centres_of(units, k, seed=seed)
    order = np.argsort(-np.bincount(assign(units, centres).groups, minlength=k), kind="stable")
    return assign(units, centres[order]).groups, centres[order]


def _without_gaps(fine_centres: Vectors, parents: Groups, centres: Vectors) -> tuple[Vectors, Groups]:
    """Return fine topics with one for each cluster that had no dialogue, and so has none."""
    missing = np.setdiff1d(np.arange(len(centres), dtype=np.int32), parents)
    return np.concatenate([fine_centres, centres[missing]]), np.concatenate([parents, missing])


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
    """Give new clusters the ids of the old clusters that they match; pinned ones and known topics have theirs."""
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
    next_id = max(before.clusters.next_id, *(id + 1 for id in ids))
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


def _onto(before: Stored, collection: CollectionFolder, known: Known, level: float, own: Groups | None) -> Undescribed:
    """Keep the clusters, and add one for each group of new dialogues that the past does not explain.

    :param own: groups of the dialogues by themselves, where the clusters are those of another collection, whose map
        holds apart only what is apart there.
    """
    clusters, old = before.base, before.base_state
    units, n_old, settled = collection.adapted, len(old.centres), clusters.settled
    free, limits, originals = known.of < 0, clusters.limits, collection.originals
    # A copy is where its original is.
    kept = np.append(old.groups[:settled], np.int32(-1))[np.minimum(originals, settled)]
    kept[:settled] = old.groups[:settled]
    # Dialogues of known topics are no new group.
    some = free if known.names else slice(None)
    if own is None:
        added, wider, perhaps = appearing(
            units[some], collection.days[some], old.centres, kept[:settled][free[:settled]],
            close=float(np.median(limits)), level=level, seed=clusters.seed,
        )  # fmt: skip
    else:
        added, wider, perhaps = own_topics(units[some], own[some], old.centres, limits), {}, []
    ids = [cluster.id for cluster in clusters.clusters]
    listed = [id for id in known.names if id not in ids]
    next_id = max(before.clusters.next_id, *(id + 1 for id in (*ids, *listed)))
    ids += [*listed, *range(next_id, next_id + len(added))]
    centres = np.stack([*old.centres, *known.centres(units, listed), *(centre for centre, _ in added)])
    limits[[*wider]] = np.minimum(limits[[*wider]], [*wider.values()])
    least = [*least_cosines(limits, kept[:settled]), *[-1.0] * len(listed), *(limit for _, limit in added)]
    groups = known.groups(units, centres, ids, kept, np.array(least))
    news = _news(ids, groups, known, n_old, len(added))
    # A cluster that has appeared has no limit of its own yet.
    limits = np.append(limits, np.full(len(ids) - n_old, np.median(limits)))
    similarity = assign(units[settled:], centres, known=groups[settled:]).similarity
    news += _still_far(free[settled:] & (similarity < limits[groups[settled:]]))
    fine_centres, parents = _without_gaps(old.fine_centres, old.fine_parents, centres)
    areas = _areas_with(np.array([cluster.area for cluster in clusters.clusters]), old.centres, centres[n_old:])
    names = {cluster.id: cluster.name for cluster in clusters.clusters}
    split_off = np.concatenate([old.split_off, none_split_off(len(parents) - len(old.split_off))])
    belongs = np.concatenate([old.belongs, np.zeros(len(units) - len(old.belongs), dtype=bool)]) | (known.of >= 0)
    # One that belonged to nothing may have neighbours by now.
    later = np.flatnonzero(~belongs)
    belongs[later] = belonging(collection.vectors, later, seed=clusters.seed) & (len(known.names) < len(ids))
    fine = assign_fine(units, groups, fine_centres, parents)
    state = ClusterState(centres, groups, fine_centres, parents, fine, split_off, belongs)
    emerging = tuple(tuple(np.flatnonzero(free)[group.rows].tolist()) for group in perhaps)
    limited = {ids[place]: limits[place] for place in wider}
    return Undescribed(
        state, areas, ids, clusters.by, settled or len(units), next_id + len(added), news, names, known, emerging,
        limited,
    )  # fmt: skip


def _news(ids: list[int], groups: Groups, known: Known, n_old: int, n_added: int) -> list[str]:
    """Return a sentence on each new cluster: first those of topics.yaml, last those that have appeared."""
    sizes, first = np.bincount(groups, minlength=len(ids)).tolist(), len(ids) - n_added
    listed = [f"Cluster {id} ({known.names[id]}) is new, from topics.yaml." for id in ids[n_old:first]]
    pairs = zip(ids[first:], sizes[first:], strict=True)
    return listed + [f"Cluster {id} has appeared, with {n:,} new dialogues." for id, n in pairs]


def _still_far(far: NDArray[np.bool_]) -> list[str]:
    """Return a sentence if many more new dialogues are far from every cluster than of those that made the clusters.

    They may be a new topic that is too loose, or too near another, to become a cluster beside the known ones.
    """
    if far.sum() < LEAST or far.mean() < MANY_FAR:
        return []
    return [
        f"{far.sum():,} of {len(far):,} {FAR}, perhaps of a new topic: clustering "
        "everything from scratch may find it (--from-scratch)."
    ]


def _areas_with(areas: NDArray[Any], centres: Vectors, added: Vectors) -> Groups:
    """Return the area of each cluster, int32 [k]; an added one joins that of the nearest, if there is another."""
    own = areas[(added @ centres.T).argmax(axis=1)] if len(centres) else np.arange(len(added))
    return np.concatenate([areas, own]).astype(np.int32)
