"""Collections that grow, made without an encoder."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dial2vec.collection import Collection
from dial2vec.encoder.nearest import unit_rows
from tests.collection.made import written

D = 12


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr("dial2vec.collection.clustering.stability.HALVES", 4)
    monkeypatch.setattr("dial2vec.collection.clustering.partition.STARTS", 1)


class Maker:
    """Collections that grow: each dialogue has a topic, with a vector near the topic's and words of the topic."""

    def __init__(self, folder, dialogue) -> None:
        self.folder, self.dialogue, self.topics = folder, dialogue, []

    def add(self, *topics: int, spread: float = 0.1, **metadata: str | float) -> Collection:
        begin = len(self.topics)
        self.topics += topics
        rng = np.random.default_rng(begin)
        vectors = unit_rows(np.eye(D)[list(topics)] + spread * rng.normal(size=(len(topics), D))).astype(np.float32)
        dialogues = [
            self.dialogue(f"d{begin + at}", "ann: yeah okay", f"bob: topic{'abcdefgh'[topic]} word{'abcdefgh'[topic]}")
            for at, topic in enumerate(topics)
        ]
        return written(self.folder, [replace(dialogue, metadata=metadata) for dialogue in dialogues], vectors)


@pytest.fixture
def make(tmp_path, dialogue) -> Maker:
    return Maker(tmp_path / "c", dialogue)
