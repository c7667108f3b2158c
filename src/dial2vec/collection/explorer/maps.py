"""Maps of a collection, kept in its folder: what lies on one stays where it is when the collection grows."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection import Collection
from dial2vec.collection.explorer.projection import Points, aligned, lay_out_many, place
from dial2vec.collection.explorer.start import read_by_start
from dial2vec.errors import ArtifactError
from dial2vec.files import atomic_path, folder_lock

SEED = 42
# It takes minutes, and a map of more would show no more: the others are placed among these, so many at a time.
MOST_FITTED, BLOCK = 100_000, 10_000


@dataclass(frozen=True, slots=True)
class CollectionMap:
    """Where the dialogues of a collection are.

    :param points: float32 [n, 2], in the order of the collection.
    :param fitted: int64, rows of the dialogues that the map was made of; the others were placed among them.
    """

    points: Points
    fitted: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Maps:
    """The maps of a collection.

    :param trained: by the encoder of the collection.
    :param start: by the encoder that it is compared with, turned to lie as close as it can to the first; or None.
    :param start_name: of that encoder.
    """

    trained: CollectionMap
    start: CollectionMap | None = None
    start_name: str = ""


def maps_of(
    collection: Collection, *, start: str | None = None, anew: bool = False, seed: int = SEED, progress: bool = True
) -> Maps:
    """Return the maps of a collection, which are made if they are not there, and grow if it has grown.

    :param start: name or folder of an encoder to compare with. It reads all dialogues, once; a run that was killed goes
        on. None is the one of the last time, if there was one.
    :param anew: make new maps, in which everything may lie elsewhere.
    :raises ArtifactError: when the collection is empty, or a kept map is none of it.
    :raises ModelError: when `start` cannot be loaded.
    """
    if not len(collection):
        raise ArtifactError(f"{collection.folder} holds no dialogues. Add some, and look again.")
    folder = collection.folder / "map"
    with folder_lock(folder, "makes the map of"):
        if anew:
            # The second is turned to the first, and says nothing without it.
            for name in ("trained.npz", "start.npz"):
                (folder / name).unlink(missing_ok=True)
        trained = _map(folder / "trained.npz", collection, seed=seed, progress=progress)
        other = read_by_start(collection, folder / "start", start, progress=progress)
        if other is None:
            return Maps(trained)
        beside = _map(folder / "start.npz", other, seed=seed, progress=progress, like=trained.points)
    return Maps(trained, beside, other.manifest.model)


def _map(path: Path, collection: Collection, *, seed: int, progress: bool, like: Points | None = None) -> CollectionMap:
    """Read a map, make it where there is none, add what came since, and keep it.

    :param like: the map that a new one is turned to.
    """
    found = _read(path, collection) if path.exists() else None
    if found is not None and len(found.points) == len(collection):
        return found
    units = collection.vectors
    if found is None:
        found = _fitted(units, seed=seed, progress=progress)
        found = found if like is None else replace(found, points=aligned(found.points, like))
    else:
        known = np.asarray(units[found.fitted])
        more = place(units[len(found.points) :], known, found.points[found.fitted])
        found = replace(found, points=np.concatenate([found.points, more]))
    with atomic_path(path) as temporary, temporary.open("wb") as handle:
        content = _content(collection, len(collection))
        np.savez(handle, points=found.points, fitted=found.fitted, content=content)
    return found


def _fitted(units: NDArray[np.float32], *, seed: int, progress: bool) -> CollectionMap:
    """Make a map of so many as it takes, and place the others among them."""
    n = len(units)
    fitted = np.arange(n)
    if n > MOST_FITTED:
        fitted = np.sort(np.random.default_rng(seed).choice(n, MOST_FITTED, replace=False))
    known = np.asarray(units[fitted])
    points = np.zeros((n, 2), dtype=np.float32)
    points[fitted] = lay_out_many(known, seed=seed, progress=progress)
    rest = np.setdiff1d(np.arange(n), fitted)
    for rows in np.split(rest, range(BLOCK, len(rest), BLOCK)):
        points[rows] = place(units[rows], known, points[fitted])
    return CollectionMap(points, fitted)


def _read(path: Path, collection: Collection) -> CollectionMap:
    try:
        with np.load(path) as kept:
            points, fitted, content = kept["points"], kept["fitted"], str(kept["content"])
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ArtifactError(f"{path} cannot be read ({error}). Make a new map: --anew.") from error
    if len(points) > len(collection) or _content(collection, len(points)) != content:
        raise ArtifactError(
            f"{path} is a map of other dialogues than {collection.folder} holds. Make a new one: --anew."
        )
    return CollectionMap(points, fitted)


def _content(collection: Collection, count: int) -> str:
    """Identify the first dialogues of a collection."""
    return hashlib.sha256(collection.rows["content"][:count].to_numpy().tobytes()).hexdigest()
