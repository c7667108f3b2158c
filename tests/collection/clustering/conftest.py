"""Collections that grow, made without an encoder."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from dial2vec.collection import Collection
from dial2vec.collection.adding import _rows
from dial2vec.collection.collection_folder import Addition, Manifest, rows_file
from dial2vec.encoder.nearest import unit_rows

D = 12


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr("dial2vec.collection.clustering.stability.HALVES", 4)
    monkeypatch.setattr("dial2vec.collection.clustering.partition.STARTS", 1)


class Maker:
    """Collections that grow: each dialogue has a topic, with a vector near the topic's and words of the topic."""

    def __init__(self, folder, dialogue) -> None:
        self.folder, self.dialogue, self.topics = folder, dialogue, []
        (folder / "rows").mkdir(parents=True)

    def add(self, *topics: int, spread: float = 0.1, **metadata: str | float) -> Collection:
        begin = len(self.topics)
        self.topics += topics
        rng = np.random.default_rng(begin)
        vectors = unit_rows(np.eye(D)[list(topics)] + spread * rng.normal(size=(len(topics), D))).astype(np.float32)
        dialogues = [
            self.dialogue(f"d{begin + at}", "ann: yeah okay", f"bob: topic{'abcdefgh'[topic]} word{'abcdefgh'[topic]}")
            for at, topic in enumerate(topics)
        ]
        dialogues = [replace(dialogue, metadata=metadata) for dialogue in dialogues]
        lines = [(json.dumps(one.to_record()) + "\n").encode() for one in dialogues]
        path = self.folder / "dialogues.jsonl"
        starts = np.cumsum([path.stat().st_size if path.exists() else 0, *map(len, lines)])[:-1].tolist()
        with path.open("ab") as text, (self.folder / "vectors.f32").open("ab") as raw:
            text.write(b"".join(lines))
            raw.write(vectors.tobytes())
        known = Manifest.read(self.folder).additions if begin else ()
        pq.write_table(_rows(dialogues, starts), rows_file(self.folder, len(known)))
        addition = Addition("s", "2026-03-04", len(topics), sum(map(len, lines)))
        Manifest("m", "f", D, (*known, addition)).write(self.folder)
        return Collection(self.folder)


@pytest.fixture
def make(tmp_path, dialogue) -> Maker:
    return Maker(tmp_path / "c", dialogue)
