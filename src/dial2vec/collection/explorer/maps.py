"""Maps of a collection, stored in its folder: points do not move when the collection grows."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import write_dialogues
from conversations.files import atomic_path
from conversations.progress import counted, waiting
from dial2vec.collection.adding import add
from dial2vec.collection.collection_folder import CollectionFolder, readable, sampled
from dial2vec.collection.explorer.layout import PROBES, lay_out_many
from dial2vec.collection.explorer.placing import Placing
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.protocol import Encoder
from dial2vec.errors import ArtifactError, Dial2vecError
from dial2vec.evaluation.geometry import Points, turned_like
from dial2vec.files import folder_lock

SEED = 42
# Most dialogues that a map is fitted to, which takes minutes; the others are placed among them, in blocks.
MOST_FITTED, BLOCK = 100_000, 10_000


@dataclass(frozen=True, slots=True)
class CollectionMap:
    """Places of the dialogues of a collection.

    :param points: places in the order of the collection, float32 [n, 2].
    :param fitted: rows of the dialogues that the map was fitted to, int64; the others were placed among them.
    """

    points: Points
    fitted: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Maps:
    """The maps of a collection.

    :param trained: map by the encoder of the collection.
    :param start: map by the other encoder, aligned with the first map; None without a comparison.
    """

    trained: CollectionMap
    start: CollectionMap | None = None
    start_name: str = ""


def maps_of(
    collection: CollectionFolder,
    *,
    start: str | None = None,
    from_scratch: bool = False,
    seed: int = SEED,
    progress: bool = True,
) -> Maps:
    """Return the maps of a collection; missing maps are made, and new dialogues are placed on existing maps.

    :param start: name or folder of an encoder to compare with, which reads all dialogues once; a killed run resumes.
        None uses the encoder of the last run, if there was one.
    :param from_scratch: True to make new maps, on which every point may move.
    :raises ArtifactError: if the collection is empty, or a stored map does not belong to it.
    :raises ModelError: if `start` cannot be loaded.
    """
    if not len(collection):
        raise ArtifactError(f"{collection.folder} holds no dialogues. Add some, and look again.")
    folder = collection.folder / "map"
    with folder_lock(folder, "makes the map of"):
        if from_scratch:
            # The second map is aligned with the first, so both go.
            for name in ("trained.npz", "start.npz"):
                (folder / name).unlink(missing_ok=True)
        trained = _map(folder / "trained.npz", collection, seed=seed, progress=progress)
        other = read_by_start(collection, folder / "start", start, progress=progress)
        if other is None:
            return Maps(trained)
        compared = _map(folder / "start.npz", other, seed=seed, progress=progress, like=trained.points)
    return Maps(trained, compared, other.manifest.model)


def _map(
    path: Path, collection: CollectionFolder, *, seed: int, progress: bool, like: Points | None = None
) -> CollectionMap:
    """Read a map or make it, place new dialogues on it, and store it.

    :param like: map to align a new map with.
    """
    drawn = read_map(path, collection) if path.exists() else None
    if drawn is not None and len(drawn.points) == len(collection):
        return drawn
    units = collection.adapted
    if drawn is None:
        drawn = _fitted(units, seed=seed, progress=progress)
        drawn = drawn if like is None else replace(drawn, points=aligned(drawn.points, like))
    else:
        placing = Placing(np.asarray(units[drawn.fitted]), drawn.points[drawn.fitted])
        more = placing.place(units[len(drawn.points) :])
        drawn = replace(drawn, points=np.concatenate([drawn.points, more]))
    _write(path, collection, drawn)
    return drawn


def _write(path: Path, collection: CollectionFolder, drawn: CollectionMap) -> None:
    with atomic_path(path) as temporary, temporary.open("wb") as handle:
        content = _content(collection, len(collection))
        np.savez(handle, points=drawn.points, fitted=drawn.fitted, content=content)


def like_before(collection: CollectionFolder, drawn: CollectionMap, before: CollectionMap) -> CollectionMap:
    """Align the stored map of a collection with another map of the same dialogues, store it again, and return it."""
    turned = replace(drawn, points=aligned(drawn.points, before.points))
    _write(collection.folder / "map" / "trained.npz", collection, turned)
    return turned


def _fitted(units: NDArray[np.float32], *, seed: int, progress: bool) -> CollectionMap:
    """Fit a map to at most 100,000 vectors, and place the others among them."""
    n = len(units)
    fitted = sampled(n, MOST_FITTED, seed)
    known = np.asarray(units[fitted])
    points = np.zeros((n, 2), dtype=np.float32)
    points[fitted] = lay_out_many(known, seed=seed, progress=progress)
    placing = Placing(known, points[fitted], probes=PROBES)
    rest = np.setdiff1d(np.arange(n), fitted)
    blocks = np.split(rest, range(BLOCK, len(rest), BLOCK))
    for rows in counted(blocks, "blocks") if progress else blocks:
        points[rows] = placing.place(units[rows])
    return CollectionMap(points, fitted)


def aligned(points: Points, other: Points) -> Points:
    """Turn, mirror and scale a map to match another map of the same dialogues; float32 [n, 2].

    The remaining differences come from the encoders.
    """
    centre = other.mean(axis=0)
    turned = turned_like(points, other)
    own, target = np.linalg.norm(turned), np.linalg.norm(other - centre)
    return (turned * (target / own if own else 1) + centre).astype(np.float32)


def read_map(path: Path, collection: CollectionFolder) -> CollectionMap:
    """Return a stored map, which may lack the last dialogues."""
    with readable(path, ". Make a new map: --from-scratch."), np.load(path) as kept:
        points, fitted, content = kept["points"], kept["fitted"], str(kept["content"])
    if len(points) > len(collection) or _content(collection, len(points)) != content:
        raise ArtifactError(
            f"{path} is a map of other dialogues than those of {collection.folder}. Make a new map: --from-scratch."
        )
    return CollectionMap(points, fitted)


def _content(collection: CollectionFolder, count: int) -> str:
    """Return a hash of the first `count` dialogues of a collection."""
    return hashlib.sha256(collection.rows["content"][:count].to_numpy().tobytes()).hexdigest()


def read_by_start(
    collection: CollectionFolder, folder: Path, start: str | None, *, progress: bool
) -> CollectionFolder | None:
    """Return the dialogues of a collection with vectors of another encoder; None without one. A killed run resumes.

    :param folder: folder of this second collection; if the encoder changes, the map `<folder>.npz` is deleted.
    :param start: name or folder of the other encoder; None uses the encoder of the last run, if there was one.
    :raises Dial2vecError: if `start` is the encoder of the collection itself.
    :raises ModelError: if `start` cannot be loaded.
    """
    with waiting("loading the encoder"):
        encoder = None if start is None else load_encoder(start)
    if encoder is not None:
        _make_room(collection, folder, encoder)
    existing = CollectionFolder(folder) if (folder / "collection.json").exists() else None
    if encoder is None and existing is None:
        return None
    known = 0 if existing is None else len(existing)
    if known < len(collection):
        more = folder.with_suffix(".jsonl")
        write_dialogues(more, collection.dialogues(range(known, len(collection))))
        add(folder, more, encoder=encoder or load_encoder(folder / "model"), progress=progress, turns=False)
        more.unlink()
    other = CollectionFolder(folder)
    if other.rows["content"] != collection.rows["content"]:
        raise ArtifactError(
            f"{folder} holds other dialogues than {collection.folder}. Remove it, and name the encoder again: --start."
        )
    return other


def _make_room(collection: CollectionFolder, folder: Path, encoder: Encoder) -> None:
    """Remove the vectors and the map of another encoder."""
    fingerprint = encoder.fingerprint()
    if fingerprint == collection.manifest.fingerprint:
        raise Dial2vecError(
            f"{encoder.name} is the encoder of {collection.folder} itself; expected another one to compare with. "
            "Leave --base out, or name the encoder that this one was trained from."
        )
    if (folder / "collection.json").exists() and CollectionFolder(folder).manifest.fingerprint != fingerprint:
        folder.with_suffix(".npz").unlink(missing_ok=True)
        shutil.rmtree(folder)
