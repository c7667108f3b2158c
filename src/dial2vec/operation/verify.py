"""Looking for damaged files: in a project, its cache, its remote and its registry, in a collection, or in a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from conversations.files import read_json
from dial2vec.collection.collection_folder import MANIFEST, CollectionFolder, checked_table, readable
from dial2vec.encoder.checksums import CHECKSUMS, damaged_files, hash_again, md5_of
from dial2vec.encoder.folder import MARKS
from dial2vec.errors import CorpusError, Dial2vecError
from dial2vec.files import find_root
from dial2vec.project.dvc_cache import any_cache, damaged_objects, recorded_files, remote_folder

READ: dict[str, Callable[[Path], object]] = {
    ".json": read_json,
    ".parquet": checked_table,
    ".npz": lambda path: list(np.load(path).values()),
}
# Folders that hold no collections of a project.
OTHERS = ("mlruns", "data", "src", "node_modules", "__pycache__", "dvcstore", "inbox")


def verify(path: Path | None) -> Iterator[tuple[str, list[str]]]:
    """Read all files that have a checksum again, and yield each kind of place with a sentence per damaged file.

    :param path: collection, model, or folder in a project; None is the project at or above the working directory.
    :raises Dial2vecError: if it is neither.
    """
    hash_again()
    if path is not None and (path / MANIFEST).is_file():
        yield f"collection {path}", _damaged_in_collection(path)
    elif path is not None and any((path / name).is_file() for name in (CHECKSUMS, *MARKS)):
        listed = "" if (path / CHECKSUMS).is_file() else ", which has no checksums"
        yield f"model {path}{listed}", list(damaged_files(path))
    elif path is not None and not path.is_dir():
        raise CorpusError(f"{path} is no folder; expected a project, a collection or a model. Correct the path.")
    else:
        yield from _of_project(find_root(path))


def _of_project(root: Path) -> Iterator[tuple[str, list[str]]]:
    from dial2vec.registry.tracking import damaged_versions

    cache, remote = any_cache(root), remote_folder(root)
    changed = "DVC's records name other content. Run `dial2vec run`, or `dial2vec add` if you changed it."
    problems = [
        f"{file} is {'changed' if file.is_file() else 'missing'}; {changed}"
        for file, md5 in recorded_files(root, cache)
        if not file.is_file() or md5_of(file) != md5
    ]
    yield "files of the project", problems
    yield "DVC's cache", [f"{problem}. The next run sets it aside." for _, problem in damaged_objects(cache)]
    if remote:
        again = "Remove it, and push again from a checkout whose cache is whole."
        yield f"DVC's remote {remote}", [f"{problem}. {again}" for _, problem in damaged_objects(remote)]
    yield "registered versions", damaged_versions(root)
    for folder in _collections(root):
        yield f"collection {folder.relative_to(root)}", _damaged_in_collection(folder)


def _collections(root: Path) -> Iterable[Path]:
    for folder, below, names in os.walk(root):
        below[:] = sorted(name for name in below if name[0] != "." and name not in OTHERS)
        if MANIFEST in names:
            below.clear()
            yield Path(folder)


def _damaged_in_collection(folder: Path) -> list[str]:
    """Return what is wrong with a collection: with files that have a checksum, and all that can be read."""
    problems: list[str] = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            if path.name == CHECKSUMS:
                problems += [f"{problem}." for problem in damaged_files(path.parent)]
            elif read := READ.get(path.suffix):
                with readable(path, "."):
                    read(path)
        except Dial2vecError as error:
            problems.append(str(error))
    try:
        if not problems:
            # Sizes and numbers of a collection without checksums.
            CollectionFolder(folder).check()
    except Dial2vecError as error:
        problems.append(str(error))
    return problems
