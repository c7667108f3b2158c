"""Vectors of many dialogues, saved part by part: a killed run resumes, and the next run reuses them."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from conversations.files import atomic_path
from dial2vec.encoder.encoder import DialogueEncoder
from dial2vec.encoder.network import Precision
from dial2vec.files import claim

PART = 500
# Large batches fill a GPU; on a CPU they are read in parts (`Network.sequence_states`).
BATCH = {"cpu": 32, "cuda": 128}

log = logging.getLogger(__name__)


def kept_vectors(
    encoder: DialogueEncoder, dialogues: Sequence[Dialogue], *, folder: Path, precision: Precision
) -> NDArray[np.float32]:
    """Encode the dialogues, [n, d] float32, and save every 500 of them in `folder`.

    Parts that the same code saved for the same encoder and dialogues are not encoded again.
    """
    claim(folder, fingerprint_of(encoder, dialogues, precision))
    parts = []
    for first in range(0, len(dialogues), PART):
        path = folder / f"{first:08d}.npy"
        if not _is_whole(path):
            with encoder.autocast(precision):
                vectors = encoder.encode(dialogues[first : first + PART], batch_size=BATCH.get(encoder.device.type, 32))
            with atomic_path(path) as temporary, temporary.open("wb") as handle:
                np.save(handle, vectors)
            log.info("encoded %d of %d dialogues", min(first + PART, len(dialogues)), len(dialogues))
        parts.append(np.load(path))
    return np.concatenate(parts) if parts else np.zeros((0, encoder.dimension), np.float32)


def _is_whole(path: Path) -> bool:
    try:
        np.load(path)
    except (OSError, ValueError, EOFError):
        return False
    return True


def fingerprint_of(encoder: DialogueEncoder, dialogues: Sequence[Dialogue], precision: Precision) -> str:
    """Return a hash of all that decides the vectors of dialogues: their turns, the encoder, the code."""
    digest = hashlib.sha256(encoder.computed_by(precision).encode())
    for dialogue in dialogues:
        digest.update(repr([(turn.speaker, turn.text) for turn in dialogue.turns]).encode())
    return digest.hexdigest()
