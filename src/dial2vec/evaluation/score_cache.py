"""Stored figures of encoders on dev, so the gate need not measure them again, and which of them are comparable."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conversations.dialogue import Dialogue
from conversations.files import atomic_path
from dial2vec.evaluation.intervals import Contributions
from dial2vec.files import code_hash

if TYPE_CHECKING:
    from dial2vec.evaluation.clustering import Way
    from dial2vec.evaluation.measure import Measured


def cache_scores(folder: Path, encoder_hash: str, dev_hash: str, measured: Measured) -> None:
    """Store scores and contributions of an encoder on a dev split; a split without figures stores nothing."""
    if measured.contributions is None:
        return
    with atomic_path(_path(folder, encoder_hash, dev_hash)) as temporary, temporary.open("wb") as handle:
        arrays: dict[str, Any] = {"scores": json.dumps(measured.scores)} | measured.contributions.rows()
        np.savez(handle, **arrays)


def cached_scores(folder: Path, encoder_hash: str, dev_hash: str) -> tuple[dict[str, float], Contributions] | None:
    """Return stored scores and contributions by this code; None if they are missing or their file is damaged."""
    try:
        with np.load(_path(folder, encoder_hash, dev_hash)) as arrays:
            scores: dict[str, float] = json.loads(str(arrays["scores"]))
            return scores, Contributions(arrays["purity"], arrays["spearman"], arrays["map"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def measurement_hash(
    dialogues: Sequence[Dialogue],
    *,
    runs: int | None,
    seed: int,
    way: Way = "ours",
    n_clusters: int | None = None,
) -> str:
    """Return a hash of a split's texts and labels and of the settings of its measurement.

    Only figures of equal hashes are comparable.
    """
    other = () if (way, n_clusters) == ("ours", None) else (way, n_clusters)
    digest = hashlib.sha256(repr((runs, seed, *other)).encode())
    for dialogue in dialogues:
        digest.update(repr((dialogue.labels, [(turn.speaker, turn.text) for turn in dialogue.turns])).encode())
    return digest.hexdigest()[:16]


def _path(folder: Path, encoder_hash: str, dev_hash: str) -> Path:
    # Other code may encode or score in another way; such figures must not be compared.
    return folder / f"{encoder_hash[:16]}-{dev_hash}-{code_hash()[:8]}.npz"
