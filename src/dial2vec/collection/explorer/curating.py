"""Decisions about groups, and notes on dialogues, that people send from the page."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from typing import Any

from dial2vec.collection.clustering.clusters import Cluster
from dial2vec.collection.clustering.curation import curate, undo_decision
from dial2vec.collection.clustering.decisions import ACTIONS, read_decisions
from dial2vec.collection.clustering.notes import write_note
from dial2vec.collection.clustering.proposals import open_proposals, settle_proposal
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.errors import ArtifactError, CorpusError

log = logging.getLogger(__name__)
# Kinds of the values of a decision, by their keys.
KINDS: dict[str, type] = {
    **{"action": str, "topic": int, "to": str, "other": int, "dialogue": str, "made": int, "proposal": int}
}
NEEDED = {
    **{"rename": ("topic", "to"), "merge": ("topic", "other"), "move": ("topic", "dialogue")},
    **{"note": ("dialogue", "to"), "undo": ("made",), "accept": ("proposal",), "dismiss": ("proposal",)},
}
# Such a body is a thousand times longer than a decision.
LONGEST = 1_000_000


def can_write(collection: CollectionFolder) -> bool:
    """Return whether this process may write into the folder of a collection."""
    folders = [collection.folder, collection.folder / "clusters"]
    return all(os.access(folder, os.W_OK) for folder in folders if folder.exists())


def from_this_page(headers: Mapping[str, str]) -> bool:
    """Return whether a request was sent by the page itself; a page of somebody else must not write.

    Only this page may send JSON without asking first: browsers ask before a page of another origin sends JSON, and this
    server does not answer. `dial2vec.addresses.Hosts` refuses other origins as well, if the browser names them.

    :param headers: headers of the request, with names in lower case.
    """
    return headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


def decide(collection: CollectionFolder, body: bytes) -> dict[str, Any]:
    """Carry out what the page sent: a decision about a topic, one that an agent proposed, undoing the last, or a note.

    :param collection: collection as the page shows it.
    :param body: JSON object with `action`, one of `decisions.ACTIONS`, "undo" or "note"; `topic` and `other`, ids of
        topics; `to`, a name or the text of a note; `dialogue`, an id; `made`, for undo, the number of decisions that
        the page knows of; `proposal`, for accept and dismiss, its number.
    :return: `message`, a sentence for people, `undo`, words for what "undo" would take back, or "", and `made`, the
        number of decisions now.
    :raises CorpusError: if the body is no such object, the decision changes nothing, the collection has grown since the
        page was opened, or somebody has decided since.
    :raises BusyError: if another process clusters the collection or decides.
    """
    wish = _read(body)
    now = CollectionFolder(collection.folder)
    if len(now) != len(collection):
        raise CorpusError(
            f"{collection.folder} has {len(now)} dialogues now; expected the {len(collection)} of this page. Start "
            "`dial2vec explore` again."
        )
    if wish["action"] == "note":
        note = write_note(now, wish["dialogue"], wish["to"])
        verb = "kept" if note else "removed"
        return {"message": f"The note on {wish['dialogue']} is {verb}.", "undo": "", "made": -1}
    if wish["action"] == "undo":
        _check_last(collection, wish["made"])
        message = f"Taken back: {undo_decision(now).decision.words}."
    elif "proposal" in wish:
        settled = settle_proposal(now, wish["proposal"], accepted=wish["action"] == "accept")
        message = "The proposal is dismissed." if settled is None else settled.sentence(_quoted)
    else:
        to, other, dialogue = (wish.get(key) for key in ("to", "other", "dialogue"))
        change = curate(now, wish["action"], wish["topic"], to=to, other=other, dialogue=dialogue)
        message = change.sentence(_quoted)
    made = read_decisions(collection.folder).made
    return {"message": message, "undo": made[-1].words if made else "", "made": len(made)}


def waiting_proposals(collection: CollectionFolder) -> list[dict[str, Any]]:
    """Return the proposals of agents for the page: `number`, `topic` (its id), `words` and `reason`."""
    try:
        made = open_proposals(collection)
    except ArtifactError as error:
        # The page opens all the same.
        log.warning("No proposals are shown: %s", error)
        return []
    return [
        {"number": item.number, "topic": item.decision.cluster, "words": item.decision.words, "reason": item.reason}
        for item in made
    ]


def _quoted(cluster: Cluster) -> str:
    return f"“{cluster.name}”"


def _read(body: bytes) -> dict[str, Any]:
    try:
        wish = json.loads(body) if len(body) < LONGEST else None
    except (ValueError, RecursionError):
        wish = None
    if not isinstance(wish, dict):
        raise CorpusError("the body is no JSON object; expected a decision. Reload the page.")
    for key, value in wish.items():
        if key not in KINDS or type(value) is not KINDS[key]:
            raise CorpusError(f"found {key[:40]!r} in a decision; expected {', '.join(KINDS)}. Reload the page.")
    actions = (*ACTIONS, *(action for action in NEEDED if action not in ACTIONS))
    if wish.get("action") not in actions:
        raise CorpusError(f"found a decision without a known action; expected one of {', '.join(actions)}.")
    needed = NEEDED.get(wish["action"], ("topic",))
    if {"action", *needed} != wish.keys():
        raise CorpusError(f"found {', '.join(wish)} for {wish['action']}; expected {', '.join(needed)}.")
    return wish


def _check_last(collection: CollectionFolder, made: int) -> None:
    if len(read_decisions(collection.folder).made) != made:
        raise CorpusError(
            "somebody has decided something else since; expected the decision of this page to be the last one. "
            f"Reload the page, and see `dial2vec curate {collection.folder} list`."
        )
