"""People's decisions about clusters, applied to those that were found: rename, merge, split, pin and hide."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection.clustering.clusters import (
    Cluster,
    Clusters,
    ClusterState,
    Stored,
    folder_of,
    read_stored,
    write_clusters,
)
from dial2vec.collection.clustering.decisions import (
    Decided,
    Decisions,
    Edit,
    apply_decisions,
    path_of,
    read_decisions,
    write_decisions,
)
from dial2vec.collection.clustering.describing import Facts
from dial2vec.collection.clustering.levels import Area
from dial2vec.collection.clustering.terms import NAMED_BY
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.data.corpora.transcripts import LABEL_COLUMNS
from dial2vec.encoder.nearest import unit_rows
from dial2vec.errors import ArtifactError, CorpusError
from dial2vec.files import atomic_path, folder_lock

# Terms that a decision keeps as evidence.
EVIDENCE = 5


@dataclass(frozen=True, slots=True)
class Change:
    """Result of a decision or of undoing one.

    :param decision: the decision.
    :param before: clusters before.
    :param after: clusters after.
    """

    decision: Edit
    before: Clusters
    after: Clusters


def curate(
    collection: CollectionFolder,
    action: str,
    cluster: int,
    *,
    to: str | None = None,
    other: int | None = None,
    done: Callable[[int], object] = lambda _: None,
) -> Change:
    """Decide about a cluster, and apply it at once; the decision is added to `curation.yaml`.

    :param action: one of `decisions.ACTIONS`.
    :param cluster: id of the cluster.
    :param to: new name, for rename.
    :param other: id of the cluster whose dialogues join the first, for merge.
    :param done: called with 1 after each half of the dialogues on which stability is measured.
    :raises CorpusError: if there is no such cluster, or the decision changes nothing.
    :raises ArtifactError: if there are no clusters, or the decisions so far are about other ones.
    """
    with folder_lock(folder_of(collection), "writes to"):
        stored, decisions = _opened(collection)
        decision = _decision(collection, stored.clusters, action, cluster, to, other)
        made = Decisions(stored.base.lineage, (*decisions.made, decision))
        after, problems = _redecided(collection, stored, made, done)
        if problem := problems.get(len(made.made) - 1):
            raise CorpusError(f"{problem}; expected one that fits `{action}`. `dial2vec cluster` shows the clusters.")
        _write(collection, made, after)
    return Change(decision, stored.clusters, after.clusters)


def undo_decision(collection: CollectionFolder, *, done: Callable[[int], object] = lambda _: None) -> Change:
    """Take back the last decision; the clusters are as if it had never been made.

    :raises CorpusError: if there is no decision.
    :raises ArtifactError: as in `curate`.
    """
    with folder_lock(folder_of(collection), "writes to"):
        stored, decisions = _opened(collection)
        if not decisions.made:
            raise CorpusError(
                f"{path_of(collection.folder)} holds no decision; expected one. There is nothing to undo."
            )
        made = replace(decisions, made=decisions.made[:-1])
        after, _ = _redecided(collection, stored, made, done)
        _write(collection, made, after)
    return Change(decisions.made[-1], stored.clusters, after.clusters)


def decisions_of(collection: CollectionFolder) -> list[tuple[Edit, str]]:
    """Return all decisions, oldest first, each with the reason why it cannot be applied, or ""."""
    stored, decisions = _stored(collection), read_decisions(collection.folder)
    if decisions.lineage != stored.base.lineage:
        return [(edit, "its clusters are gone, all were clustered without them") for edit in decisions.made]
    problems = _applied(stored.base, stored.base_state, decisions).problems
    return [(edit, problems.get(number, "")) for number, edit in enumerate(decisions.made)]


def write_labels(collection: CollectionFolder, path: Path) -> tuple[int, int]:
    """Write the name of each dialogue's cluster into the label file of a corpus, which `read_labels` reads; atomic.

    Dialogues of hidden clusters, and those that were not clustered yet, have no row.

    :return: number of dialogues in the file, and number of labels.
    :raises ArtifactError: if there are no clusters.
    """
    stored = _stored(collection)
    clusters, places = stored.clusters.clusters, stored.state.groups.tolist()
    ids = collection.rows["dialogue_id"][: len(places)].to_pylist()
    rows = [(id, clusters[place].name) for id, place in zip(ids, places, strict=True) if not clusters[place].hidden]
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as handle:
        csv.writer(handle, lineterminator="\n").writerows([LABEL_COLUMNS, *rows])
    return len(rows), len({name for _, name in rows})


def pinned_rows(stored: Stored, decisions: Decisions) -> dict[int, NDArray[np.int64]]:
    """Return the dialogues of each pinned cluster, as rows of the collection, by id."""
    if decisions.lineage != stored.base.lineage:
        return {}
    pinned = _applied(stored.base, stored.base_state, decisions).pinned
    places = {cluster.id: place for place, cluster in enumerate(stored.clusters.clusters)}
    rows = {id: np.flatnonzero(stored.state.groups == places[id]) for id in sorted(pinned & places.keys())}
    return {id: own for id, own in rows.items() if len(own)}


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
    now = _applied(base, state, decisions)
    state = replace(state, split_off=np.array(now.split_off, dtype=np.int32).reshape(-1, 2))
    if not decisions.made:
        return Stored(base, state, base, state), {}
    clusters, shown = _Rendering(collection, base, state, now, before, done).clusters()
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
        before: Stored | None,
        done: Callable[[int], object],
    ) -> None:
        self.collection, self.base, self.now, self.before, self.done = collection, base, now, before, done
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
            clusters.append(replace(cluster, name=self._name(id), area=self._area(id), hidden=id in now.hidden))
        clusters = _told_apart(clusters, now.names)
        names = {cluster.id: cluster.name for cluster in clusters}
        fine = tuple(
            replace(topic, cluster=id, name=names[id] if len(self.topics[id]) == 1 else topic.name)
            for topic, id in zip(base.fine, now.owners, strict=True)
        )
        next_id = max(base.next_id, *(id + 1 for id in self.ids))
        areas = _areas(base.areas, clusters)
        return replace(base, clusters=tuple(clusters), areas=areas, fine=fine, next_id=next_id), state

    def _state(self) -> ClusterState:
        was = self.base_state
        old = {cluster.id: place for place, cluster in enumerate(self.base.clusters)}
        centres = np.zeros((len(self.ids), was.centres.shape[1]), dtype=np.float32)
        groups = self.parents[was.fine]
        for place, id in enumerate(self.ids):
            if id not in self.changed:
                centres[place] = was.centres[old[id]]
            elif len(rows := np.flatnonzero(groups == place)):
                total = self.collection.vectors[rows].sum(axis=0, dtype=np.float64)
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


def _applied(base: Clusters, state: ClusterState, decisions: Decisions) -> Decided:
    ids = [cluster.id for cluster in base.clusters]
    owners = [ids[parent] for parent in state.fine_parents]
    split_off = [(int(id), int(origin)) for id, origin in state.split_off]
    return apply_decisions(owners, split_off, ids, decisions.made, base.next_id)


def _redecided(
    collection: CollectionFolder, stored: Stored, decisions: Decisions, done: Callable[[int], object]
) -> tuple[Stored, dict[int, str]]:
    base, state = stored.base, stored.base_state
    return decided_clusters(collection, base, state, decisions, before=stored, done=done)


def _write(collection: CollectionFolder, decisions: Decisions, stored: Stored) -> None:
    """Write the decisions first: if this is killed, the next clustering applies them."""
    write_decisions(collection.folder, decisions)
    write_decided(collection, stored, decided=True)


def _stored(collection: CollectionFolder) -> Stored:
    stored = read_stored(collection)
    if stored is None or not stored.base.fine:
        raise ArtifactError(
            f"{collection.folder} has no clusters to decide about; expected those of this version. Run `dial2vec "
            f"cluster {collection.folder}` first."
        )
    return stored


def _opened(collection: CollectionFolder) -> tuple[Stored, Decisions]:
    stored, decisions = _stored(collection), read_decisions(collection.folder)
    if decisions.made and decisions.lineage != stored.base.lineage:
        raise ArtifactError(
            f"{path_of(collection.folder)} holds decisions about clusters that are gone; expected those of "
            f"{folder_of(collection)}. Move the file away to decide about the new ones."
        )
    return stored, decisions


def _decision(
    collection: CollectionFolder, clusters: Clusters, action: str, id: int, to: str | None, other: int | None
) -> Edit:
    known = {cluster.id: cluster for cluster in clusters.clusters}
    for number in (id, *(() if other is None else (other,))):
        if number not in known:
            shown = ", ".join(map(str, sorted(known)[:20]))
            raise CorpusError(
                f"{collection.folder} has no cluster {number}; expected one of {shown}. `dial2vec cluster "
                f"{collection.folder}` shows them."
            )
    if to is not None:
        to = " ".join(to.split())
        if not to:
            raise CorpusError(f"found a blank name for cluster {id}; expected words. Name it.")
        if taken := next((cluster for cluster in known.values() if cluster.name == to and cluster.id != id), None):
            raise CorpusError(f"cluster {taken.id} has the name {to!r} already; expected another one. Choose one.")
    terms = tuple(term.text for term in known[id].terms[:EVIDENCE]) or tuple(known[id].name.split(", ")[:NAMED_BY])
    other_name = None if other is None else known[other].name
    today = datetime.now(UTC).date().isoformat()
    return Edit(action, id, known[id].name, terms, today, to, other, other_name)
