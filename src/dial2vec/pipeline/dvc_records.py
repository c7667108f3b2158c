"""Backups of DVC's own files, restored after a kill or a full disk has truncated them.

DVC writes `dvc.lock`, `data.dvc` and its list of busy files in place. A kill while DVC writes leaves an empty file, and
every later DVC command fails.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import logging
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

from conversations.files import atomic_path, write_errors
from dial2vec.errors import Dial2vecError, VersioningError

log = logging.getLogger(__name__)

DATA_DVC = "data.dvc"
RECORDS = ("dvc.lock", DATA_DVC)
# Seconds; a file that is incomplete for longer is not being written any more.
MOMENT = 1.0
# Git's conflict mark in a file that two people have changed; DVC tells them to resolve it.
CONFLICT = b"<<<<<<<"


def mend(root: Path) -> None:
    """Copy complete DVC records of a project to `.dvc/tmp`, and restore truncated ones.

    A truncated record without a copy is moved to `.dvc/tmp`; DVC's run cache knows the content of dvc.lock. Does
    nothing outside a DVC project, or where DVC is not installed: a GPU machine may run a single stage without it.
    """
    own = root / ".dvc" / "tmp"
    if not own.parent.is_dir() or importlib.util.find_spec("dvc") is None:
        return
    for name in RECORDS:
        path, kept = root / name, own / f"{name}.whole"
        if not path.is_file() or CONFLICT in path.read_bytes() or _same(path, kept):
            continue
        if _truncated(path, _complete_record):
            _restore(path, kept)
        else:
            # The copy may fail for lack of space or permission; the run continues without it.
            with contextlib.suppress(Dial2vecError):
                _copy(path, kept)
    busy = own / "rwlock"
    if busy.is_file() and _truncated(busy, _complete_json):
        log.warning("%s was truncated by a kill or a full disk; DVC starts a new one.", busy)
        busy.unlink(missing_ok=True)
    elif busy.is_file() and (processes := {*re.findall(rb'"pid": (\d+)', busy.read_bytes())}):
        from psutil import pid_exists  # DVC brings it

        if not any(pid_exists(int(process)) for process in processes):
            # DVC would warn of each file that a stopped run was busy with.
            busy.unlink(missing_ok=True)


def require_no_conflict(root: Path) -> None:
    """Raise if git has left conflict marks in a DVC record; DVC's own errors are those of its parser.

    :raises VersioningError: naming file and line, and how to resolve the conflict.
    """
    for name in RECORDS:
        path = root / name
        if not path.is_file() or CONFLICT not in (content := path.read_bytes()):
            continue
        line = next((number for number, text in enumerate(content.splitlines(), 1) if text.startswith(CONFLICT)), 0)
        if not line:
            continue
        then = "dvc pull data.dvc" if name == DATA_DVC else "dial2vec run"
        raise VersioningError(
            f"{path}, line {line}, has git's conflict marks: two people have changed it. Take one side by `git "
            f"checkout --ours {name}` or `git checkout --theirs {name}`, then `{then}` and `git add {name}`."
        )


@contextlib.contextmanager
def adding(root: Path) -> Iterator[None]:
    """Mark `data/` as newer than data.dvc until the block succeeds."""
    note = _adding(root)
    if note.parent.parent.is_dir():
        with write_errors(note):
            note.parent.mkdir(exist_ok=True)
            note.touch()
    yield
    note.unlink(missing_ok=True)


def add_was_cut(root: Path) -> bool:
    """Return whether versioning of `data/` was interrupted; data.dvc then names an older version."""
    return _adding(root).is_file()


def _adding(root: Path) -> Path:
    return root / ".dvc" / "tmp" / "adding"


def note_data(root: Path) -> None:
    """Note that `data/` is at least as new as data.dvc; later differences are changes of this checkout."""
    path = root / DATA_DVC
    if path.is_file():
        # If the disk is full, the note is missing and data is pulled once too often.
        with contextlib.suppress(Dial2vecError):
            _copy(path, _here(root))


def data_is_from_elsewhere(root: Path) -> bool:
    """Return whether data.dvc came by git: this checkout has not written, pulled or restored it."""
    path = root / DATA_DVC
    return path.is_file() and not _same(path, _here(root))


def _here(root: Path) -> Path:
    return root / ".dvc" / "tmp" / f"{DATA_DVC}.here"


def _same(path: Path, copy: Path) -> bool:
    return copy.is_file() and copy.read_bytes() == path.read_bytes()


def _truncated(path: Path, whole: Callable[[Path], bool]) -> bool:
    if whole(path):
        return False
    time.sleep(MOMENT)
    return path.is_file() and not whole(path)


def _complete_record(path: Path) -> bool:
    """Return whether DVC can read its record."""
    # Loaded here: takes a third of a second, and is needed only if a record has changed.
    from dvc.dvcfile import Lockfile, SingleStageFile
    from dvc.exceptions import DvcException
    from dvc.utils.strictyaml import load

    if not path.read_bytes().endswith(b"\n"):
        return False
    try:
        record, _ = load(str(path), SingleStageFile.SCHEMA if path.name == DATA_DVC else Lockfile.SCHEMA)
    except DvcException:
        return False
    # The schema accepts half of data.dvc, but DVC then fails because keys are missing.
    return path.name != DATA_DVC or all(out.keys() >= {"md5", "path"} for out in record.get("outs", [{}]))


def _complete_json(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except ValueError:
        return False
    return True


def _copy(path: Path, to: Path) -> None:
    with atomic_path(to) as temporary:
        shutil.copyfile(path, temporary)


def _restore(path: Path, kept: Path) -> None:
    cut = kept.with_suffix(".cut")
    _copy(path, cut)
    if path.name == DATA_DVC:
        # Only versioning data/ writes data.dvc, so data/ is newer than the copy.
        _adding(path.parent).touch()
    if kept.is_file():
        _copy(kept, path)
        log.warning("%s was truncated by a kill or a full disk; its last complete state is restored.", path)
    else:
        path.unlink()
        log.warning("%s was truncated by a kill or a full disk and will be rebuilt; its remains are in %s.", path, cut)


def data_hash(root: Path) -> str:
    """Return the DVC hash of `data/`, or "unversioned" without data.dvc."""
    path = root / "data.dvc"
    if not path.is_file():
        return "unversioned"
    return str(yaml.safe_load(path.read_text(encoding="utf-8"))["outs"][0]["md5"])
