"""A collection without some of its dialogues, and what was made of one and still holds them."""

from __future__ import annotations

import re
import shutil
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq

from conversations.dialogue import write_dialogues
from conversations.files import atomic_path
from dial2vec.collection.adding import add
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.explorer.packing import json_of_packed
from dial2vec.data.traces import without_dialogues
from dial2vec.encoder.loading import load_encoder
from dial2vec.files import folder_lock

# What people wrote: decisions about groups, and notes with a line per dialogue.
KEPT = ("curation.yaml", "notes.jsonl")
# The dialogues of a map that is one file.
CONTENT = re.compile(r'<script type="text/plain" id="content">([^<]+)<')


def forget_in_collection(folder: Path, ids: set[str]) -> list[str]:
    """Make a collection again without the dialogues of these ids; groups, maps and answers are left out.

    The vectors are computed again by the collection's own encoder. The old folder stays until the new one is complete.
    A collection without others is empty then.

    :return: the ids that the collection had.
    :raises ArtifactError: if the folder is no collection.
    :raises BusyError: if another process adds dialogues to it.
    """
    # The folder that a link leads to, or the link alone would be replaced.
    folder = folder.resolve()
    collection = CollectionFolder(folder)
    known = sorted(ids & set(collection.row_of))
    if not known:
        return []
    rest = [row for name, row in collection.row_of.items() if name not in ids]
    with folder_lock(folder, "adds dialogues to"), atomic_path(folder) as temporary:
        if rest:
            _make_again(collection, rest, temporary)
        else:
            shutil.copytree(collection.model, temporary / "model")
            replace(collection.manifest, additions=()).write(temporary)
        for name in KEPT:
            if (folder / name).is_file():
                shutil.copy2(folder / name, temporary / name)
                without_dialogues(temporary / name, ids)
    return known


def _make_again(collection: CollectionFolder, rows: Sequence[int], folder: Path) -> None:
    kept = folder.with_name(f"{folder.name}.jsonl")
    try:
        write_dialogues(kept, collection.dialogues(rows))
        add(folder, kept, encoder=load_encoder(collection.model), progress=False)
    finally:
        kept.unlink(missing_ok=True)


def map_or_table_holds(path: Path, turns: re.Pattern[bytes], ids: set[str]) -> bool:
    """Return whether a map that is one file, or a table of vectors, holds a dialogue. Both are compressed.

    :param turns: Pattern of the turns that no other dialogue has.
    :param ids: Ids of the dialogues, which tell a table.
    """
    try:
        if path.suffix == ".html":
            content = CONTENT.search(path.read_text(encoding="utf-8"))
            return bool(content and turns.search(json_of_packed(content[1])))
        if path.suffix == ".parquet":
            return not ids.isdisjoint(pq.read_table(path, columns=["dialogue_id"])["dialogue_id"].to_pylist())
    except (OSError, ValueError, KeyError, EOFError, zlib.error):
        # Another page, or another table.
        return False
    return False
