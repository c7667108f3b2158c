"""Words of a collection: BM25 over turns and over dialogues, in parts; new dialogues change at most the last one."""

from __future__ import annotations

import json
import logging
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue, dialogue_from_record
from conversations.files import atomic_path, read_json, write_checked_json
from conversations.words import words
from dial2vec.collection.collection_folder import CollectionFolder, mended_by_index, whole_file
from dial2vec.data.workers import spread
from dial2vec.encoder.checksums import damaged_files, write_checksums
from dial2vec.encoder.cpu.free_memory import free_bytes
from dial2vec.errors import ArtifactError

# Lucene's variant with its usual constants, the defaults of bm25s: no score is below 0.
METHOD, K1, B = "lucene", 1.5, 0.75
AT_THE_ENDS = re.compile(r"^\W+|\W+$")
# Dialogues of a part. The last one has up to twice as many, and is made again with new dialogues; with at least half as
# many it stays, once so many follow that their words can be weighed.
PART, LEAST = 50_000, 1_000
# Memory in which the words of a part fit: 0.6 GB for 50,000 dialogues of 19 turns, up to twice that for the last part.
PART_BYTES = 2_000_000_000
UNITS = ("turns", "dialogues")


class Scores(NamedTuple):
    """Scores of the words of a part's texts, as bm25s writes them, mapped from files.

    :param numbers: number of each word.
    :param first: place of the first score of each word, int [words + 1].
    :param texts: the texts that have the word, those of a word together, int32.
    :param scores: their scores for the word alone, float32.
    """

    numbers: dict[str, int]
    first: NDArray[np.int64]
    texts: NDArray[np.int32]
    scores: NDArray[np.float32]

    def of(self, asked: list[str]) -> Iterator[slice]:
        """Yield where texts and scores of these words are; nothing for a word that no text has."""
        for word in asked:
            if (number := self.numbers.get(word)) is not None:
                yield slice(*self.first[number : number + 2])


# Scores and number of texts of each part; no scores if they have no words.
Parts: TypeAlias = list[tuple[Scores | None, int]]


def bm25_words(text: str) -> list[str]:
    """Return the words of a text without case and without punctuation at their ends.

    >>> bm25_words("Where's my card?")
    ["where's", 'my', 'card']
    """
    bare = (AT_THE_ENDS.sub("", word) for word in words(text.casefold()))
    return [word for word in bare if word]


class WordIndex:
    """BM25 of a collection (Robertson and Zaragoza 2009, in Lucene's variant).

    :param turns: index of the turns of each part, mapped from files, and their number.
    :param dialogues: the same of the dialogues.
    """

    def __init__(self, turns: Parts, dialogues: Parts) -> None:
        self._turns, self._dialogues = turns, dialogues

    def of_turns(self, query: str) -> NDArray[np.float32]:
        """Return the score of each turn, at least 0, float32 [turns]; 0 for a turn without a word of the query."""
        return _summed(self._turns, query)

    def of_dialogues(self, query: str) -> NDArray[np.float32]:
        """Return the score of each dialogue, all its turns as one text, float32 [n]."""
        return _summed(self._dialogues, query)

    def matches(self, query: str) -> NDArray[np.int32]:
        """Return how many of the different words of the query each turn has, int32 [turns]."""
        return _summed(self._turns, query, lambda _: 1).astype(np.int32)

    @property
    def vocabulary(self) -> list[str]:
        """Return the words of the first part, sorted, each once."""
        first = self._turns[0][0]
        return sorted(filter(None, first.numbers)) if first is not None else []


def _summed(
    parts: Parts,
    query: str,
    worth: Callable[[NDArray[np.float32]], NDArray[np.float32] | float] = lambda scores: scores,
) -> NDArray[np.float32]:
    """Return the sum over the different words of a query of what each is worth to each text, float32 [texts]."""
    asked, sums = list(dict.fromkeys(bm25_words(query))), []
    for index, n in parts:
        sums.append(np.zeros(n, dtype=np.float32))
        if index is not None:
            for place in index.of(asked):
                sums[-1][index.texts[place]] += worth(index.scores[place])
    return np.concatenate(sums)


def open_words(collection: CollectionFolder) -> WordIndex | None:
    """Return the words of a collection; None if they are missing or damaged, or those of some dialogues are."""
    folder, parts = collection.folder / "turns" / "words", _parts(collection)
    if not parts or parts[-1][1] != len(collection):
        return None
    starts = collection.starts
    opened: dict[str, Parts] = {unit: [] for unit in UNITS}
    for first, last in parts:
        for unit, n in zip(UNITS, (int(starts[last] - starts[first]), last - first), strict=True):
            place = folder / _name(first, last) / unit
            opened[unit].append((_read(place) if place.is_dir() else None, n))
    return WordIndex(*(opened[unit] for unit in UNITS))


def _read(folder: Path) -> Scores:
    """Read what bm25s wrote; the library itself imports scipy, which takes longer than a search."""
    arrays = (np.load(folder / f"{name}.csc.index.npy", mmap_mode="r") for name in ("indptr", "indices", "data"))
    return Scores(json.loads((folder / "vocab.index.json").read_text(encoding="utf-8")), *arrays)


def update_words(collection: CollectionFolder, *, done: Callable[[int], object] = lambda _: None) -> None:
    """Bring the words of the turns up to date; a killed run resumes. At most the last part is made again.

    :param done: called with the number of dialogues whose words are there already, and of each part.
    """
    folder, parts, n = collection.folder / "turns" / "words", _parts(collection), len(collection)
    if not n or (parts and parts[-1][1] == n):
        return
    kept = [part for part in parts if part[1] <= n]
    if kept and (kept[-1][1] - kept[-1][0] < PART // 2 or n - kept[-1][1] < LEAST):
        kept.pop()
    begun = kept[-1][1] if kept else 0
    ends = [*range(begun + PART, n - PART + 1, PART), n]
    starts = collection.rows["byte"]
    texts = collection.folder.resolve() / "dialogues.jsonl"
    new = [
        WordPart(texts, starts[first].as_py(), first, last)
        for first, last in zip([begun, *ends[:-1]], ends, strict=True)
    ]
    done(begun)
    free = free_bytes()
    n_parts = len(new) if free is None else min(len(new), max(1, free // PART_BYTES))
    for first, last in spread(write_words, new, n_parts=n_parts, fewest=1):
        kept.append((first, last))
        write_checked_json(folder / "words.json", {"parts": kept})
        done(last - first)
    names = {_name(*part) for part in kept}
    for path in folder.iterdir():
        if path.is_dir() and path.name not in names:
            shutil.rmtree(path)


@dataclass(frozen=True, slots=True)
class WordPart:
    """Dialogues whose words are indexed together.

    :param transcripts: file `dialogues.jsonl` of a collection.
    :param byte: offset of the first dialogue's line.
    :param first: row of the first dialogue.
    :param last: row after the last dialogue.
    """

    transcripts: Path
    byte: int
    first: int
    last: int

    def dialogues(self) -> Iterator[Dialogue]:
        """Yield the dialogues of the part."""
        with self.transcripts.open("rb") as lines:
            lines.seek(self.byte)
            for line in islice(lines, self.last - self.first):
                yield dialogue_from_record(json.loads(line))


def write_words(part: WordPart) -> tuple[int, int]:
    """Write the words of a part beside those of the others, and return its first row and the row after its last.

    :raises ArtifactError: if the file of the dialogues is too short.
    """
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)
    ids: dict[str, int] = {}
    turns: list[NDArray[np.int32]] = []
    dialogues: list[NDArray[np.int32]] = []
    for dialogue in part.dialogues():
        first = len(turns)
        for turn in dialogue.turns:
            turns.append(np.array([ids.setdefault(word, len(ids)) for word in bm25_words(turn.text)], dtype=np.int32))
        dialogues.append(np.concatenate(turns[first:]))
    if len(dialogues) != part.last - part.first:
        raise ArtifactError(
            f"{part.transcripts} ends at dialogue {part.first + len(dialogues)}; expected {part.last}. If another "
            f"machine has just written it, start again; otherwise remove {part.transcripts.parent}, and index its "
            "dialogues again."
        )
    with atomic_path(part.transcripts.parent / "turns" / "words" / _name(part.first, part.last)) as temporary:
        temporary.mkdir()
        for unit, texts in zip(UNITS, (turns, dialogues), strict=True) if ids else ():
            index = bm25s.BM25(method=METHOD, k1=K1, b=B)
            index.index((texts, dict(ids)), show_progress=False)
            index.save(str(temporary / unit), show_progress=False)
        write_checksums(temporary)
    return part.first, part.last


def _name(first: int, last: int) -> str:
    return f"{first:09d}-{last:09d}"


def _parts(collection: CollectionFolder) -> list[tuple[int, int]]:
    """Return the parts that are whole, up to the first that is not."""
    folder, whole = collection.folder / "turns" / "words", list[tuple[int, int]]()
    if not folder.is_dir():
        return whole
    with mended_by_index():
        record = read_json(whole_file(folder / "words.json", 1, ""))
        # Earlier versions wrote a list.
        for first, last in record["parts"] if isinstance(record, dict) else record:
            place = folder / _name(first, last)
            for problem in damaged_files(place) if place.is_dir() else [f"{place} is missing"]:
                raise ArtifactError(f"{problem}.")
            whole.append((first, last))
    return whole
