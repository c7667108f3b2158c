"""DVC's own files, copied while they are whole and brought back when a kill or a full disk has cut them.

DVC writes `dvc.lock`, `data.dvc` and its list of busy files in place. Who is killed in the middle leaves an empty file,
and from then on every command of DVC fails.
"""

from __future__ import annotations

import contextlib
import json
import logging
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from dial2vec.errors import Dial2vecError
from dial2vec.files import atomic_path, write_errors

log = logging.getLogger(__name__)

DATA = "data.dvc"
RECORDS = ("dvc.lock", DATA)
# DVC writes for a moment; a file that is not whole after it was left so.
MOMENT = 1.0
# Git writes it into a file that two people have changed: they have to choose, and DVC says so.
CONFLICT = b"<<<<<<<"


def mend(root: Path) -> None:
    """Copy DVC's records of a project to `.dvc/tmp` while they are whole, and bring back those that were cut.

    One without a copy is taken away: DVC's run cache knows what dvc.lock said. What there was of it stays in
    `.dvc/tmp`. Nothing happens outside a project of DVC.
    """
    own = root / ".dvc" / "tmp"
    if not own.parent.is_dir():
        return
    for name in RECORDS:
        path, kept = root / name, own / f"{name}.whole"
        if not path.is_file() or CONFLICT in path.read_bytes() or _same(path, kept):
            continue
        if _left_cut(path, _whole_record):
            _bring_back(path, kept)
        else:
            # Without room or permission there is no copy, and the run goes on as far as it can.
            with contextlib.suppress(Dial2vecError):
                _copy(path, kept)
    busy = own / "rwlock"
    if busy.is_file() and _left_cut(busy, _whole_json):
        log.warning("%s was cut, by a kill or for lack of room; it is begun anew.", busy)
        busy.unlink(missing_ok=True)


@contextlib.contextmanager
def adding(root: Path) -> Iterator[None]:
    """Note that `data/` is newer than data.dvc until the work within has succeeded."""
    note = _adding(root)
    if note.parent.parent.is_dir():
        with write_errors(note):
            note.parent.mkdir(exist_ok=True)
            note.touch()
    yield
    note.unlink(missing_ok=True)


def add_was_cut(root: Path) -> bool:
    """Return whether versioning of `data/` began and did not end: then data.dvc names an older version."""
    return _adding(root).is_file()


def _adding(root: Path) -> Path:
    return root / ".dvc" / "tmp" / "adding"


def note_data(root: Path) -> None:
    """Note that `data/` is at least as new here as data.dvc says: whatever differs was changed in this checkout."""
    path = root / DATA
    if path.is_file():
        # Without room there is no note, and data is pulled once more than need be.
        with contextlib.suppress(Dial2vecError):
            _copy(path, _here(root))


def data_is_from_elsewhere(root: Path) -> bool:
    """Return whether data.dvc is another one than this checkout last made, pulled or restored: it came by git."""
    path = root / DATA
    return path.is_file() and not _same(path, _here(root))


def _here(root: Path) -> Path:
    return root / ".dvc" / "tmp" / f"{DATA}.here"


def _same(path: Path, copy: Path) -> bool:
    return copy.is_file() and copy.read_bytes() == path.read_bytes()


def _left_cut(path: Path, whole: Callable[[Path], bool]) -> bool:
    if whole(path):
        return False
    time.sleep(MOMENT)
    return path.is_file() and not whole(path)


def _whole_record(path: Path) -> bool:
    """Return whether DVC can work with its record."""
    # Loaded here: a third of a second, and only where a record has changed.
    from dvc.dvcfile import Lockfile, SingleStageFile
    from dvc.exceptions import DvcException
    from dvc.utils.strictyaml import load

    if not path.read_bytes().endswith(b"\n"):
        return False
    try:
        said, _ = load(str(path), SingleStageFile.SCHEMA if path.name == DATA else Lockfile.SCHEMA)
    except DvcException:
        return False
    # Half of data.dvc passes, and DVC then fails for lack of what should be there.
    return path.name != DATA or all(out.keys() >= {"md5", "path"} for out in said.get("outs", [{}]))


def _whole_json(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except ValueError:
        return False
    return True


def _copy(path: Path, to: Path) -> None:
    with atomic_path(to) as temporary:
        shutil.copyfile(path, temporary)


def _bring_back(path: Path, kept: Path) -> None:
    cut = kept.with_suffix(".cut")
    _copy(path, cut)
    if path.name == DATA:
        # Only versioning data/ writes it: what is in data/ is newer than the copy.
        _adding(path.parent).touch()
    if kept.is_file():
        _copy(kept, path)
        log.warning("%s was cut, by a kill or for lack of room; its last whole state is back.", path)
    else:
        path.unlink()
        log.warning("%s was cut, by a kill or for lack of room, and is made anew; the rest of it is %s.", path, cut)
