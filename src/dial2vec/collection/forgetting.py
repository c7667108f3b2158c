"""A collection without some of its dialogues."""

from __future__ import annotations

import shutil
from pathlib import Path

from dial2vec.collection.adding import add
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.data.traces import without_dialogues
from dial2vec.dialogue import write_dialogues
from dial2vec.encoder.loading import load_encoder
from dial2vec.files import atomic_path, folder_lock

# What people wrote: decisions about groups, and notes with a line per dialogue.
KEPT = ("curation.yaml", "notes.jsonl")


def forget_in_collection(folder: Path, ids: set[str]) -> list[str]:
    """Make a collection again without the dialogues of these ids; groups, maps and answers are left out.

    The vectors are computed again by the collection's own encoder. The old folder stays until the new one is complete.

    :return: the ids that the collection had.
    :raises ArtifactError: if the folder is no collection.
    :raises BusyError: if another process adds dialogues to it.
    """
    collection = CollectionFolder(folder)
    known = sorted(ids & set(collection.row_of))
    if not known:
        return []
    with folder_lock(folder, "adds dialogues to"), atomic_path(folder) as temporary:
        rest = [row for name, row in collection.row_of.items() if name not in ids]
        kept = temporary.with_name(f"{temporary.name}.jsonl")
        try:
            write_dialogues(kept, list(collection.dialogues(rest)))
            add(temporary, kept, encoder=load_encoder(collection.model), progress=False)
        finally:
            kept.unlink(missing_ok=True)
        for name in KEPT:
            if (folder / name).is_file():
                shutil.copy2(folder / name, temporary / name)
                without_dialogues(temporary / name, ids)
    return known
