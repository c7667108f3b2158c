"""Bringing the collections of operation.yaml up to date after a retraining, and the messages that wait there."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conversations.files import write_json
from dial2vec.config import ScheduledCollection
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.names import GENERAL
from dial2vec.errors import Dial2vecError
from dial2vec.operation.schedule.inbox_files import read_receipt
from dial2vec.operation.schedule.rehearsal import without_quotes
from dial2vec.registry import SMALL
from dial2vec.registry.tracking import local_model


@dataclass
class CollectionResult:
    """Result of an update of a collection; `news` has the records of all messages that wait."""

    folder: str
    news: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failed: str = ""

    def __str__(self) -> str:
        state = f"{self.folder}: failed: {self.failed}" if self.failed else f"{self.folder}: no new conversations"
        texts = [record["text"] for record in self.news]
        return "\n".join(texts + [state] * (not texts or bool(self.failed)) + [f"Note: {note}" for note in self.notes])


def update_one(root: Path, entry: ScheduledCollection, corpus: str, result: CollectionResult) -> None:
    """Bring a collection up to date by the dialogues of a corpus; messages that wait are noted even if that fails.

    :raises Dial2vecError: if the update fails.
    """
    # Loaded here: takes seconds, and most schedules have no collection.
    from dial2vec.collection.collection_folder import MANIFEST, CollectionFolder
    from dial2vec.collection.news import unsent
    from dial2vec.collection.news.updating import SHEET, update
    from dial2vec.operation.schedule.lenses import log_lenses
    from dial2vec.operation.schedule.topics import log_topics

    folder, student = root / entry.folder, SMALL * (entry.model == "student")
    address = GENERAL if entry.model == "general" else f"models:/dial2vec-{corpus}{student}@champion"
    notes: list[str] = []
    try:
        encoder = None if (folder / MANIFEST).exists() else address
        update(folder, root / "data" / corpus, encoder=encoder, regroup=entry.regroup == "auto", say=notes.append)
        if entry.model != "general":
            notes += _changed_champion(root, entry.folder, corpus, address)
    finally:
        # A long quotation may be the text of a dialogue.
        result.notes += map(without_quotes, notes)
        with suppress(Dial2vecError):
            result.news = unsent(folder)
    # Logged once: a run that was killed, or could not send, has perhaps logged it.
    try:
        for record in result.news[-1:]:
            log_topics(root, CollectionFolder(folder), record, sheet=folder / SHEET)
        result.notes += log_lenses(root, CollectionFolder(folder))
    except Exception as error:
        result.notes.append(f"MLflow has no run of these topics or lenses: {without_quotes(str(error))}")


def mark_all_sent(root: Path, results: list[CollectionResult]) -> None:
    """Note that the messages of all collections were sent."""
    from dial2vec.collection.news import mark_sent

    for result in results:
        for record in result.news:
            mark_sent(root / result.folder, record["id"])


def _changed_champion(root: Path, folder: str, corpus: str, address: str) -> list[str]:
    """Return a sentence, once for each champion that is not the encoder of the collection."""
    from dial2vec.collection.collection_folder import Manifest

    champion, memory = local_model(address, root=root), root / "artifacts" / "collections.json"
    known = read_receipt(memory)
    if known.get(folder) == str(champion):
        return []
    write_json(memory, known | {folder: str(champion)})
    if load_encoder(champion).fingerprint() == Manifest.read(root / folder).fingerprint:
        return []
    return [
        f"{folder} keeps the encoder that it was made with, though {corpus} has another champion: vectors of two "
        f"encoders cannot be compared. A new collection by the champion: dial2vec index data/{corpus} --model "
        f"{address} --output {folder}-new"
    ]
