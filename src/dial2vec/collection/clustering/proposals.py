"""Decisions that agents propose and a person accepts or not: `proposals.jsonl` in the folder of a collection."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from conversations.files import write_json_lines
from conversations.words import printable, without_halves
from dial2vec.collection.clustering.clusters import Cluster, stored_clusters
from dial2vec.collection.clustering.curation import Change, check_decision, curate, evidence_of
from dial2vec.collection.clustering.decisions import Edit
from dial2vec.collection.collection_folder import CollectionFolder, readable
from dial2vec.errors import CorpusError
from dial2vec.files import folder_lock

FILE = "proposals.jsonl"
# Proposals that may wait, and characters of a reason and of a name.
MOST, REASON, NAME = 100, 500, 120


@dataclass(frozen=True, slots=True)
class Proposal:
    """A decision that nobody has made yet.

    :param number: number from 1.
    :param reason: reason, in the words of the agent.
    :param decision: decision, with the names that its clusters had.
    :param state: "open", "accepted" or "dismissed".
    """

    number: int
    reason: str
    decision: Edit
    state: Literal["open", "accepted", "dismissed"] = "open"


def read_proposals(folder: Path) -> list[Proposal]:
    """Return all proposals in the folder of a collection, oldest first.

    :raises ArtifactError: if the file cannot be read.
    """
    path = folder / FILE
    if not path.exists():
        return []
    with readable(path, "; expected a line per proposal. Mend the line, or remove it."):
        return [_proposal(json.loads(line)) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def open_proposals(collection: CollectionFolder) -> list[Proposal]:
    """Return the proposals that wait; not those about clusters that are gone, or are others now.

    :raises ArtifactError: if there are no clusters, or a file cannot be read.
    """
    made = [proposal for proposal in read_proposals(collection.folder) if proposal.state == "open"]
    known = {cluster.id: cluster for cluster in stored_clusters(collection).clusters.clusters} if made else {}
    return [proposal for proposal in made if _is_about(proposal.decision, known)]


def propose(collection: CollectionFolder, wish: Edit, reason: str) -> Proposal:
    """Note a decision for a person, and return it, or the same one that waits already; nothing is decided.

    :param wish: action and cluster, and what the action needs.
    :raises CorpusError: if it could not be carried out, or 100 proposals wait already.
    """
    wish = replace(wish, to=None if wish.to is None else printable(without_halves(wish.to), NAME))
    _, _, decision = check_decision(collection, wish)
    with folder_lock(collection.folder, "writes to"):
        known, waiting = read_proposals(collection.folder), open_proposals(collection)
        for proposal in waiting:
            if replace(proposal.decision, date=decision.date) == decision:
                return proposal
        if len(waiting) >= MOST:
            raise CorpusError(f"{MOST} proposals wait already; expected fewer. Let a person accept or dismiss some.")
        number = 1 + max((proposal.number for proposal in known), default=0)
        made = Proposal(number, printable(without_halves(reason), REASON), decision)
        write_json_lines(collection.folder / FILE, map(asdict, [*known, made]))
    return made


def settle_proposal(collection: CollectionFolder, number: int, *, accepted: bool) -> Change | None:
    """Accept a proposal, which is carried out, or dismiss it, and keep it with its new state.

    :return: what was changed; None if it is dismissed.
    :raises CorpusError: if no proposal with this number waits, or it changes nothing any more.
    """
    waiting, change = {proposal.number: proposal for proposal in open_proposals(collection)}, None
    if number not in waiting:
        raise CorpusError(
            f"no proposal {number} waits; expected one of {', '.join(map(str, waiting)) or 'none'}. `dial2vec curate "
            f"{collection.folder} proposals` lists them."
        )
    if accepted:
        wish = waiting[number].decision
        change = curate(collection, wish.action, wish.cluster, to=wish.to, other=wish.other, dialogue=wish.dialogue)
    settled = replace(waiting[number], state="accepted" if accepted else "dismissed")
    with folder_lock(collection.folder, "writes to"):
        known = read_proposals(collection.folder)
        after = [settled if proposal.number == number else proposal for proposal in known]
        write_json_lines(collection.folder / FILE, map(asdict, after))
    return change


def _is_about(edit: Edit, known: Mapping[int, Cluster]) -> bool:
    """Return whether the clusters of a decision are those of the time when it was proposed."""
    other = None if edit.other is None else known.get(edit.other)
    if edit.cluster not in known or (edit.other is not None and (other is None or other.name != edit.other_name)):
        return False
    return evidence_of(known[edit.cluster]) == edit.terms


def _proposal(record: dict[str, Any]) -> Proposal:
    edit = record["decision"]
    return Proposal(**record | {"decision": Edit(**edit | {"terms": tuple(edit["terms"])})})
