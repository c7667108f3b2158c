"""A collection without some of its dialogues, and what was made of one and still holds them."""

from __future__ import annotations

import csv
import gzip
import json
import re
import shutil
import zlib
from collections.abc import Sequence, Set
from dataclasses import replace
from pathlib import Path

from conversations.dialogue import write_dialogues
from conversations.files import atomic_path
from dial2vec.collection.adding import add
from dial2vec.collection.collection_folder import LENSES, CollectionFolder
from dial2vec.collection.explorer.packing import json_of_packed
from dial2vec.collection.lenses.examples import read_examples, write_examples
from dial2vec.data.corpora.transcripts import LABELS, read_labels, without_mark
from dial2vec.encoder.loading import load_encoder
from dial2vec.files import folder_lock

# What people wrote: decisions about groups, and notes with a line per dialogue.
KEPT = ("curation.yaml", "notes.jsonl", "topics.yaml")
# The dialogues of a map that is one file.
CONTENT = re.compile(r'<script type="text/plain" id="content">([^<]+)<')


def forget_in_collection(folder: Path, ids: Set[str]) -> list[str]:
    """Make a collection again without the dialogues of these ids; groups, maps and lenses are left out.

    What people wrote stays, also the examples of lenses.

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
        for path in (folder / LENSES).glob("*.examples.csv"):
            (temporary / LENSES).mkdir(exist_ok=True)
            left = {name: label for name, label in read_examples(path).items() if name not in ids}
            write_examples(temporary / LENSES / path.name, left)
    return known


def _make_again(collection: CollectionFolder, rows: Sequence[int], folder: Path) -> None:
    kept = folder.with_name(f"{folder.name}.jsonl")
    try:
        write_dialogues(kept, collection.dialogues(rows))
        adapted = collection.adaptation is not None
        add(folder, kept, encoder=load_encoder(collection.model), adapted=adapted, progress=False)
    finally:
        kept.unlink(missing_ok=True)


def dialogues_of_page(path: Path) -> bytes:
    """Return the dialogues of a map that is one file, as JSON; nothing of any other page."""
    try:
        content = CONTENT.search(path.read_text(encoding="utf-8"))
        return json_of_packed(content[1]) if content else b""
    except (OSError, ValueError, EOFError, zlib.error):
        return b""


def ids_in(path: Path) -> set[str]:
    """Return the ids in a JSON Lines file with a dialogue, or something about one, per line, or in `labels.csv`."""
    return set(read_labels(path)) if path.name == LABELS else {_id_in(line) for line in _lines(path)}


def without_dialogues(path: Path, ids: Set[str]) -> None:
    """Write such a file again without the dialogues of these ids, atomically; other lines stay as they are."""
    with atomic_path(path) as temporary:
        if path.name == LABELS:
            with (
                path.open(encoding="utf-8-sig", newline="") as old,
                temporary.open("w", encoding="utf-8", newline="") as new,
            ):
                csv.writer(new).writerows(row for row in csv.reader(old) if not row or without_mark(row[0]) not in ids)
        else:
            kept = b"".join(line for line in _lines(path) if _id_in(line) not in ids)
            temporary.write_bytes(gzip.compress(kept) if path.suffix.lower() == ".gz" else kept)


def _lines(path: Path) -> list[bytes]:
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix.lower() == ".gz" else content).splitlines(keepends=True)


def _id_in(line: bytes) -> str:
    """Return the id of the dialogue of a line; "" without one."""
    try:
        name = json.loads(line)["dialogue_id"]
    except (ValueError, TypeError, KeyError):
        return ""
    return "" if name is None else str(name)
