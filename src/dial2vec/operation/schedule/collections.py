"""Bringing the collections of operation.yaml up to date after a retraining, and the news of them that wait."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conversations.files import write_json
from dial2vec.collection.collection_folder import MANIFEST, Manifest
from dial2vec.collection.news import mark_sent, unsent
from dial2vec.collection.news.updating import update
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
    """Result of an update of a collection.

    :param folder: Folder of the collection, as in operation.yaml.
    :param news: Records of what is new, with those that could not be sent before.
    :param notes: Further sentences for people.
    :param failed: Reason of a failure; "" if there was none.
    """

    folder: str
    news: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failed: str = ""

    def __str__(self) -> str:
        texts = [str(record["text"]) for record in self.news]
        if self.failed:
            texts.append(f"{self.folder}: failed: {self.failed}")
        elif not texts:
            texts.append(f"{self.folder}: no new conversations")
        return "\n".join(texts + [f"Note: {note}" for note in self.notes])


def update_one(root: Path, entry: ScheduledCollection, corpus: str, result: CollectionResult) -> None:
    """Bring a collection up to date by the imported dialogues of a corpus, and note what is new in the result.

    News that wait from earlier runs are in the result even if this update fails.

    :raises Dial2vecError: if the update fails.
    """

    def note(line: str) -> None:
        # A long quotation may be the text of a dialogue.
        result.notes.append(without_quotes(line))

    folder, address = root / entry.folder, address_of(entry, corpus)
    try:
        model = None if (folder / MANIFEST).exists() else address
        update(folder, root / "data" / corpus, encoder=model, regroup=entry.regroup == "auto", say=note)
        if changed := _changed_champion(root, entry, corpus):
            note(changed)
    finally:
        with suppress(Dial2vecError):
            result.news = unsent(folder)


def address_of(entry: ScheduledCollection, corpus: str) -> str:
    """Return the address of the encoder of a new collection."""
    if entry.model == "general":
        return GENERAL
    return f"models:/dial2vec-{corpus}{SMALL if entry.model == 'student' else ''}@champion"


def mark_all_sent(root: Path, results: list[CollectionResult]) -> None:
    """Note that the news of all collections were sent."""
    for result in results:
        for record in result.news:
            mark_sent(root / result.folder, record["id"])


def _changed_champion(root: Path, entry: ScheduledCollection, corpus: str) -> str:
    """Return a sentence, once for each champion, if it is not the encoder of the collection; "" otherwise."""
    if entry.model == "general":
        return ""
    address, memory = address_of(entry, corpus), root / "artifacts" / "collections.json"
    champion, known = local_model(address, root=root), read_receipt(memory)
    if known.get(entry.folder) == str(champion):
        return ""
    write_json(memory, known | {entry.folder: str(champion)})
    if load_encoder(champion).fingerprint() == Manifest.read(root / entry.folder).fingerprint:
        return ""
    return (
        f"{entry.folder} keeps the encoder that it was made with, though {corpus} has another champion: vectors of two "
        f"encoders cannot be compared. A new collection by the champion: dial2vec index data/{corpus} --model {address} "
        f"--output {entry.folder}-new"
    )
