"""The adaptation of a collection: its map, the adapted vectors, and their files in the folder `adapted`.

`adaptation.json` is written last and names the files of map and vectors. Vectors that a killed run has not written are
computed again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from conversations.files import atomic_path, read_json, write_checked_json
from dial2vec.encoder.checksums import CHECKSUMS, damage_of, note
from dial2vec.encoder.nearest import unit_rows
from dial2vec.errors import ArtifactError
from dial2vec.evaluation.selection import TITLES

FOLDER = "adapted"
# Vectors that are mapped at a time.
BLOCK = 65_536

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Adaptation:
    """A map of vectors x to `unit((unit(x) - mean) W)`, unit(v) being v / |v|, and why it was kept, or none.

    :param mean: mean of the unit vectors, [d] float32.
    :param weight: W, [d, d] float32; None if no map was kept.
    :param dialogues: number of dialogues when it was fitted.
    :param before: label-free criteria of the plain vectors, by name.
    :param after: criteria of the adapted vectors; of the refused ones if none was kept.
    :param reason: end of a sentence that says why no map was fitted or kept.
    """

    mean: Vectors
    weight: Vectors | None
    dialogues: int
    before: dict[str, float] = field(default_factory=dict)
    after: dict[str, float] = field(default_factory=dict)
    reason: str = ""

    def __call__(self, vectors: Vectors) -> Vectors:
        """Return adapted vectors of length 1, [n, d]; a zero vector stays zero."""
        if self.weight is None:
            return vectors
        units = unit_rows(np.asarray(vectors, dtype=np.float32))
        mapped: Vectors = unit_rows(np.asarray((units - self.mean) @ self.weight, dtype=np.float32))
        mapped[~units.any(axis=1)] = 0
        return mapped

    @cached_property
    def name(self) -> str:
        """Hash of the map; empty without one."""
        return (
            "" if self.weight is None else hashlib.sha256(self.mean.tobytes() + self.weight.tobytes()).hexdigest()[:16]
        )

    @property
    def sentence(self) -> str:
        """What was done, and by what figures."""
        figures = ", ".join(f"{TITLES[key]} {self.before[key]:.2f} -> {self.after[key]:.2f}" for key in self.after)
        if self.weight is None:
            return f"The vectors were not adapted: {self.reason}" + (f" ({figures})." if figures else ".")
        return f"The vectors were adapted to these conversations: {figures or 'by the map of other topics'}."

    def write(self, folder: Path, vectors: Vectors) -> None:
        """Write the adaptation and the adapted vectors into a collection's folder, atomically.

        :param vectors: plain vectors of all dialogues.
        """
        own = folder / FOLDER
        own.mkdir(exist_ok=True)
        if self.weight is not None:
            with atomic_path(own / f"{self.name}.npz") as temporary, temporary.open("wb") as handle:
                np.savez(handle, mean=self.mean, weight=self.weight)
            self.append(folder, vectors)
        record = {key: value for key, value in asdict(self).items() if key not in ("mean", "weight")}
        write_checked_json(own / "adaptation.json", record | {"map": self.name})
        for path in own.iterdir():
            if path.name not in ("adaptation.json", CHECKSUMS if self.name else "") and path.stem != self.name:
                path.unlink()

    def append(self, folder: Path, vectors: Vectors) -> None:
        """Bring the file of adapted vectors up to all plain vectors. It never gets shorter: others may have it mapped.

        :param vectors: plain vectors of all dialogues.
        """
        path = _vectors_file(folder, self.name)
        if again := bool(damage_of(path)):
            path.unlink(missing_ok=True)
        path.touch()
        width = vectors.shape[1] * 4
        first = path.stat().st_size // width
        with path.open("r+b") as handle:
            handle.seek(first * width)
            for start in range(first, len(vectors), BLOCK):
                handle.write(self(np.asarray(vectors[start : start + BLOCK])).tobytes())
        note(path, len(vectors) * width, afresh=again)

    def vectors(self, folder: Path, vectors: Vectors) -> Vectors:
        """Return the adapted vectors of all dialogues, from the file if it has them all.

        :param vectors: plain vectors of all dialogues.
        """
        path = _vectors_file(folder, self.name)
        if path.is_file() and path.stat().st_size >= vectors.size * 4 > 0 and not damage_of(path):
            return np.memmap(path, dtype=np.float32, mode="r", shape=vectors.shape)
        return self(vectors)


def read_adaptation(folder: Path) -> Adaptation | None:
    """Return the adaptation in a collection's folder, or None.

    :raises ArtifactError: if it is damaged.
    """
    path = folder / FOLDER / "adaptation.json"
    if not path.is_file() and not any(path.parent.glob("*.npz")):
        return None
    try:
        record: dict[str, Any] = read_json(path)
        name = record.pop("map")
        arrays: Mapping[str, Vectors] = np.load(path.with_name(f"{name}.npz")) if name else {}
        adaptation = Adaptation(arrays["mean"] if name else np.zeros(0, np.float32), arrays.get("weight"), **record)
    except (ArtifactError, OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile) as error:
        raise ArtifactError(
            f"{path.parent} holds no whole adaptation ({type(error).__name__}). Remove it, and run `dial2vec index` on "
            f"{folder} again."
        ) from error
    if adaptation.name != name:
        raise ArtifactError(
            f"{path.with_name(f'{name}.npz')} was changed. Remove {path.parent}, and run `dial2vec index` again."
        )
    return adaptation


def _vectors_file(folder: Path, name: str) -> Path:
    return folder / FOLDER / f"{name}.f32"
