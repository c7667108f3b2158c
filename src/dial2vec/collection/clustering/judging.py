"""The vectors that choose the number of groups: nothing may have smoothed them, as training does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection.clustering.partition import Vectors
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.encoder.folder import SETTINGS_FILE, STUDENT_FILE
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.names import GENERAL, PACKAGED


class ByGeneral:
    """Vectors of the general student for the rows of a collection, computed when they are asked for."""

    def __init__(self, collection: CollectionFolder, every: NDArray[np.int64]) -> None:
        self.collection, self.encoder, self.every = collection, load_encoder(GENERAL), every

    def __getitem__(self, rows: NDArray[np.int64]) -> Vectors:
        """Return the vectors of some rows, float32 [rows, 256]."""
        return self.encoder.encode(list(self.collection.dialogues(self.every[rows].tolist())))


def judging_vectors(collection: CollectionFolder, rows: NDArray[np.int64] | None = None) -> Vectors | ByGeneral:
    """Return the plain vectors of a collection, or of some rows; for a trained encoder those of the general student.

    By their own silhouette, vectors of trained encoders find many more groups than there are (docs/clusters.md).
    """
    if _is_trained(collection.model):
        return ByGeneral(collection, np.arange(len(collection)) if rows is None else rows)
    return collection.vectors if rows is None else np.asarray(collection.vectors[rows])


def _is_trained(model: Path) -> bool:
    """Return whether an encoder has a head, or is the student of a trained one."""
    settings: dict[str, object] = {}
    for name in (SETTINGS_FILE, STUDENT_FILE):
        if (model / name).is_file():
            settings |= json.loads((model / name).read_text(encoding="utf-8"))
    teacher = settings.get("teacher")
    return bool(settings.get("head")) or (teacher is not None and teacher not in PACKAGED)
