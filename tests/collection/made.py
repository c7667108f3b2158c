"""Collections for tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from conversations.dialogue import Dialogue, write_dialogues
from dial2vec.collection import Collection, add
from dial2vec.collection.adding import _rows
from dial2vec.collection.collection_folder import MANIFEST, Addition, Manifest, rows_file
from dial2vec.encoder.loading import Encoder


def indexed(folder: Path, dialogues: Sequence[Dialogue], encoder: Encoder) -> Collection:
    """Add dialogues to the collection in a folder, which is made if it is missing."""
    source = folder.with_suffix(".jsonl")
    write_dialogues(source, dialogues)
    add(folder, source, encoder=encoder, progress=False)
    return Collection(folder)


def written(folder: Path, dialogues: Sequence[Dialogue], vectors: NDArray[np.float32]) -> Collection:
    """Add dialogues with these vectors, float32 [n, d], without an encoder."""
    (folder / "rows").mkdir(parents=True, exist_ok=True)
    known = Manifest.read(folder).additions if (folder / MANIFEST).exists() else ()
    lines = [(json.dumps(dialogue.to_record()) + "\n").encode() for dialogue in dialogues]
    path = folder / "dialogues.jsonl"
    starts = np.cumsum([path.stat().st_size if path.exists() else 0, *map(len, lines)])[:-1].tolist()
    with path.open("ab") as text, (folder / "vectors.f32").open("ab") as raw:
        text.write(b"".join(lines))
        raw.write(vectors.tobytes())
    pq.write_table(_rows(list(dialogues), starts), rows_file(folder, len(known)))
    addition = Addition("s", "2026-03-04", len(dialogues), sum(map(len, lines)))
    Manifest("m", "f", vectors.shape[1], (*known, addition)).write(folder)
    return Collection(folder)
