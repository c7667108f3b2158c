"""Vectors of single turns by the encoder before training, kept in the collection for the next question."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection.collection_folder import FACETS, CollectionFolder
from dial2vec.dialogue import Dialogue, Turn
from dial2vec.encoder.loading import Encoder, load_encoder
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.student import StudentEncoder
from dial2vec.errors import ArtifactError, ModelError
from dial2vec.files import atomic_path, read_json, write_json

# Dialogues that are encoded at a time.
AT_ONCE = 256


class UtteranceVectors(NamedTuple):
    """Vectors of the turns of a collection.

    :param units: vectors of length 1, float16 [turns, d], mapped from the file; a zero vector stays zero.
    :param starts: first turn of each dialogue, and the number of turns at the end, int64 [n + 1].
    """

    units: NDArray[np.float16]
    starts: NDArray[np.int64]


def start_encoder(collection: CollectionFolder) -> Encoder:
    """Return the encoder from which the collection's was trained, which reads single sentences better.

    A student reads by itself, and so does an encoder whose start cannot be loaded here.
    """
    own = load_encoder(collection.model)
    if isinstance(own, StudentEncoder) or own.head is None or not own.name:
        return own
    try:
        return load_encoder(own.name)
    except ModelError:
        return own


def sentence_vectors(encoder: Encoder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return a vector of length 1 per text, each read alone, float32 [n, d]."""
    alone = [Dialogue(str(number), (Turn("speaker", text),)) for number, text in enumerate(texts)]
    return unit_rows(np.asarray(encoder.encode(alone, batch_size=64), dtype=np.float32))


def utterance_vectors(
    collection: CollectionFolder, encoder: Encoder, *, done: Callable[[int], object] = lambda n: None
) -> UtteranceVectors:
    """Return the vectors of all turns, each read alone; only those of new dialogues are computed.

    They are kept in the folder `facets` of the collection, in 16 bits.

    :param done: called with the number of dialogues that are ready since the last call.
    """
    starts = np.concatenate([[0], np.cumsum(collection.rows["turns"].to_numpy(), dtype=np.int64)])
    folder = collection.folder / FACETS
    known = _known(collection, encoder, folder)
    width = encoder.dimension
    done(known)
    if known < len(collection):
        if not known:
            # Otherwise a run killed below would leave it beside the vectors of another encoder.
            (folder / "turns.json").unlink(missing_ok=True)
        with atomic_path(folder / "turns.f16") as temporary, temporary.open("wb") as out:
            if known:
                out.write(np.asarray(_mapped(folder, int(starts[known]), width)).tobytes())
            for first in range(known, len(collection), AT_ONCE):
                rows = range(first, min(first + AT_ONCE, len(collection)))
                texts = [turn.text for dialogue in collection.dialogues(rows) for turn in dialogue.turns]
                out.write(sentence_vectors(encoder, texts).astype(np.float16).tobytes())
                done(len(rows))
        write_json(folder / "turns.json", _record(collection, encoder, len(collection)))
    return UtteranceVectors(_mapped(folder, int(starts[-1]), width), starts)


def _mapped(folder: Path, turns: int, width: int) -> NDArray[np.float16]:
    if not turns:
        return np.zeros((0, width), dtype=np.float16)
    return np.memmap(folder / "turns.f16", dtype=np.float16, mode="r", shape=(turns, width))


def _record(collection: CollectionFolder, encoder: Encoder, dialogues: int) -> dict[str, object]:
    content = collection.rows["content"][:dialogues].to_numpy()
    return {
        "encoder": encoder.fingerprint(),
        "dialogues": dialogues,
        "content": hashlib.sha256(np.ascontiguousarray(content).tobytes()).hexdigest(),
    }


def _known(collection: CollectionFolder, encoder: Encoder, folder: Path) -> int:
    """Return how many dialogues have kept vectors; 0 if dialogues were changed or read by another encoder."""
    try:
        record = read_json(folder / "turns.json")
    except ArtifactError:
        return 0
    dialogues = record.get("dialogues", 0) if isinstance(record, dict) else 0
    if not 0 < dialogues <= len(collection) or record != _record(collection, encoder, dialogues):
        return 0
    turns = int(collection.rows["turns"][:dialogues].to_numpy().sum())
    path = folder / "turns.f16"
    return dialogues if path.is_file() and path.stat().st_size >= turns * encoder.dimension * 2 else 0
