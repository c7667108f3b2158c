"""People's decisions about clusters, applied to those that were found: rename, merge, split, pin, hide and move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from conversations.words import without_halves
from dial2vec.collection.clustering.clusters import Cluster, Clusters, Stored, folder_of, stored_clusters
from dial2vec.collection.clustering.decided import applied, decided_clusters, moved_rows, write_decided
from dial2vec.collection.clustering.decisions import ACTIONS, Decisions, Edit, path_of, read_decisions, write_decisions
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.data.terms import NAMED_BY
from dial2vec.errors import ArtifactError, CorpusError
from dial2vec.files import folder_lock

# Terms that a decision keeps as evidence.
EVIDENCE = 5


@dataclass(frozen=True, slots=True)
class Change:
    """Result of a decision or of undoing one."""

    decision: Edit
    before: Clusters
    after: Clusters

    @property
    def parts(self) -> list[Cluster]:
        """The clusters into which a split has divided a cluster."""
        others = {cluster.id for cluster in self.before.clusters} - {self.decision.cluster}
        return [cluster for cluster in self.after.clusters if cluster.id not in others]

    def sentence(self, named: Callable[[Cluster], str]) -> str:
        """Return what the decision did.

        :param named: returns what to call a cluster.
        """
        edit = self.decision
        was = {cluster.id: cluster for cluster in self.before.clusters}
        before, now = was[edit.cluster], next(cluster for cluster in self.after.clusters if cluster.id == edit.cluster)
        if edit.action == "rename":
            return f"{named(before)} is called “{now.name}” now."
        if edit.action == "merge" and edit.other is not None:
            return f"{named(was[edit.other])} joined {named(now)}, which has {now.size:,} dialogues now."
        if edit.action == "split":
            names = [named(part) for part in self.parts]
            return f"{named(before)} is {len(names)} topics, {', '.join(names[:5])}{', ...' * (len(names) > 5)}, now."
        if edit.action == "pin":
            return f"{named(now)} stays together, whatever is clustered later."
        if edit.action == "hide":
            return f"{named(now)} is hidden; its {now.size:,} dialogues are kept."
        return f"{edit.dialogue} is in {named(now)} now, no longer in “{edit.other_name}”."


def curate(
    collection: CollectionFolder,
    action: str,
    cluster: int,
    *,
    to: str | None = None,
    other: int | None = None,
    dialogue: str | None = None,
    done: Callable[[int], object] = lambda _: None,
) -> Change:
    """Decide about a cluster, and apply it at once; the decision is added to `curation.yaml`.

    :param action: one of `decisions.ACTIONS`.
    :param to: new name, for rename.
    :param other: id of the cluster whose dialogues join the first, for merge.
    :param dialogue: id of the dialogue that joins the cluster, for move.
    :param done: called with 1 after each half of the dialogues on which stability is measured.
    :raises CorpusError: if there is no such cluster or dialogue, or the decision changes nothing.
    :raises ArtifactError: if there are no clusters, or the decisions so far are about other ones.
    """
    with folder_lock(folder_of(collection), "writes to"):
        wish = Edit(action, cluster, to=to, other=other, dialogue=dialogue)
        stored, decisions, decision = check_decision(collection, wish)
        made = Decisions(stored.base.lineage, (*decisions.made, decision))
        after = _redecided(collection, stored, made, done)
        _write(collection, made, after)
    return Change(decision, stored.clusters, after.clusters)


def check_decision(collection: CollectionFolder, wish: Edit) -> tuple[Stored, Decisions, Edit]:
    """Return the clusters, the decisions so far, and the decision with its evidence; nothing is written.

    Errors are those of `curate`.

    :param wish: action and cluster, and what the action needs.
    :raises CorpusError: if it lacks what its action needs, too.
    """
    stored, decisions = _opened(collection)
    if wish.action not in ACTIONS:
        raise CorpusError(f"found the action {wish.action!r}; expected one of {', '.join(ACTIONS)}. Correct it.")
    needs = {"rename": (wish.to, "a new name"), "merge": (wish.other, "another cluster")}
    for needing, (given, what) in (needs | {"move": (wish.dialogue, "a dialogue")}).items():
        if (wish.action == needing) != (given is not None):
            raise CorpusError(f"found `{wish.action}` {'without' if given is None else 'with'} {what}. Correct it.")
    decision = _decision(collection, stored.clusters, wish)
    if wish.dialogue is not None:
        decision = _move_of(collection, stored, decision)
    now = applied(stored.base, stored.base_state, replace(decisions, made=(*decisions.made, decision)))
    if problem := now.problems.get(len(decisions.made)):
        raise CorpusError(f"{problem}; expected one that fits `{wish.action}`. `dial2vec cluster` shows the clusters.")
    return stored, decisions, decision


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
        after = _redecided(collection, stored, made, done)
        _write(collection, made, after)
    return Change(decisions.made[-1], stored.clusters, after.clusters)


def decisions_of(collection: CollectionFolder) -> list[tuple[Edit, str]]:
    """Return all decisions, oldest first, each with the reason why it cannot be applied, or ""."""
    stored, decisions = stored_clusters(collection), read_decisions(collection.folder)
    if decisions.lineage != stored.base.lineage:
        return [(edit, "its clusters are gone, all were clustered without them") for edit in decisions.made]
    now = applied(stored.base, stored.base_state, decisions)
    moved_rows(collection, stored.base, now, decisions)
    problems = now.problems
    return [(edit, problems.get(number, "")) for number, edit in enumerate(decisions.made)]


def _redecided(
    collection: CollectionFolder, stored: Stored, decisions: Decisions, done: Callable[[int], object]
) -> Stored:
    base, state = stored.base, stored.base_state
    return decided_clusters(collection, base, state, decisions, before=stored, done=done)[0]


def _write(collection: CollectionFolder, decisions: Decisions, stored: Stored) -> None:
    """Write the decisions first: if this is killed, the next clustering applies them."""
    write_decisions(collection.folder, decisions)
    write_decided(collection, stored, decided=True)


def _opened(collection: CollectionFolder) -> tuple[Stored, Decisions]:
    stored, decisions = stored_clusters(collection), read_decisions(collection.folder)
    if decisions.made and decisions.lineage != stored.base.lineage:
        raise ArtifactError(
            f"{path_of(collection.folder)} holds decisions about clusters that are gone; expected those of "
            f"{folder_of(collection)}. Move the file away to decide about the new ones."
        )
    return stored, decisions


def _decision(collection: CollectionFolder, clusters: Clusters, wish: Edit) -> Edit:
    known = {cluster.id: cluster for cluster in clusters.clusters}
    id, to, other = wish.cluster, wish.to, wish.other
    for number in (id, *(() if other is None else (other,))):
        if number not in known:
            shown = ", ".join(map(str, sorted(known)[:20]))
            raise CorpusError(
                f"{collection.folder} has no cluster {number}; expected one of {shown}. `dial2vec cluster "
                f"{collection.folder}` shows them."
            )
    if to is not None:
        to = " ".join(without_halves(to).split())
        if not to:
            raise CorpusError(f"found a blank name for cluster {id}; expected words. Name it.")
        if taken := next((cluster for cluster in known.values() if cluster.name == to and cluster.id != id), None):
            raise CorpusError(f"cluster {taken.id} has the name {to!r} already; expected another one. Choose one.")
    other_name = None if other is None else known[other].name
    today = datetime.now(UTC).date().isoformat()
    return replace(wish, name=known[id].name, terms=evidence_of(known[id]), date=today, to=to, other_name=other_name)


def evidence_of(cluster: Cluster) -> tuple[str, ...]:
    """Return the terms of a cluster that a decision keeps, which stay when it gets another name."""
    return tuple(term.text for term in cluster.terms[:EVIDENCE]) or tuple(cluster.name.split(", ")[:NAMED_BY])


def _move_of(collection: CollectionFolder, stored: Stored, decision: Edit) -> Edit:
    row = collection.row(dialogue := str(decision.dialogue))
    if row >= stored.clusters.seen:
        raise CorpusError(
            f"dialogue {dialogue} was added after the last clustering; expected one that is in a cluster. Run "
            f"`dial2vec cluster {collection.folder}` first."
        )
    own = stored.clusters.clusters[stored.state.groups[row]]
    if own.id == decision.cluster:
        raise CorpusError(
            f"dialogue {dialogue} is in cluster {own.id} ({own.name}) already; expected another cluster. Choose one."
        )
    return replace(decision, other_name=own.name)
