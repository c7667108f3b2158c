"""What encoders reached on dev, kept beside the pipeline's files, so that the gate need not measure them again."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dial2vec.evaluation.intervals import Contributions
from dial2vec.files import atomic_path, code_hash

if TYPE_CHECKING:
    from dial2vec.evaluation.measure import Measured


def cache_scores(folder: Path, encoder_hash: str, dev_hash: str, measured: Measured) -> None:
    """Keep scores and contributions of an encoder on a dev split; nothing is kept of a split without figures."""
    if measured.contributions is None:
        return
    with atomic_path(_path(folder, encoder_hash, dev_hash)) as temporary, temporary.open("wb") as handle:
        found = measured.contributions
        scores = np.array(json.dumps(measured.scores))
        np.savez(handle, scores=scores, purity=found.purity, spearman=found.spearman, map=found.map)


def cached_scores(folder: Path, encoder_hash: str, dev_hash: str) -> tuple[dict[str, float], Contributions] | None:
    """Return what this code kept of an encoder on a dev split; None for nothing, or a file that is not whole."""
    try:
        with np.load(_path(folder, encoder_hash, dev_hash)) as found:
            scores: dict[str, float] = json.loads(str(found["scores"]))
            return scores, Contributions(found["purity"], found["spearman"], found["map"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _path(folder: Path, encoder_hash: str, dev_hash: str) -> Path:
    # Other code may read or score otherwise, and such figures must not be compared.
    return folder / f"{encoder_hash[:16]}-{dev_hash}-{code_hash()[:8]}.npz"
