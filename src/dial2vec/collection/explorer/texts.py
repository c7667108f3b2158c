"""Search for exact words: the texts of all dialogues in one column, mapped from a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from conversations.files import atomic_path
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.encoder.checksums import damage_of, note

BLOCK = 10_000
SCHEMA = pa.schema([("said", pa.large_string())])
# Words in quotes of any kind; `words.js` reads them in the same way.
QUOTED = re.compile('["\u201c\u201d\u201e]([^"\u201c\u201d\u201e]*)["\u201c\u201d]')


def phrases_of(text: str) -> tuple[list[str], str]:
    """Return the phrases in quotes of a query, and the rest of the query.

    >>> phrases_of('a refund for "my  Card"')
    (['my card'], 'a refund for')
    """
    phrases = [_clean(phrase) for phrase in QUOTED.findall(text)]
    return [phrase for phrase in phrases if phrase], " ".join(QUOTED.sub(" ", text).split())


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
            note(path)
            kept = _kept(path)
        assert kept is not None
        self._texts = kept["said"]

    def rows_with(self, phrases: Sequence[str]) -> NDArray[np.int64]:
        """Return the rows of the dialogues that have each of these phrases in a turn; case does not matter."""
        matches = np.ones(len(self._texts), dtype=bool)
        for phrase in phrases:
            mask = pc.match_substring(self._texts, pattern=_clean(phrase))
            matches &= mask.to_numpy(zero_copy_only=False)
        return np.flatnonzero(matches)

    def turns_with(self, phrases: Sequence[str], row: int) -> list[int]:
        """Return the numbers, from 0, of the turns of a dialogue that have one of these phrases."""
        sought = [_clean(phrase) for phrase in phrases]
        turns = self._texts[row].as_py().split("\n")
        return [at for at, turn in enumerate(turns) if any(phrase in turn for phrase in sought)]


def _clean(text: str) -> str:
    return " ".join(text.lower().split())


def _kept(path: Path) -> pa.Table | None:
    if not path.exists() or damage_of(path):
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
        yield ["\n".join(_clean(turn.text) for turn in dialogue.turns) for dialogue in block]
