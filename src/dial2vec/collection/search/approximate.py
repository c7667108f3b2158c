"""The nearest vectors of many, almost surely: an inverted file by faiss, whose recall is measured and kept with it."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection import Collection
from dial2vec.collection.search.exact import nearest_rows
from dial2vec.errors import ArtifactError
from dial2vec.files import atomic_path, read_json, write_json

log = logging.getLogger(__name__)

# With fewer dialogues every vector is looked at faster than the model reads the query.
FROM = 100_000
# How often so many vectors as the lists were made for, before they are made anew.
GROWN = 1.5
FAISS = "faiss is not installed; pip install 'dial2vec[search]' brings it"
# Lists for n vectors: a query then reads about as many centres as vectors.
LISTS_PER_ROOT = 4
TRAINED_ON = 50
RECALL, AT, QUERIES = 0.95, 10, 200
# Codes of 8 bits are near enough to find the best among so many times k, whose cosines are then computed exactly.
MORE = 10
BLOCK = 65_536


@dataclass(frozen=True, slots=True)
class IndexRecord:
    """What `index.json` holds.

    :param fingerprint: of the collection's encoder.
    :param probes: lists that a query looks into.
    :param recall: share of the 10 nearest that it finds, measured on dialogues of the collection, in [0, 1].
    :param lists: how many there are.
    :param trained: vectors that there were when the lists were made.
    """

    fingerprint: str
    probes: int
    recall: float
    lists: int
    trained: int


class Approximate:
    """An index of a collection.

    :param index: of faiss; its numbers are the rows.
    :param measured: how it is asked, and what that finds.
    """

    def __init__(self, index: Any, measured: IndexRecord) -> None:
        self.index, self.measured = index, measured

    def nearest(
        self, vectors: NDArray[np.float32], query: NDArray[np.float32], k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return rows and cosines as `exact.nearest_rows` does, of almost all of the nearest."""
        return _nearest(self.index, vectors, query, k, probes=self.measured.probes)


def _nearest(
    index: Any, vectors: NDArray[np.float32], query: NDArray[np.float32], k: int, *, probes: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    import faiss

    options = faiss.SearchParametersIVF()
    options.nprobe = probes
    _, found = index.search(query[None], k * MORE, params=options)
    rows = np.sort(found[0][found[0] >= 0])
    return nearest_rows(vectors, query, k, rows=rows)


def has_faiss() -> bool:
    """Whether an index can be made and asked here."""
    return importlib.util.find_spec("faiss") is not None


def open_index(collection: Collection) -> Approximate | None:
    """Return the index of a collection; None where it has none, or one that does not fit it or is damaged."""
    files = _files(collection)
    if not all(path.is_file() for path in files):
        return None
    if not has_faiss():
        log.warning("%s is not used, and every vector is looked at: %s", files[0], FAISS)
        return None
    import faiss

    try:
        measured = IndexRecord(**read_json(files[1]))
        index = faiss.read_index(str(files[0]), faiss.IO_FLAG_MMAP)
    except (ArtifactError, TypeError, RuntimeError) as error:
        log.warning("%s cannot be read (%s), so every vector is looked at; `dial2vec index` mends it", files[0], error)
        return None
    fits = measured.fingerprint == collection.manifest.fingerprint and index.ntotal == len(collection)
    return Approximate(index, measured) if fits else None


def update_index(
    collection: Collection, *, seed: int = 1, done: Callable[[int], object] = lambda _: None
) -> IndexRecord:
    """Bring the index of a collection up to date, and return what was measured; atomic.

    New dialogues are added to the lists that are there. It is made anew where there is none, or where the collection
    has grown by half and it would have to look into an eighth of the lists. Where nothing is new it is as it was.

    :param seed: of the dialogues that the lists are made from, and of those that recall is measured on.
    :param done: called with the number of vectors after each block.
    """
    files = _files(collection)
    index, trained = _kept(collection, files)
    if index is not None:
        if index.ntotal == len(collection):
            return IndexRecord(**read_json(files[1]))
        _add(index, collection, done)
        measured = _measure(index, collection, seed, trained)
    if index is None or (measured.probes > index.nlist // 8 and len(collection) > GROWN * trained):
        index = _trained(collection, seed)
        _add(index, collection, done)
        measured = _measure(index, collection, seed, len(collection))
    import faiss

    with atomic_path(files[0]) as temporary:
        faiss.write_index(index, str(temporary))
    write_json(files[1], asdict(measured))
    return measured


def _files(collection: Collection) -> tuple[Path, Path]:
    folder = collection.folder / "search"
    return folder / "index.faiss", folder / "index.json"


def _kept(collection: Collection, files: tuple[Path, Path]) -> tuple[Any, int]:
    """Return the index that is there and how many it was made for, if it is of the first dialogues of this one."""
    import faiss

    try:
        measured = IndexRecord(**read_json(files[1]))
        index = faiss.read_index(str(files[0]))
        if measured.fingerprint == collection.manifest.fingerprint and index.ntotal <= len(collection):
            return index, measured.trained
    except (ArtifactError, TypeError, RuntimeError):
        pass
    return None, 0


def _trained(collection: Collection, seed: int) -> Any:
    import faiss

    n, d = collection.vectors.shape
    lists = max(1, min(int(LISTS_PER_ROOT * n**0.5), n // 10))
    rows = _sample(n, TRAINED_ON * lists, seed)
    index = faiss.IndexIVFScalarQuantizer(
        faiss.IndexFlatIP(d), d, lists, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    )
    index.cp.seed, index.cp.spherical = seed, True
    index.train(np.ascontiguousarray(collection.vectors[rows]))
    return index


def _add(index: Any, collection: Collection, done: Callable[[int], object]) -> None:
    for first in range(index.ntotal, len(collection), BLOCK):
        block = np.ascontiguousarray(collection.vectors[first : first + BLOCK])
        index.add(block)
        done(len(block))


def _measure(index: Any, collection: Collection, seed: int, trained: int) -> IndexRecord:
    """Look into twice as many lists until recall is reached."""
    vectors, rows = collection.vectors, _sample(len(collection), QUERIES, seed)
    true = [set(nearest_rows(vectors, vectors[row], AT)[0].tolist()) for row in rows]
    probes = 1
    while True:
        found = [_nearest(index, vectors, vectors[row], AT, probes=probes)[0].tolist() for row in rows]
        recall = float(np.mean([len(one & set(other)) / len(one) for one, other in zip(true, found, strict=True)]))
        if recall >= RECALL or probes >= index.nlist:
            return IndexRecord(collection.manifest.fingerprint, min(probes, index.nlist), recall, index.nlist, trained)
        probes *= 2


def _sample(n: int, size: int, seed: int) -> NDArray[np.int64]:
    return np.sort(np.random.default_rng(seed).choice(n, min(n, size), replace=False))
