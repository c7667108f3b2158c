"""The dialogues of a collection with vectors of another encoder: a second collection inside the first."""

from __future__ import annotations

import shutil
from pathlib import Path

from conversations.dialogue import write_dialogues
from conversations.progress import waiting
from dial2vec.collection.adding import add
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.encoder.loading import Encoder, load_encoder
from dial2vec.errors import ArtifactError, Dial2vecError


def read_by_start(
    collection: CollectionFolder, folder: Path, start: str | None, *, progress: bool
) -> CollectionFolder | None:
    """Return the dialogues of a collection with vectors of another encoder; None without one. A killed run resumes.

    :param folder: folder of this second collection; if the encoder changes, the map `<folder>.npz` is deleted.
    :param start: name or folder of the other encoder; None uses the encoder of the last run, if there was one.
    :raises Dial2vecError: if `start` is the encoder of the collection itself.
    :raises ModelError: if `start` cannot be loaded.
    """
    with waiting("loading the encoder"):
        encoder = None if start is None else load_encoder(start)
    if encoder is not None:
        _make_room(collection, folder, encoder)
    existing = CollectionFolder(folder) if (folder / "collection.json").exists() else None
    if encoder is None and existing is None:
        return None
    known = 0 if existing is None else len(existing)
    if known < len(collection):
        more = folder.with_suffix(".jsonl")
        write_dialogues(more, collection.dialogues(range(known, len(collection))))
        add(folder, more, encoder=encoder or load_encoder(folder / "model"), progress=progress, turns=False)
        more.unlink()
    other = CollectionFolder(folder)
    if other.rows["content"] != collection.rows["content"]:
        raise ArtifactError(
            f"{folder} holds other dialogues than {collection.folder}. Remove it, and name the encoder again: --start."
        )
    return other


def _make_room(collection: CollectionFolder, folder: Path, encoder: Encoder) -> None:
    """Remove the vectors and the map of another encoder."""
    fingerprint = encoder.fingerprint()
    if fingerprint == collection.manifest.fingerprint:
        raise Dial2vecError(
            f"{encoder.name} is the encoder of {collection.folder} itself; expected another one to compare with. "
            "Leave --start out, or name the encoder that this one was trained from."
        )
    if (folder / "collection.json").exists() and CollectionFolder(folder).manifest.fingerprint != fingerprint:
        folder.with_suffix(".npz").unlink(missing_ok=True)
        shutil.rmtree(folder)
