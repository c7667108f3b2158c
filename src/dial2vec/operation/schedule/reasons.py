"""Decision whether to train a corpus again: new settings, enough new dialogues, or different ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conversations.dialogue import Dialogue, read_dialogues
from dial2vec.config import Operation, Settings
from dial2vec.data.corpora import get_corpus
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.project.dvc import dvc_status, targets

if TYPE_CHECKING:
    from dial2vec.operation.drift import Comparison

NAMED = 3


@dataclass(frozen=True, slots=True)
class Reason:
    """Decision to train or not, with its reason.

    :param words: Reason as a clause.
    """

    train: bool
    words: str


def reason_to_train(root: Path, corpus: str, settings: Settings, operation: Operation) -> Reason:
    """Decide whether to train a corpus again by the changes since its last training.

    New settings, new code and removed dialogues are reasons to train. So are new dialogues if their number is at least
    the share `schedule.min_new_share` of the trained ones, or if they differ from these (block `drift`).
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
    reader = get_corpus(corpus, data=root / "data", options=settings.read)
    now = _by_content(reader.read(root / "data" / corpus, quarantine=[]))
    quarantined = {record["dialogue_id"] for record in _records(artifacts.quarantine)}
    if gone := len(trained.keys() - now.keys()):
        return Reason(True, f"{gone} dialogues that it was trained on were taken out or changed")
    new = [dialogue for key, dialogue in now.items() if key not in trained and dialogue.dialogue_id not in quarantined]
    return _reason_by_new(new, len(trained), artifacts, settings, operation)


def _reason_by_new(
    new: list[Dialogue], n_trained: int, artifacts: Artifacts, settings: Settings, operation: Operation
) -> Reason:
    share = len(new) / max(1, n_trained)
    count = f"{len(new)} new dialogues, {100 * share:.1f} % of those it was trained on"
    min_share = operation.schedule.min_new_share
    if new and share >= min_share:
        return Reason(True, f"enough new data: {count}")
    if len(new) >= operation.drift.min_dialogues:
        comparison = _drift(new, artifacts, settings, operation)
        if comparison.alarm:
            return Reason(True, f"drift: {count}, and they are not like those: {comparison.verdict}")
        count += ", which are like those"
    return Reason(False, f"too little new data: {count}, and fewer than {100 * min_share:g} %")


def _drift(new: list[Dialogue], artifacts: Artifacts, settings: Settings, operation: Operation) -> Comparison:
    from dial2vec.encoder import DialogueEncoder
    from dial2vec.operation.drift import compare

    reference = read_dialogues(artifacts.split("train"), quarantine=[])
    encoder = DialogueEncoder.start(settings.encoder)
    return compare(reference, new, encoder=encoder, options=operation.drift, seed=settings.seed)


def _by_content(dialogues: Iterable[Dialogue]) -> dict[str, Dialogue]:
    """Return the dialogues by a hash of their turns and labels."""
    by_hash = {}
    for dialogue in dialogues:
        content = json.dumps([dialogue.labels, [(turn.speaker, turn.text) for turn in dialogue.turns]])
        by_hash[hashlib.sha256(content.encode()).hexdigest()] = dialogue
    return by_hash


def _records(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    # Not split by `splitlines`, which also splits at Unicode line separators inside ids.
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
