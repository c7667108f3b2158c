"""Decisions that agents propose and a person accepts or not: `proposals.jsonl` in the folder of a collection."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from conversations.files import write_json_lines
from conversations.words import printable, without_halves
from dial2vec.collection.clustering.curation import Change, check_decision, curate
from dial2vec.collection.clustering.decisions import Edit
from dial2vec.collection.collection_folder import CollectionFolder, readable
from dial2vec.errors import CorpusError
from dial2vec.files import folder_lock

FILE = "proposals.jsonl"
# Proposals that may wait, and characters of a reason and of a name.
MOST, REASON, NAME = 100, 500, 120


@dataclass(frozen=True, slots=True)
class Proposal:
    """A decision that nobody has made yet; `action`, `to`, `other` and `dialogue` are those of `decisions.Edit`.

    :param number: number from 1.
    :param topic: id of the cluster.
    :param reason: reason, in the words of the agent.
    :param date: day of the proposal, ISO 8601.
    :param state: "open", "accepted" or "dismissed".
    """

    number: int
    action: str
    topic: int
    reason: str
    to: str | None = None
    other: int | None = None
    dialogue: str | None = None
    date: str = ""
    state: Literal["open", "accepted", "dismissed"] = "open"

    def words(self, names: Mapping[int, str]) -> str:
        """Return the decision in words: 'rename “Cards” to “Lost cards”'."""
        topic, other = f"“{names.get(self.topic, self.topic)}”", f"“{names.get(self.other or 0, self.other)}”"
        forms = {"rename": f"rename {topic} to “{self.to}”", "merge": f"let {other} join {topic}"}
        return forms.get(self.action, f"move {self.dialogue} to {topic}" if self.dialogue else f"{self.action} {topic}")


def read_proposals(folder: Path) -> list[Proposal]:
    """Return all proposals in the folder of a collection, oldest first.

    :raises ArtifactError: if the file cannot be read.
    """
    path = folder / FILE
    if not path.exists():
        return []
    with readable(path, "; expected a line per proposal. Mend the line, or remove it."):
        return [Proposal(**json.loads(line)) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def propose(
    collection: CollectionFolder,
    action: str,
    topic: int,
    reason: str,
    *,
    to: str | None = None,
    other: int | None = None,
    dialogue: str | None = None,
) -> Proposal:
    """Note a decision for a person, and return it, or the same one that waits already; nothing is decided.

    The other parameters are those of `dial2vec.collection.clustering.curation.curate`, which carries it out.

    :raises CorpusError: if it could not be carried out, or 100 proposals wait already.
    """
    check_decision(collection, Edit(action, topic, to=to, other=other, dialogue=dialogue))
    with folder_lock(collection.folder, "writes to"):
        known = read_proposals(collection.folder)
        if sum(proposal.state == "open" for proposal in known) >= MOST:
            raise CorpusError(f"{MOST} proposals wait already; expected fewer. Let a person accept or dismiss some.")
        today, why = datetime.now(UTC).date().isoformat(), printable(without_halves(reason), REASON)
        name = None if to is None else printable(without_halves(to), NAME)
        made = Proposal(len(known) + 1, action, topic, why, name, other, dialogue, today)
        for proposal in known:
            if replace(proposal, number=made.number, reason=why, date=today) == made:
                return proposal
        write_json_lines(collection.folder / FILE, map(asdict, [*known, made]))
    return made


def settle_proposal(collection: CollectionFolder, number: int, *, accepted: bool) -> Change | None:
    """Accept a proposal, which is carried out, or dismiss it, and keep it with its new state.

    :return: what was changed; None if it is dismissed.
    :raises CorpusError: if no proposal with this number waits, or it changes nothing any more.
    """
    waiting = {proposal.number: proposal for proposal in read_proposals(collection.folder) if proposal.state == "open"}
    if number not in waiting:
        raise CorpusError(
            f"no proposal {number} waits; expected one of {', '.join(map(str, waiting)) or 'none'}. `dial2vec curate "
            f"{collection.folder} proposals` lists them."
        )
    wish, change = waiting[number], None
    if accepted:
        change = curate(collection, wish.action, wish.topic, to=wish.to, other=wish.other, dialogue=wish.dialogue)
    with folder_lock(collection.folder, "writes to"):
        known = read_proposals(collection.folder)
        known[number - 1] = replace(wish, state="accepted" if accepted else "dismissed")
        write_json_lines(collection.folder / FILE, map(asdict, known))
    return change
