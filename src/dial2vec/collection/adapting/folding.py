"""An encoder with a collection's map folded in, which gives the vectors that groups and map were made of."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dial2vec.collection.collection_folder import CollectionFolder, sampled
from dial2vec.encoder.loading import load_encoder
from dial2vec.errors import ArtifactError

# Dialogues that a student's map is folded in for, and whose vectors are compared.
COMPARED = 1_000


def save_adapted(collection: CollectionFolder, path: Path) -> float:
    """Save the collection's encoder with the collection's map, and return how well both agree.

    :param path: folder to write; a model that was saved there before is replaced.
    :return: mean cosine of the saved encoder's vectors with the adapted ones, for at most 1,000 dialogues.
    :raises ArtifactError: if the collection has no map.
    :raises ModelError: if the encoder has a head, as trained ones have, or `path` holds other files.
    """
    adaptation = collection.adaptation
    if adaptation is None or adaptation.weight is None:
        why = "it was indexed with --no-adapt" if adaptation is None else adaptation.sentence
        raise ArtifactError(f"{collection.folder} has no adapted vectors: {why} Take {collection.model} as it is.")
    rows = sampled(len(collection), COMPARED, seed=1)
    dialogues = list(collection.dialogues(rows.tolist()))
    encoder = load_encoder(collection.model)
    encoder.add_map(adaptation.mean, adaptation.weight, dialogues)
    encoder.save_pretrained(path)
    vectors = load_encoder(path).encode(dialogues)
    lengths = np.maximum(np.linalg.norm(vectors, axis=1), 1e-12)
    return float(((vectors * collection.adapted[rows]).sum(axis=1) / lengths).mean())
