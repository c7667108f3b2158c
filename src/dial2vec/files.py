"""The project's root, hashes of code, and locks on folders and on the checkout."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conversations.files import read_json, write_errors, write_json
from dial2vec.errors import ArtifactError, BusyError, Dial2vecError

LOCK_OWNER = "DIAL2VEC_LOCK_OWNER"


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


def code_hash() -> str:
    """Return a hash of this package's code; results of other code must not be reused."""
    package = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


@contextlib.contextmanager
def folder_lock(folder: Path, doing: str) -> Iterator[None]:
    """Make a folder and lock it against other writing processes; the lock of a killed process is free at once.

    :param doing: words for the error of other processes, such as "adds dialogues to".
    :raises BusyError: if another process holds the lock.
    """
    with write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        handle = (folder / ".lock").open("a")
    with handle:
        if not _try(handle):
            raise BusyError(f"another process {doing} {folder}. Wait until it ends, or stop it; then try again.")
        yield


@contextlib.contextmanager
def checkout_lock(root: Path, doing: str, *, patience: float = 10.0) -> Iterator[None]:
    """Lock the checkout at `root`: only one retraining or stage runs at a time, across processes.

    A stage started *by* the holder passes, because the holder's pid is in the environment. The lock of a killed process
    is free at once, because the kernel drops it with the process.

    :param doing: words for the error of other processes, such as "train of demo".
    :param patience: seconds to wait for the holder; the default suffices for a holder that is about to end.
    :raises BusyError: naming the holder, its pid and what it does.
    """
    path = root / "artifacts" / ".lock"
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = path.open("a+")
    with handle:
        # The lock is tried first: a free lock has no holder, even if the environment still names one.
        if _try(handle) or not _is_our_holder(handle):
            _take(handle, root, patience)
            handle.truncate(0)
            handle.write(json.dumps({"pid": os.getpid(), "doing": doing, "since": time.strftime("%H:%M:%S")}))
            handle.flush()
            before = os.environ.get(LOCK_OWNER)
            os.environ[LOCK_OWNER] = str(os.getpid())
            try:
                yield
            finally:
                os.environ.pop(LOCK_OWNER)
                if before is not None:
                    os.environ[LOCK_OWNER] = before
        else:
            yield


def _is_our_holder(handle: Any) -> bool:
    return str(_holder(handle).get("pid", "")) == os.environ.get(LOCK_OWNER)


def _take(handle: Any, root: Path, patience: float) -> None:
    deadline = time.monotonic() + patience
    while not _try(handle):
        if time.monotonic() > deadline:
            holder = _holder(handle)
            raise BusyError(
                f"another process is at work in {root}: {holder.get('doing', 'something')} (pid "
                f"{holder.get('pid', '?')}, since {holder.get('since', '?')}). Wait until it ends, or stop it; then "
                "try again."
            )
        time.sleep(0.2)


def _try(handle: Any) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(handle: Any) -> dict[str, Any]:
    handle.seek(0)
    with contextlib.suppress(ValueError):
        return dict(json.loads(handle.read()))
    return {}
