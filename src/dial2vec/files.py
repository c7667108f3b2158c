"""The project's root, hashes of code, and locks on folders and on the checkout."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from conversations.files import read_json, write_errors, write_json
from dial2vec.errors import ArtifactError, BusyError, Dial2vecError

LOCK_OWNER = "DIAL2VEC_LOCK_OWNER"
PACKAGES = ("conversations", "dial2vec", "dial2vec_papers")
# Modules beside the folders that decide what is computed.
SHARED = ("config.py", "draws.py")


def find_root(start: Path | None = None) -> Path:
    """Return the nearest folder at or above `start` (default: here) with `params.yaml` and `dvc.yaml`.

    :raises Dial2vecError: if no folder has both, or MLflow's database could not be opened in it.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "params.yaml").is_file() and (folder / "dvc.yaml").is_file():
            _check_name(folder)
            return folder
    raise Dial2vecError(
        f"no project at or above {here}: expected params.yaml and dvc.yaml. Change into one, or make one: "
        "dial2vec new FOLDER."
    )


def _check_name(folder: Path) -> None:
    """Raise if MLflow's database cannot be opened in a folder of this name; otherwise a training fails at its end."""
    name = str(folder)
    odd = "a question mark" if "?" in name else "a line break" if "\n" in name else ""
    if odd or ("'" in name and '"' in name):
        raise Dial2vecError(
            f"the path of the project, {name!r}, has {odd or 'both kinds of quotes'}; MLflow's database cannot be "
            "opened there. Rename the folder."
        )


def claim(folder: Path, fingerprint: str) -> bool:
    """Return whether a folder has this fingerprint already; if not, empty it and note the fingerprint."""
    owner = folder / "fingerprint.json"
    with contextlib.suppress(ArtifactError):
        if read_json(owner) == fingerprint:
            return True
    shutil.rmtree(folder, ignore_errors=True)
    write_json(owner, fingerprint)
    return False


def code_hash(*layers: str) -> str:
    """Return a hash of code; results that other code computed must not be reused.

    :param layers: Folders of this package that compute the result, such as "encoder". The modules that they share are
        hashed as well; what only presents results, such as the commands' help, makes none of them stale. Without any,
        all code is hashed.
    """
    package = Path(__file__).parent
    source = package.parent
    folders = [package / layer for layer in layers] or [source / name for name in PACKAGES]
    shared = [source / "conversations" / "dialogue.py", *(package / name for name in SHARED)] if layers else []
    digest = hashlib.sha256()
    for path in sorted([*shared, *(path for folder in folders for path in folder.rglob("*.py"))]):
        digest.update(f"{path.relative_to(source).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()


@contextlib.contextmanager
def locked(path: Path, busy: Callable[[], str] = str, *, patience: float = -1) -> Iterator[None]:
    """Hold the lock of a file; the lock of a killed process is free at once.

    :param busy: returns the error's sentence if another process holds the lock.
    :param patience: seconds to wait for it; -1 waits as long as it takes.
    :raises BusyError: if another process still holds the lock.
    """
    # Imported here: it takes as long as the rest of this module.
    from filelock import FileLock, Timeout

    lock = FileLock(path, timeout=patience, thread_local=False)
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
        except Timeout as error:
            raise BusyError(busy()) from error
    try:
        yield
    finally:
        lock.release()


def folder_lock(folder: Path, doing: str) -> contextlib.AbstractContextManager[None]:
    """Make a folder and lock it against other writing processes.

    :param doing: words for the error of other processes, such as "adds dialogues to".
    :raises BusyError: if another process holds the lock.
    """
    sentence = f"another process {doing} {folder}. Wait until it ends, or stop it; then try again."
    return locked(folder / ".lock", lambda: sentence, patience=0)


@contextlib.contextmanager
def checkout_lock(root: Path, doing: str, *, patience: float = 10.0) -> Iterator[None]:
    """Lock the checkout at `root`: only one retraining or stage runs at a time, across processes.

    A stage started *by* the holder passes, because the holder's pid is in the environment.

    :param doing: words for the error of other processes, such as "train of demo".
    :param patience: seconds to wait for the holder; the default suffices for a holder that is about to end.
    :raises BusyError: naming the holder, its pid and what it does.
    """
    path = root / "artifacts" / ".lock"
    # Beside the lock, because Windows lets nobody else read a locked file.
    note = path.with_name(".lock.json")

    def busy() -> str:
        holder = _holder(note)
        return (
            f"another process is at work in {root}: {holder.get('doing', 'something')} (pid {holder.get('pid', '?')}, "
            f"since {holder.get('since', '?')}). Wait until it ends, or stop it; then try again."
        )

    with contextlib.ExitStack() as held:
        ours = str(_holder(note).get("pid", "")) == os.environ.get(LOCK_OWNER)
        try:
            # Tried in any case: if it is free, the process in the note was killed.
            held.enter_context(locked(path, busy, patience=0 if ours else patience))
        except BusyError:
            if not ours:
                raise
        else:
            held.enter_context(_noted(note, doing))
        yield


@contextlib.contextmanager
def _noted(note: Path, doing: str) -> Iterator[None]:
    """Say in a file and in the environment that this process holds the lock."""
    before = os.environ.get(LOCK_OWNER)
    write_json(note, {"pid": os.getpid(), "doing": doing, "since": time.strftime("%H:%M:%S")})
    os.environ[LOCK_OWNER] = str(os.getpid())
    try:
        yield
    finally:
        note.unlink(missing_ok=True)
        os.environ.pop(LOCK_OWNER)
        if before is not None:
            os.environ[LOCK_OWNER] = before


def _holder(note: Path) -> dict[str, Any]:
    with contextlib.suppress(ArtifactError, OSError):
        return dict(read_json(note))
    return {}
