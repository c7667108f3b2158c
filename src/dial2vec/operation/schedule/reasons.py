"""Whether a corpus is worth training again, and why: new settings, enough new dialogues, or different ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dial2vec.config import Operation, Settings
from dial2vec.data.corpora import get_corpus
from dial2vec.dialogue import Dialogue, Quarantined, read_dialogues
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.pipeline.dvc import dvc_status, targets

if TYPE_CHECKING:
    from dial2vec.operation.drift import Comparison

NAMED = 3


@dataclass(frozen=True, slots=True)
class Reason:
    """Whether to train, and why or why not.

    :param train: True to train.
    :param words: a sentence about it.
    """

    train: bool
    words: str


def reason_to_train(root: Path, corpus: str, settings: Settings, operation: Operation) -> Reason:
    """Look at what has changed since the last training of a corpus.

    New settings, new code and dialogues that were taken out are reasons; new dialogues are one when they are
    `schedule.min_new_share` of those that were trained on, or differ from them (block `drift`).
    """
    artifacts = Artifacts(root, corpus)
    if not all(path.exists() for path in (artifacts.model, artifacts.dialogues)):
        return Reason(True, "it was never trained here to the end")
    if not artifacts.registration.exists():
        return Reason(True, "its model is not in the registry")
    changed = dvc_status(root, targets([corpus]))
    if not changed:
        return Reason(False, "nothing has changed")
    if others := sorted(changed - {f"data/{corpus}"}):
        named = ", ".join(others[:NAMED]) + (f" and {len(others) - NAMED} more" if len(others) > NAMED else "")
        return Reason(True, f"{named} changed")
    trained = _by_content(read_dialogues(artifacts.dialogues, quarantine=[]))
    now = _by_content(_all_dialogues(root, corpus, settings))
    aside = {record["dialogue_id"] for record in _records(artifacts.quarantine)}
    gone = len(trained.keys() - now.keys())
    if gone:
        return Reason(True, f"{gone} dialogues that it was trained on were taken out or changed")
    new = [dialogue for key, dialogue in now.items() if key not in trained and dialogue.dialogue_id not in aside]
    return _about(new, list(trained.values()), artifacts, settings, operation)


def _about(
    new: list[Dialogue], trained: list[Dialogue], artifacts: Artifacts, settings: Settings, operation: Operation
) -> Reason:
    share = len(new) / max(1, len(trained))
    said = f"{len(new)} new dialogues, {100 * share:.1f} % of those it was trained on"
    least = operation.schedule.min_new_share
    if new and share >= least:
        return Reason(True, f"enough new data: {said}")
    if len(new) >= operation.drift.min_dialogues:
        found = _drift(new, artifacts, settings, operation)
        if found.alarm:
            return Reason(True, f"drift: {said}, and they are not like those: {found.verdict}")
        said += ", which are like those"
    return Reason(False, f"too little new data: {said}, and fewer than {100 * least:g} %")


def _drift(new: list[Dialogue], artifacts: Artifacts, settings: Settings, operation: Operation) -> Comparison:
    from dial2vec.encoder import DialogueEncoder
    from dial2vec.operation.drift import compare

    reference = list(read_dialogues(artifacts.split("train"), quarantine=[]))
    encoder = DialogueEncoder.start(settings.encoder)
    return compare(reference, new, encoder=encoder, options=operation.drift, seed=settings.seed)


def _all_dialogues(root: Path, corpus: str, settings: Settings) -> Iterable[Dialogue]:
    quarantine: list[Quarantined] = []
    reader = get_corpus(corpus, data=root / "data", options=settings.read)
    return reader.read(root / "data" / corpus, quarantine=quarantine)


def _by_content(dialogues: Iterable[Dialogue]) -> dict[str, Dialogue]:
    """Return the dialogues by what is said in them and how they are labelled."""
    found = {}
    for dialogue in dialogues:
        content = json.dumps([dialogue.labels, [(turn.speaker, turn.text) for turn in dialogue.turns]])
        found[hashlib.sha256(content.encode()).hexdigest()] = dialogue
    return found


def _records(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    # Not by `splitlines`, which also cuts where an id has a line separator of Unicode.
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
