"""Names, sizes, stability and examples of clusters, of the areas above them and of the fine topics below them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from conversations.files import read_json
from dial2vec.collection.clustering.clusters import Cluster, Clusters, ClusterState, far_limit
from dial2vec.collection.clustering.known import Known
from dial2vec.collection.clustering.levels import Area, FineTopic
from dial2vec.collection.clustering.naming import Namer, area_name
from dial2vec.collection.clustering.partition import Assignment, Groups, Vectors, assign, centres_of
from dial2vec.collection.clustering.speaking import speaking_turns
from dial2vec.collection.clustering.stability import LEAST, CentreFinder, Stability, measure_stability
from dial2vec.collection.clustering.tree import tree_centres
from dial2vec.collection.collection_folder import CollectionFolder, sampled, within
from dial2vec.data.terms import READ, READ_WORDS, Term, Terms
from dial2vec.encoder.folder import LENS_FILE, is_lens

SHOWN = 3
# A cluster splits if random halves of it agree this well on the same two parts, and the smaller part has this share.
SPLITS, SMALLEST_HALF = 0.9, 0.25


@dataclass(frozen=True, slots=True)
class Undescribed:
    """Clusters without names, sizes and examples. Fields with the same names are those of `Clusters`.

    :param state: arrays of the clusters; `groups` and `fine` cover all dialogues.
    :param areas: area of each cluster, int32 [k].
    :param names: names to keep, by id.
    :param known: topics that are known beforehand.
    :param emerging: rows of new dialogues that may become clusters.
    :param wider: limits that have changed, by id, as `Cluster.far`.
    """

    state: ClusterState
    areas: Groups
    ids: list[int]
    by: str
    settled: int
    next_id: int
    news: list[str]
    names: dict[int, str]
    known: Known
    emerging: tuple[tuple[int, ...], ...] = ()
    wider: Mapping[int, float] = field(default_factory=dict)


def describe_clusters(
    collection: CollectionFolder,
    new: Undescribed,
    seed: int,
    before: Clusters | None,
    done: Callable[[int], object],
    *,
    lineage: str = "",
) -> Clusters:
    """Return clusters with names, terms, sizes and stability.

    :param before: clusters before these, for what has changed; None if there were none.
    :param done: called with 1 after each half of the dialogues on which stability is measured.
    :param lineage: name of the first clustering, as in `Clusters`.
    """
    facts = Facts.read(collection, new.state, new.by, seed, done)
    namer = Namer.read(collection.dialogues(facts.vocabulary.rows.tolist()))
    if given := _names_by_lens(collection, facts.vocabulary.rows, new):
        unclear = [False] * len(given)
    else:
        given, unclear = namer.names(new.state.groups[facts.vocabulary.rows], facts.terms, new.ids)
    known, of = new.known.names, dict(zip(new.ids, given, strict=True)) | new.names
    names = [known.get(id, f"{of[id]} ({id})" if of[id] in known.values() else of[id]) for id in new.ids]
    was = {cluster.id: cluster for cluster in before.clusters} if before else {}
    news, clusters = list(new.news), []
    for place, (id, name) in enumerate(zip(new.ids, names, strict=True)):
        cluster = replace(facts.cluster(place, id, name, int(new.areas[place])), unclear=unclear[place])
        if id in was and was[id].halves < SPLITS <= cluster.halves:
            news.append(
                f"Cluster {id} ({name}) splits into two now; --from-scratch clusters all dialogues from scratch."
            )
        if id in was and was[id].size and not cluster.size:
            news.append(f"Cluster {id} ({name}) has no dialogues any more.")
        # A limit stays: dialogues beyond it are in the cluster too, and must not widen it.
        far = new.wider.get(id, was[id].far if id in was else 0.0)
        kept = replace(cluster, far=far, unclear=was[id].unclear) if id in new.names else cluster
        clusters.append(replace(kept, known=known.get(id, ""), unclear=kept.unclear and id not in known))
    return Clusters(
        collection.manifest.fingerprint, new.by, seed, facts.stability.agreement, len(collection), new.settled,
        new.next_id, tuple(clusters), tuple(news), _areas(facts.vocabulary, new, clusters),
        _fine_topics(facts.vocabulary, namer, new, clusters, before.fine if before and new.names else ()), lineage,
        "" if collection.adaptation is None else collection.adaptation.name, new.emerging, new.known.content,
        1 - float(new.state.belongs.mean()),
    )  # fmt: skip


def _names_by_lens(collection: CollectionFolder, rows: NDArray[np.int64], new: Undescribed) -> list[str]:
    """Return names of clusters of vectors by lenses: the commonest value of each lens; [] for other vectors."""
    if not is_lens(model := collection.model):
        return []
    groups, kinds = new.state.groups[rows], collection.metadata_kinds
    keys = [key for key in read_json(model / LENS_FILE)["lenses"] if key in kinds]
    columns = [np.array(collection.metadata(key).take(rows).to_pylist(), dtype=object) for key in keys]
    names: list[str] = []
    for place, id in enumerate(new.ids):
        # Dialogues that were added later have no value.
        spoken = [Counter(str(each) for each in column[groups == place] if each is not None) for column in columns]
        values = [value for counts in spoken for value, _ in counts.most_common(1)]
        name = ", ".join(value for value in values if value != "none") or "none"
        names.append(f"{name} ({id})" if name in names else name)
    return names if keys else []


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about each cluster of a state.

    :param assignment: similarity and margin of each dialogue.
    """

    collection: CollectionFolder
    state: ClusterState
    seed: int
    assignment: Assignment
    stability: Stability
    vocabulary: Vocabulary
    terms: list[list[Term]]

    @classmethod
    def read(
        cls, collection: CollectionFolder, state: ClusterState, by: str, seed: int, done: Callable[[int], object]
    ) -> Facts:
        """Read the dialogues of a collection and measure stability.

        :param by: way of clustering, as in `Clusters`.
        :param done: called with 1 after each half of the dialogues.
        """
        units = collection.adapted[: len(state.groups)]
        assignment = assign(units, state.centres, known=state.groups)
        find: CentreFinder = centres_of if by == "k" else tree_centres
        stability = measure_stability(units, state.centres, seed=seed, groups=state.groups, find=find, done=done)
        vocabulary = Vocabulary.read(collection, len(units), seed)
        terms = vocabulary.of(state.groups, len(state.centres))
        return cls(collection, state, seed, assignment, stability, vocabulary, terms)

    def cluster(self, place: int, id: int, name: str, area: int) -> Cluster:
        """Return the cluster at a place."""
        rows = np.flatnonzero(self.state.groups == place)
        halves = _halves(self.collection.adapted, rows, self.seed)
        far = far_limit(self.assignment.similarity[rows])
        terms, stable = tuple(self.terms[place]), self.stability.clusters[place]
        cluster = Cluster(id, name, terms, len(rows), stable, halves, far, (), (), area)
        return with_members(cluster, self.collection, rows, self.assignment)


def with_members(
    cluster: Cluster, collection: CollectionFolder, rows: NDArray[np.int64], assignment: Assignment
) -> Cluster:
    """Return a cluster with the size, and the typical and borderline dialogues, of these rows.

    :param assignment: similarity and margin of each dialogue of the collection.
    """
    typical, borderline = _first(rows, -assignment.similarity), _first(rows, assignment.margin)
    speaking = tuple(speaking_turns(dialogue, cluster.terms) for dialogue in collection.dialogues(typical.tolist()))
    ids = collection.rows["dialogue_id"]
    names, edge = (tuple(ids.take(some).to_pylist()) for some in (typical, borderline))
    return replace(cluster, size=len(rows), typical=names, borderline=edge, speaking=speaking)


def _areas(vocabulary: Vocabulary, new: Undescribed, clusters: list[Cluster]) -> tuple[Area, ...]:
    n_areas = int(new.areas.max()) + 1
    groups = new.areas[new.state.groups]
    terms, sizes = vocabulary.of(groups, n_areas), np.bincount(groups, minlength=n_areas)
    areas = []
    for area in range(n_areas):
        own = np.flatnonzero(new.areas == area)
        name = area_name([clusters[at] for at in own], new.state.centres[own])
        evidence = clusters[own[0]].terms if len(own) == 1 else tuple(terms[area])
        areas.append(Area(area, name, evidence, int(sizes[area])))
    return tuple(areas)


def _fine_topics(
    vocabulary: Vocabulary, namer: Namer, new: Undescribed, clusters: list[Cluster], known: Sequence[FineTopic]
) -> tuple[FineTopic, ...]:
    """Describe the fine topics; the first ones keep the names that are known."""
    fine, parents = new.state.fine, new.state.fine_parents
    terms = vocabulary.of(fine, len(parents))
    sizes = np.bincount(fine, minlength=len(parents))
    alone = np.bincount(parents, minlength=len(clusters)) == 1
    names, _ = namer.names(fine[vocabulary.rows], terms, range(len(parents)), [clusters[at].name for at in parents])
    names[: len(known)] = [topic.name for topic in known]
    # A topic that is not divided gives its part its own name.
    names = [clusters[parent].name if alone[parent] else names[at] for at, parent in enumerate(parents)]
    own = [clusters[parent].terms if alone[parent] else tuple(terms[at]) for at, parent in enumerate(parents)]
    return tuple(
        FineTopic(at, clusters[parent].id, names[at], own[at], int(sizes[at]))
        for at, parent in enumerate(parents.tolist())
    )


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Terms of a sample of dialogues, for groupings of all dialogues."""

    rows: NDArray[np.int64]
    terms: Terms

    @classmethod
    def read(cls, collection: CollectionFolder, n: int, seed: int) -> Vocabulary:
        """Read the terms of a sample of the first n dialogues."""
        rows = sampled(n, READ, seed)
        # Meetings have so many terms that 20,000 of them would take gigabytes.
        rows = within(rows, collection.rows["words"].to_numpy()[rows], READ_WORDS, seed)
        return cls(rows, Terms.read(collection.dialogues(rows.tolist())))

    def of(self, groups: Groups, k: int) -> list[list[Term]]:
        """Return the terms of each of k groups; `groups` has one of them per dialogue of the collection."""
        return self.terms.of(groups[self.rows], k)


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


def _first(rows: NDArray[np.int64], value: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the rows with the lowest values."""
    return rows[np.argsort(value[rows], kind="stable")[:SHOWN]]
