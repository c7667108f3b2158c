"""Search for words: the texts of all dialogues in one column, mapped from a file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.files import atomic_path

BLOCK = 10_000
SCHEMA = pa.schema([("said", pa.large_string())])


class Texts:
    """Texts of a collection in lower case, with line feeds between turns, in the file `map/texts.arrow`.

    :param collection: collection whose file is made or extended if dialogues are missing.
    """

    def __init__(self, collection: CollectionFolder) -> None:
        path = collection.folder / "map" / "texts.arrow"
        kept = _kept(path)
        if kept is None or len(kept) != len(collection):
            with atomic_path(path) as temporary, pa.OSFile(str(temporary), "wb") as sink:
                _write(sink, collection, kept if kept is not None and len(kept) < len(collection) else None)
            kept = _kept(path)
        assert kept is not None
        self._texts = kept["said"]

    def rows_with(self, words: str) -> NDArray[np.int64]:
        """Return the rows of the dialogues with a turn that contains these words; case does not matter."""
        matches = pc.match_substring(self._texts, pattern=" ".join(words.lower().split()))
        return np.flatnonzero(matches.to_numpy(zero_copy_only=False))


def _kept(path: Path) -> pa.Table | None:
    if not path.exists():
        return None
    try:
        return pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    except (pa.ArrowInvalid, OSError):
        return None


def _write(sink: pa.OSFile, collection: CollectionFolder, kept: pa.Table | None) -> None:
    with pa.ipc.new_file(sink, SCHEMA) as writer:
        if kept is not None:
            writer.write_table(kept)
        for texts in _texts(collection, first=0 if kept is None else len(kept)):
            writer.write_table(pa.table({"said": texts}, schema=SCHEMA))


def _texts(collection: CollectionFolder, *, first: int) -> Iterator[list[str]]:
    dialogues = collection.dialogues(range(first, len(collection)))
    while block := list(islice(dialogues, BLOCK)):
        yield ["\n".join(" ".join(turn.text.lower().split()) for turn in dialogue.turns) for dialogue in block]
