"""Approximate search for the nearest vectors: an inverted file by faiss, stored with its measured recall."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conversations.files import atomic_path, read_json, write_json
from dial2vec.collection.collection_folder import CollectionFolder, sampled
from dial2vec.collection.search.exact import nearest_rows
from dial2vec.errors import ArtifactError

log = logging.getLogger(__name__)

# With fewer dialogues, comparing all vectors takes less time than encoding the query.
FROM = 100_000
# Growth since the lists were trained after which they may be trained again.
GROWN = 1.5
FAISS = "faiss is not installed; run `pip install 'dial2vec[search]'`"
# Lists per square root of n vectors: a query then reads about as many centres as vectors.
LISTS_PER_ROOT = 4
# Vectors per list in training.
TRAINED_ON = 50
# Recall to reach, nearest vectors it counts, and dialogues it is measured on.
RECALL, AT, QUERIES = 0.95, 10, 200
# Candidates per result. Codes of 8 bits rank them roughly; their cosines are then computed exactly.
MORE = 10
BLOCK = 65_536


@dataclass(frozen=True, slots=True)
class IndexRecord:
    """The content of `index.json`.

    :param probes: number of lists that a query reads.
    :param recall: share of the 10 nearest dialogues that is found, measured on dialogues of the collection, in [0, 1].
    :param trained: number of vectors when the lists were trained.
    """

    fingerprint: str
    probes: int
    recall: float
    lists: int
    trained: int


class Approximate:
    """An index of a collection.

    :param index: faiss index, whose ids are the rows of the collection.
    """

    def __init__(self, index: Any, record: IndexRecord) -> None:
        self.index, self.record = index, record

    def nearest(
        self, vectors: NDArray[np.float32], query: NDArray[np.float32], k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return rows and cosines like `exact.nearest_rows`; a few of the nearest may be missing."""
        return _nearest(self.index, vectors, query, k, probes=self.record.probes)


def _nearest(
    index: Any, vectors: NDArray[np.float32], query: NDArray[np.float32], k: int, *, probes: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    import faiss

    options = faiss.SearchParametersIVF()
    options.nprobe = probes
    _, [candidates] = index.search(query[None], k * MORE, params=options)
    rows = np.sort(candidates[candidates >= 0])
    return nearest_rows(vectors, query, k, rows=rows)


def has_faiss() -> bool:
    """True if faiss is installed."""
    return importlib.util.find_spec("faiss") is not None


def open_index(collection: CollectionFolder) -> Approximate | None:
    """Return the index of a collection; None if it is missing, damaged or does not match the collection."""
    path, _ = files = _files(collection)
    if not all(file.is_file() for file in files):
        return None
    if not has_faiss():
        log.warning("%s is not used, so all vectors are compared: %s", path, FAISS)
        return None
    try:
        kept = _read(collection, mapped=True)
    except (ArtifactError, TypeError, RuntimeError) as error:
        log.warning("%s cannot be read (%s), so all vectors are compared; `dial2vec index` repairs it", path, error)
        return None
    return kept if kept is not None and kept.index.ntotal == len(collection) else None


def update_index(
    collection: CollectionFolder, *, seed: int = 1, done: Callable[[int], object] = lambda _: None
) -> IndexRecord:
    """Bring the index of a collection up to date, and return its record; atomic.

    New dialogues are added to the existing lists. The lists are trained again if the collection has grown by half and
    a query would read more than an eighth of the lists. Without new dialogues nothing changes.

    :param seed: random seed of the dialogues for training, and of those for measuring recall.
    :param done: called with the number of vectors of each block.
    """
    import faiss

    files = _files(collection)
    kept = None
    with suppress(ArtifactError, TypeError, RuntimeError):
        kept = _read(collection)
    if kept is not None:
        index, trained = kept.index, kept.record.trained
        if index.ntotal == len(collection):
            return kept.record
        _add(index, collection, done)
        record = _measure(index, collection, seed, trained)
    if kept is None or (record.probes > index.nlist // 8 and len(collection) > GROWN * trained):
        index = _trained(collection, seed)
        _add(index, collection, done)
        record = _measure(index, collection, seed, len(collection))
    with atomic_path(files[0]) as temporary:
        faiss.write_index(index, str(temporary))
    write_json(files[1], asdict(record))
    return record


def _files(collection: CollectionFolder) -> tuple[Path, Path]:
    folder = collection.folder / "search"
    return folder / "index.faiss", folder / "index.json"


def _read(collection: CollectionFolder, *, mapped: bool = False) -> Approximate | None:
    """Read the index; None if it is that of another encoder or has more dialogues."""
    import faiss

    path, record_path = _files(collection)
    record = IndexRecord(**read_json(record_path))
    index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP if mapped else 0)
    fits = record.fingerprint == collection.manifest.fingerprint and index.ntotal <= len(collection)
    return Approximate(index, record) if fits else None


def _trained(collection: CollectionFolder, seed: int) -> Any:
    import faiss

    n, d = collection.vectors.shape
    lists = max(1, min(int(LISTS_PER_ROOT * n**0.5), n // 10))
    rows = sampled(n, TRAINED_ON * lists, seed)
    index = faiss.IndexIVFScalarQuantizer(
        faiss.IndexFlatIP(d), d, lists, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    )
    index.cp.seed, index.cp.spherical = seed, True
    index.train(np.ascontiguousarray(collection.vectors[rows]))
    return index


def _add(index: Any, collection: CollectionFolder, done: Callable[[int], object]) -> None:
    for first in range(index.ntotal, len(collection), BLOCK):
        block = np.ascontiguousarray(collection.vectors[first : first + BLOCK])
        index.add(block)
        done(len(block))


def _measure(index: Any, collection: CollectionFolder, seed: int, trained: int) -> IndexRecord:
    """Double the number of lists that a query reads until the recall is reached."""
    vectors, rows = collection.vectors, sampled(len(collection), QUERIES, seed)
    true = [set(nearest_rows(vectors, vectors[row], AT)[0].tolist()) for row in rows]
    probes = 1
    while True:
        hits = [_nearest(index, vectors, vectors[row], AT, probes=probes)[0].tolist() for row in rows]
        recall = float(np.mean([len(best & set(hit)) / len(best) for best, hit in zip(true, hits, strict=True)]))
        if recall >= RECALL or probes >= index.nlist:
            return IndexRecord(collection.manifest.fingerprint, min(probes, index.nlist), recall, index.nlist, trained)
        probes *= 2
