"""Checksums of files, by which a damaged one is noticed before it is used.

`checksums.json` lists the files of its folder: size and MD5 of a file that was written as a whole, or of each part of a
file that grows, so that nothing is read again when it grows. MD5 is what DVC names its objects by; it tells damage, not
an attack. Contents are read once per state of a file (size and times); states found whole are kept for later processes.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from conversations.errors import ArtifactError, ConversationError
from conversations.files import read_json, write_checked_json, write_json

CHECKSUMS = "checksums.json"
BLOCK = 1 << 20
# States that are kept, and nanoseconds within which a file could change without new times.
KEPT, TICK = 50_000, 100_000_000

Parts: TypeAlias = Sequence[tuple[int, str]]


def md5_of(path: Path, begin: int = 0, size: int | None = None) -> str:
    """Return the MD5 of a file, or of `size` bytes of it from `begin` on."""
    digest, left = hashlib.md5(usedforsecurity=False), path.stat().st_size if size is None else size
    with path.open("rb") as file:
        file.seek(begin)
        while left > 0 and (block := file.read(min(left, BLOCK))):
            digest.update(block)
            left -= len(block)
    return digest.hexdigest()


def write_checksums(folder: Path, *, without: Sequence[str] = ()) -> None:
    """List all files of a folder that is complete.

    :param without: names of files that may change.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in (CHECKSUMS, *without))
    listed = {path.relative_to(folder).as_posix(): (path.stat().st_size, md5_of(path)) for path in files}
    write_checked_json(folder / CHECKSUMS, listed)


def note(path: Path, size: int | None = None, *, afresh: bool = False) -> None:
    """List a file that was just written, in the folder that it is in.

    :param size: bytes that count of a file that grows; those that have no checksum yet are a new part. None is a file
        that was written as a whole.
    :param afresh: whether the file was begun again, so that its earlier parts do not count.
    """
    known: dict[str, Any] = {}
    with contextlib.suppress(ArtifactError):
        known = _listed(path.parent)
    listed = {name: entry for name, entry in known.items() if (path.parent / name).exists()}
    if size is None:
        listed[path.name] = (path.stat().st_size, md5_of(path))
    else:
        parts = [] if afresh else listed.get(path.name, [])
        begin = sum(of for of, _ in parts)
        if begin < size:
            listed[path.name] = [*parts, (size - begin, md5_of(path, begin, size - begin))]
    write_checked_json(path.parent / CHECKSUMS, listed)
    if path.name in listed:
        _keep(str(path.absolute()), _state(path, str(_parts(listed[path.name]))))


def has_checksum(path: Path) -> bool:
    """Return whether a file's folder lists a checksum of it."""
    return path.name in _listed(path.parent)


def damage_of(path: Path) -> str:
    """Return what is wrong with a file, "" if it is whole or its folder lists no checksum of it."""
    entry = _listed(path.parent).get(path.name)
    return "" if entry is None else differs(path, _parts(entry), grows=_grows(entry))


def damaged_files(folder: Path) -> Iterator[str]:
    """Yield what is wrong with each damaged file that a folder lists."""
    for name, entry in _listed(folder).items():
        if problem := differs(folder / name, _parts(entry), grows=_grows(entry)):
            yield problem


def differs(path: Path, parts: Parts, *, grows: bool = False) -> str:
    """Return how a file differs from what was written, "" if it does not.

    :param parts: size and MD5 of each part.
    :param grows: whether bytes may follow that do not count.
    """
    size = sum(of for of, _ in parts)
    if not path.is_file():
        return f"{path} is missing; expected a file of {size} bytes"
    length = path.stat().st_size
    if length < size or (length > size and not grows):
        return f"{path} is damaged: it has {length} bytes; expected {size}"

    def read() -> str:
        place = 0
        for of, md5 in parts:
            end = place + of
            if (now := md5_of(path, place, of)) != md5:
                return f"{path} is damaged: its bytes {place} to {end} have the MD5 {now[:8]}; expected {md5[:8]}"
            place = end
        return ""

    return once(path, str(list(parts)), read)


def once(path: Path, kind: str, find: Callable[[], str]) -> str:
    """Return what is wrong with the content of a file; the answer "" is kept for as long as the file is the same.

    :param kind: name of what is looked for, or what was expected.
    """
    state, name = _state(path, kind), str(path.absolute())
    if state in _known().get(name, ()):
        return ""
    problem = find()
    if not problem and time.time_ns() - max(state[1:3]) > TICK:
        _keep(name, state)
    return problem


def _keep(name: str, state: list[Any]) -> None:
    # Not those of the file's earlier states.
    same = [known for known in _known().get(name, ()) if known[:3] == state[:3]]
    _known()[name] = [*same, state]


def hash_again() -> None:
    """Forget which files were found whole, so that all are read."""
    _known().clear()


def _listed(folder: Path) -> dict[str, Any]:
    path = folder / CHECKSUMS
    return _read(path, path.stat().st_mtime_ns, path.stat().st_ino).copy() if path.is_file() else {}


@lru_cache(maxsize=256)
def _read(path: Path, *_: int) -> dict[str, Any]:
    try:
        return dict(read_json(path))
    except (ConversationError, TypeError) as error:
        raise ArtifactError(
            f"{path} is damaged ({error.__cause__ or error}). Remove it; no file is checked by it then."
        ) from error


def _grows(entry: Sequence[Any]) -> bool:
    return not entry or not isinstance(entry[0], int)


def _parts(entry: Sequence[Any]) -> Parts:
    return [(of, md5) for of, md5 in (entry if _grows(entry) else [entry])]


def _state(path: Path, kind: str) -> list[Any]:
    now, what = path.stat(), hashlib.md5(kind.encode(), usedforsecurity=False).hexdigest()
    return [now.st_size, now.st_mtime_ns, now.st_ctime_ns, what]


@cache
def _known() -> dict[str, Any]:
    """States in which files were found whole, by path, as this and earlier processes know them."""
    path = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "dial2vec" / "checked.json"
    known: dict[str, Any] = {}
    with contextlib.suppress(ConversationError, OSError, ValueError, TypeError):
        known = dict(read_json(path))
    begun = dict(known)

    @atexit.register
    def keep() -> None:
        # Without a folder of the user's own, files are read once per process.
        if known != begun:
            with contextlib.suppress(ConversationError, OSError):
                write_json(path, dict(list(known.items())[-KEPT:]))

    return known
