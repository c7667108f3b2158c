"""Clusters after people's decisions: those that were found, renamed, merged, split, pinned, hidden, or with moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dial2vec.collection.clustering.clusters import Cluster, Clusters, ClusterState, Stored, write_clusters
from dial2vec.collection.clustering.decisions import Decided, Decisions, apply_decisions, path_of
from dial2vec.collection.clustering.describing import Facts, with_members
from dial2vec.collection.clustering.levels import Area, assign_fine
from dial2vec.collection.clustering.partition import assign
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.encoder.nearest import unit_rows


def pinned_rows(stored: Stored, decisions: Decisions) -> dict[int, NDArray[np.int64]]:
    """Return the dialogues of each pinned cluster, as rows of the collection, by id."""
    if decisions.lineage != stored.base.lineage:
        return {}
    pinned = applied(stored.base, stored.base_state, decisions).pinned
    places = {cluster.id: place for place, cluster in enumerate(stored.clusters.clusters)}
    rows = {id: np.flatnonzero(stored.state.groups == places[id]) for id in sorted(pinned & places.keys())}
    return {id: own for id, own in rows.items() if len(own)}


def renamed_ids(stored: Stored, decisions: Decisions) -> set[int]:
    """Return the ids of the clusters that have a name of people, which goes before that of a language model."""
    if decisions.lineage != stored.base.lineage:
        return set()
    given = {edit.to for edit in decisions.made if edit.action == "rename"}
    names = applied(stored.base, stored.base_state, decisions).names
    return {id for id, name in names.items() if name in given}


def decided_clusters(
    collection: CollectionFolder,
    base: Clusters,
    state: ClusterState,
    decisions: Decisions,
    *,
    before: Stored | None = None,
    done: Callable[[int], object] = lambda _: None,
) -> tuple[Stored, dict[int, str]]:
    """Apply decisions to clusters as they were found.

    The same clusters and decisions give the same result. Clusters that no decision touches stay what they are.

    :param before: clusters with the same `base`, whose facts need not be measured again.
    :return: the clusters, and a sentence by the place of each decision that cannot be applied.
    """
    if decisions.made and decisions.lineage != base.lineage:
        number = len(decisions.made)
        gone = f"{path_of(collection.folder)} has {number} decisions about clusters that are gone; none is applied."
        return Stored(replace(base, news=(*base.news, gone)), state, base, state), dict.fromkeys(range(number), gone)
    now = applied(base, state, decisions)
    state = replace(state, split_off=np.array(now.split_off, dtype=np.int32).reshape(-1, 2))
    if not decisions.made:
        return Stored(base, state, base, state), {}
    moved = moved_rows(collection, base, now, decisions)
    clusters, shown = _Rendering(collection, base, state, now, moved, before, done).clusters()
    made = decisions.made
    news = [f"Not applied: {made[at]} ({made[at].name}), because {why}." for at, why in now.problems.items()]
    clusters = replace(clusters, news=(*base.news, *news))
    return Stored(clusters, shown, base, state), now.problems


def write_decided(collection: CollectionFolder, stored: Stored, *, decided: bool = False) -> None:
    """Write clusters, and those that were found beside them if they differ; `decided` as in `write_clusters`."""
    base = None if stored.clusters is stored.base else (stored.base, stored.base_state)
    write_clusters(collection, stored.clusters, stored.state, base=base, decided=decided)


class _Rendering:
    """Clusters after decisions, described."""

    def __init__(
        self,
        collection: CollectionFolder,
        base: Clusters,
        state: ClusterState,
        now: Decided,
        moved: dict[int, int],
        before: Stored | None,
        done: Callable[[int], object],
    ) -> None:
        self.collection, self.base, self.now, self.before, self.done = collection, base, now, before, done
        self.moved = moved
        self.base_state, self.was = state, {cluster.id: cluster for cluster in base.clusters}
        first = [id for id in self.was if id in now.ids]
        self.ids = first + sorted(set(now.ids) - set(first))
        places = {id: place for place, id in enumerate(self.ids)}
        self.parents = np.array([places[id] for id in now.owners], dtype=np.int32)
        self.base_ids = [base.clusters[parent].id for parent in state.fine_parents]
        known = _topics(self.base_ids)
        self.topics = _topics(now.owners)
        self.changed = {id for id in self.ids if self.topics.get(id) != known.get(id)}

    def clusters(self) -> tuple[Clusters, ClusterState]:
        base, now = self.base, self.now
        state = self._state()
        known = self._known()
        facts = None
        if self.changed - known.keys():
            facts = Facts.read(self.collection, state, base.by, base.seed, self.done)
        clusters = []
        for place, id in enumerate(self.ids):
            cluster = self.was[id] if id not in self.changed else known.get(id)
            if cluster is None:
                assert facts is not None
                cluster = facts.cluster(place, id, "", 0)
            unclear = cluster.unclear and id not in now.names
            cluster = replace(cluster, name=self._name(id), unclear=unclear)
            clusters.append(replace(cluster, area=self._area(id), hidden=id in now.hidden))
        clusters = _told_apart(clusters, now.names)
        names = {cluster.id: cluster.name for cluster in clusters}
        fine = tuple(
            replace(topic, cluster=id, name=names[id] if len(self.topics[id]) == 1 else topic.name)
            for topic, id in zip(base.fine, now.owners, strict=True)
        )
        shown = self._with_moves(state)
        moved = state.groups != shown.groups
        touched = {self.ids[place] for arrays in (state, shown) for place in arrays.groups[moved]}
        # What was known may have been measured with other moves.
        if stale := touched | (self.changed & known.keys()):
            assignment = assign(self.collection.adapted[: base.seen], shown.centres, known=shown.groups)
            clusters = [
                with_members(cluster, self.collection, np.flatnonzero(shown.groups == place), assignment)
                if cluster.id in stale else cluster
                for place, cluster in enumerate(clusters)
            ]  # fmt: skip
            sizes = np.bincount(shown.fine, minlength=len(fine)).tolist()
            fine = tuple(replace(topic, size=size) for topic, size in zip(fine, sizes, strict=True))
        next_id = max(base.next_id, *(id + 1 for id in self.ids))
        areas = _areas(base.areas, clusters)
        outside = 1 - float(shown.belongs.mean())
        kept = replace(base, clusters=tuple(clusters), areas=areas, fine=fine, next_id=next_id, outside=outside)
        return kept, shown

    def _with_moves(self, state: ClusterState) -> ClusterState:
        """Put each moved dialogue into its cluster, and there into the nearest fine topic."""
        places = {id: place for place, id in enumerate(self.ids)}
        moves = {row: places[id] for row, id in self.moved.items() if state.groups[row] != places[id]}
        rows, groups, fine = np.array([*moves], dtype=np.int64), state.groups.copy(), state.fine.copy()
        belongs = state.belongs.copy()
        belongs[[*self.moved]] = True
        groups[rows] = [*moves.values()]
        fine[rows] = assign_fine(self.collection.adapted[rows], groups[rows], state.fine_centres, state.fine_parents)
        return replace(state, groups=groups, fine=fine, belongs=belongs)

    def _state(self) -> ClusterState:
        was = self.base_state
        old = {cluster.id: place for place, cluster in enumerate(self.base.clusters)}
        centres = np.zeros((len(self.ids), was.centres.shape[1]), dtype=np.float32)
        groups = self.parents[was.fine]
        for place, id in enumerate(self.ids):
            if id not in self.changed:
                centres[place] = was.centres[old[id]]
            elif len(rows := np.flatnonzero(groups == place)):
                total = self.collection.adapted[rows].sum(axis=0, dtype=np.float64)
                centres[place] = unit_rows(total[None].astype(np.float32))[0]
        return replace(was, centres=centres, groups=groups, fine_parents=self.parents)

    def _known(self) -> dict[int, Cluster]:
        """Return the clusters before if each has the same dialogues; else stability and margins may differ."""
        if self.before is None or self.before.base is not self.base:
            return {}
        before = self.before.clusters
        same = _topics([topic.cluster for topic in before.fine]) == self.topics
        return {cluster.id: cluster for cluster in before.clusters} if same else {}

    def _name(self, id: int) -> str:
        if id in self.now.names:
            return self.now.names[id]
        if id not in self.changed or id not in self.now.parts:
            return self.was[id].name
        return self.base.fine[self._anchor(id)].name

    def _anchor(self, id: int) -> int:
        parts = [part for part, _ in self.now.split_off]
        return parts.index(id) if id in parts else self.base_ids.index(id)

    def _area(self, id: int) -> int:
        return self.was[self.base_ids[self._anchor(id)]].area if id not in self.was else self.was[id].area


def _topics(owners: list[int]) -> dict[int, frozenset[int]]:
    """Return the fine topics of each cluster."""
    topics: dict[int, set[int]] = {}
    for place, id in enumerate(owners):
        topics.setdefault(id, set()).add(place)
    return {id: frozenset(places) for id, places in topics.items()}


def _told_apart(clusters: list[Cluster], given: dict[int, str]) -> list[Cluster]:
    """Add the id to a name that another cluster has, unless people gave it."""
    taken = set(given.values())
    named = []
    for cluster in clusters:
        name = cluster.name if cluster.id in given or cluster.name not in taken else f"{cluster.name} ({cluster.id})"
        taken.add(name)
        named.append(replace(cluster, name=name))
    return named


def _areas(areas: tuple[Area, ...], clusters: list[Cluster]) -> tuple[Area, ...]:
    """Return the areas that have clusters to show; an area of one cluster is what the cluster is."""
    kept = []
    for area in areas:
        own = [cluster for cluster in clusters if cluster.area == area.id and not cluster.hidden]
        if len(own) == 1:
            area = replace(area, name=own[0].name, terms=own[0].terms)
        if own:
            kept.append(replace(area, size=sum(cluster.size for cluster in own)))
    return tuple(kept)


def applied(base: Clusters, state: ClusterState, decisions: Decisions) -> Decided:
    """Apply decisions to the fine topics of clusters as they were found."""
    ids = [cluster.id for cluster in base.clusters]
    owners = [ids[parent] for parent in state.fine_parents]
    split_off = [(int(id), int(origin)) for id, origin in state.split_off]
    return apply_decisions(owners, split_off, ids, decisions.made, base.next_id)


def moved_rows(collection: CollectionFolder, base: Clusters, now: Decided, decisions: Decisions) -> dict[int, int]:
    """Return the cluster of each moved dialogue by its row; a later copy of it goes with it.

    A move of a dialogue without a cluster is a problem.
    """
    if not now.moves:
        return {}
    ids = collection.rows["dialogue_id"][: base.seen]
    places = pc.index_in(pa.array([*now.moves]), value_set=ids.combine_chunks()).to_pylist()
    rows = dict(zip(now.moves, places, strict=True))
    for number, edit in enumerate(decisions.made):
        if edit.dialogue is not None and rows.get(edit.dialogue, 0) is None:
            now.problems[number] = f"dialogue {edit.dialogue} is not among those that were clustered"
    moved = {row: now.moves[id] for id, row in rows.items() if row is not None}
    later = enumerate(collection.originals[base.settled : base.seen].tolist(), start=base.settled)
    return {row: moved[original] for row, original in later if original in moved} | moved
